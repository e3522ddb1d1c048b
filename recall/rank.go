package recall

import (
	"cmp"
	"math"
	"slices"

	"github.com/openwop/agentmemory/internal/text"
)

// The constants of BM25: k1 bounds what a word gains by being there often, b is how much a
// long entry loses. Entries of a memory are short, and say most things once.
const (
	k1 = 0.9
	b  = 0.4
)

// aging is what the oldest entries lose against the newest one that matches; one that is a
// year older loses half of it. Age is not judged by the clock, so that a replay, which does
// not know at which instant the run asked, ranks as the run did.
const aging = 0.05

// corroboration is what an entry that a merge made of very many others gains; one made of two
// gains half of it. What an entry was made of is part of it, and so the same in every view.
const corroboration = 0.05

// otherWords is how much a word counts that is among the other words for an entry, against one of its own.
const otherWords = 1.0 / 3

// What an entry gains whose subject the question names, and what one that matches gains by a neighbour in
// time that matches well: of the first heads, their two neighbours on either side within a session.
const (
	named     = 0.5
	heads     = 30
	neighbour = 0.2
	session   = 1800 * 1000 // milliseconds
)

const year = 365 * 24 * 3600 * 1000 // milliseconds

// question is what is asked for: each term once, in order, with how often it is asked.
type question struct {
	terms  []string
	counts map[string]float64
}

// questionOf leaves out the words that questions are made of, unless there are no others.
func questionOf(s string) question {
	said := text.Terms(s)
	meant := slices.DeleteFunc(slices.Clone(said), text.Asks)
	if len(meant) == 0 {
		meant = said
	}
	q := question{counts: map[string]float64{}}
	for _, t := range meant {
		if q.counts[t] == 0 {
			q.terms = append(q.terms, t)
		}
		q.counts[t]++
	}
	return q
}

// hit is an entry with its score.
type hit struct {
	doc   uint32
	score float64
}

// best ranks the entries that have any term of the question, and returns the first of
// them that keep lets through. It looks only at what the view shows, so that the same view
// gives the same scores with anything else in the index.
func (s *snapshot) best(q question, limit int, keep func(uint32) bool) []hit {
	perWord := k1 * b / max(s.length/float64(max(s.n, 1)), 1)
	scores := make([]float64, len(s.docs))
	var found []uint32
	match := func(list []posting, count float64) {
		visible := s.visible(list)
		gain := count * s.idf(visible) * (k1 + 1)
		found = slices.Grow(found, visible)
		for _, p := range list {
			if !s.shown[p.doc] {
				continue
			}
			score := &scores[p.doc]
			if *score == 0 {
				found = append(found, p.doc)
			}
			w := float64(p.weight)
			*score += gain * w / (w + k1*(1-b) + float64(perWord*float64(s.lengths[p.doc])))
		}
	}
	for _, t := range q.terms {
		match(s.postings(t), q.counts[t])
		match(s.otherwise(t), q.counts[t]*otherWords)
	}
	s.favourNamed(q, scores)
	s.favourNeighbours(found, scores)
	newest := int64(math.MinInt64)
	for _, n := range found {
		newest = max(newest, s.docs[n].created)
	}
	var top []hit
	for _, n := range found {
		if len(top) == limit && scores[n]*(1+corroboration) < top[limit-1].score || !keep(n) {
			continue // more than that it does not gain, and age only takes away
		}
		score := scores[n] * (1 - aging*(1-math.Exp2(-float64(newest-s.docs[n].created)/year)))
		if merged := s.docs[n].merged; merged > 1 {
			score *= 1 + corroboration*(1-1/float64(merged))
		}
		top = s.insert(top, hit{n, score}, limit)
	}
	return top
}

// favourNamed raises the scores of entries about whom or what the question names, and of those of a day,
// a month or a year that it names.
func (s *snapshot) favourNamed(q question, scores []float64) {
	for _, t := range q.terms {
		made := s.postings(datePrefix + t)
		idf := s.idf(s.visible(made))
		for _, p := range made {
			if scores[p.doc] > 0 {
				scores[p.doc] += idf
			}
		}
	}
	raised := map[uint32]bool{} // after that, so that what all entries have changes no order
	for _, t := range q.terms {
		for _, p := range s.postings(namePrefix + t) {
			if !raised[p.doc] {
				raised[p.doc] = true
				scores[p.doc] *= 1 + named
			}
		}
	}
}

// visible is how many of the entries the view shows.
func (s *snapshot) visible(list []posting) (n int) {
	if s.n == len(s.docs) {
		return len(list)
	}
	for _, p := range list {
		if s.shown[p.doc] {
			n++
		}
	}
	return n
}

// idf is how much a term counts that so many entries have.
func (s *snapshot) idf(visible int) float64 {
	return math.Log(1 + (float64(s.n)-float64(visible)+0.5)/(float64(visible)+0.5))
}

// favourNeighbours raises the scores of entries that were written just before or after the best.
func (s *snapshot) favourNeighbours(found []uint32, scores []float64) {
	var best []hit
	for _, n := range found {
		if len(best) < heads || scores[n] >= best[heads-1].score {
			best = s.insert(best, hit{n, scores[n]}, heads)
		}
	}
	order := s.inTime()
	for _, h := range best {
		at, _ := slices.BinarySearchFunc(order, h.doc, s.older)
		for _, step := range [...]int{-1, 1} {
			for i, near := at+step, 1; i >= 0 && i < len(order) && near <= 2; i += step {
				n := order[i]
				if apart := s.docs[n].created - s.docs[h.doc].created; max(apart, -apart) > session {
					break
				}
				if !s.shown[n] {
					continue
				}
				if scores[n] > 0 {
					scores[n] += neighbour * h.score / float64(near)
				}
				near++
			}
		}
	}
}

// inTime returns the entries of an index, the oldest first.
func (x *index) inTime() []uint32 {
	ordered := true
	for n := len(x.times); n < len(x.docs); n++ {
		ordered = ordered && (n == 0 || x.older(x.times[n-1], uint32(n)) < 0)
		x.times = append(x.times, uint32(n))
	}
	if !ordered {
		slices.SortFunc(x.times, x.older)
	}
	return x.times
}

// insert puts a hit in its place among the first of a ranking.
func (s *snapshot) insert(top []hit, h hit, limit int) []hit {
	i, _ := slices.BinarySearchFunc(top, h, s.before)
	if i < limit {
		top = slices.Insert(top[:min(len(top), limit-1)], i, h)
	}
	return top
}

// before orders hits: the better first, and the newer of two that are as good.
func (s *snapshot) before(a, b hit) int {
	return cmp.Or(cmp.Compare(b.score, a.score), s.older(b.doc, a.doc))
}

// older orders entries against the order of a list.
func (x *index) older(a, b uint32) int {
	return cmp.Or(cmp.Compare(x.docs[a].created, x.docs[b].created), cmp.Compare(x.docs[a].id, x.docs[b].id))
}

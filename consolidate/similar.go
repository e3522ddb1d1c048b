package consolidate

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/openwop/agentmemory/internal/text"
	"github.com/openwop/agentmemory/memory"
)

// Candidates are entries that may say the same. Whether they do is for a model or a
// person to decide.
type Candidates struct {
	// IDs are two to [MaxCandidates] entries, in ascending order.
	IDs []string
	// Score is the least similarity of any two of them, above 0 and at most 1.
	Score float64
}

// MaxCandidates is how many entries are in one group of [Candidates] at most.
const MaxCandidates = 8

// DefaultScore is the least score of [Candidates] that is reported or given to a [Merger]
// if nothing else is said.
const DefaultScore = 0.6

// The bounds that make [Similar] near-linear for any entries.
const (
	lookups     = 12  // features by which an entry is looked up
	window      = 8   // entries before it, under each of these, that it meets
	maxFeatures = 512 // of an entry that count
	gram        = 4   // characters
)

// Similar finds groups of entries that may say the same, in any language. An entry is in one group at most. The groups stand in the order of their
// first ids, and nothing depends on the order of the entries. Only entries with the same
// tags, the same subjects and the same expiry come into one group (C9), and texts that say
// something relative to their day only with those of that day (C8). What others say has no influence
// on their scores.
//
// The similarity of two entries is the cosine of the sets of their words and of the
// character 4-grams of words of five characters or more, each weighted by how rare it is:
// 1 + ln((n+1)/(df+1)) for one that df of the n entries have, and half of that for a 4-gram.
// Case does not count, and how often an entry has a word does not either. A group has no two
// entries below the score, which is above 0 and at most 1; 0 means [DefaultScore].
//
// Not every two entries are compared. An entry is looked up by the twelve heaviest of its
// features that other entries have too, and by each two of them that follow each other in
// weight, and meets the eight before it, by id, under each of these. Two are compared if they
// meet under two features, or under one if one of them has fewer than four such features.
// So the worst inputs take no longer, but similar entries are missed in them: one
// word in every entry, boilerplate around every entry that outweighs the rest, and many equal
// entries, of which it makes groups of [MaxCandidates]. Of an entry with more than 512
// features the 512 heaviest count, so that one of a megabyte costs no more than it takes to
// read it.
//
// It holds up to about 50 bytes for each byte of text. It fails with [memory.ErrValidation]
// for a score out of range, and with the context's error. It is safe for concurrent use.
func Similar(ctx context.Context, entries []memory.Entry, score float64) ([]Candidates, error) {
	if score = cmp.Or(score, DefaultScore); !(score > 0 && score <= 1) {
		return nil, invalid("the score is not from 0 to 1")
	}
	// Each class, of entries that may be in one group, is searched by itself.
	type class struct {
		labels  string
		expires int64
	}
	classes := map[class]space{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		c := class{labelKey(e), e.ExpiresAt.UnixMilli()}
		classes[c] = append(classes[c], member{id: e.ID, text: e.Content, date: dateOf(e), day: sync.OnceValue(func() string { return dayOf(e) })})
	}
	var found []Candidates
	for _, s := range classes {
		if len(s) < 2 {
			continue
		}
		if err := s.read(ctx); err != nil {
			return nil, err
		}
		pairs, err := s.pairs(ctx, score)
		if err != nil {
			return nil, err
		}
		found = append(found, s.groups(pairs, score)...)
	}
	slices.SortFunc(found, func(a, b Candidates) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return found, ctx.Err()
}

// space holds the entries of a class as weighted sets of features, in the order of their ids.
type space []member

// member is an entry of a class.
type member struct {
	id, text string
	date     string
	day      func() string // see dayOf
	features []feature     // that other members have, too, the heaviest first
	norm     float64
}

// feature is a word, or a 4-gram if the lowest bit of its hash is set.
type feature struct {
	hash   uint32
	weight float32 // the square
}

// compare orders features, the heavier first.
func (f feature) compare(o feature) int {
	return cmp.Or(cmp.Compare(o.weight, f.weight), cmp.Compare(f.hash, o.hash))
}

// read sorts the members, takes their features, and weighs them by how many have each.
func (s space) read(ctx context.Context) error {
	slices.SortFunc(s, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	holders := map[uint32]int{}
	for i := range s {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s[i].features = featuresOf(s[i].text)
		for _, f := range s[i].features {
			holders[f.hash]++
		}
	}
	for i := range s {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m := &s[i]
		for k := range m.features {
			f := &m.features[k]
			w := 1 + math.Log(float64(len(s)+1)/float64(holders[f.hash]+1))
			if f.hash&1 == 1 {
				w /= 2
			}
			f.weight = float32(w * w)
		}
		slices.SortFunc(m.features, feature.compare)
		m.features = m.features[:min(len(m.features), maxFeatures)]
		for _, f := range m.features {
			m.norm += float64(f.weight)
		}
		m.norm = math.Sqrt(m.norm)
		m.features = slices.Clone(slices.DeleteFunc(m.features, func(f feature) bool { return holders[f.hash] < 2 }))
	}
	return nil
}

// featuresOf are the features of a text, not weighed yet.
func featuresOf(content string) (features []feature) {
	for t := range text.Tokens(text.Compose(content)) {
		if t.Kind == text.Symbol {
			continue
		}
		word := []rune("^" + strings.ToLower(t.Text) + "$")
		features = append(features, feature{hash: uint32(xxhash.Sum64String(string(word))) &^ 1})
		for k := 0; len(word) > gram+2 && k+gram <= len(word); k++ {
			features = append(features, feature{hash: uint32(xxhash.Sum64String(string(word[k:k+gram]))) | 1})
		}
	}
	slices.SortFunc(features, feature.compare)
	return slices.Compact(features)
}

// similar is two members and their similarity.
type similar struct {
	score float64
	a, b  int
}

// pairs are the members that meet and are similar enough.
func (s space) pairs(ctx context.Context, least float64) (pairs []similar, err error) {
	last := map[uint64][]int{} // the members that had a feature last, or two features
	met := map[int]int{}       // how often
	for b := range s {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(met)
		meet := func(key uint64, times int) {
			before := last[key]
			for _, a := range before {
				met[a] += times
			}
			if len(before) == window {
				before = slices.Delete(before, 0, 1)
			}
			last[key] = append(before, b)
		}
		first := s[b].features[:min(lookups, len(s[b].features))]
		for i, f := range first {
			meet(uint64(f.hash), 1)
			if i > 0 {
				meet(uint64(first[i-1].hash)<<32|uint64(f.hash), 2)
			}
		}
		for a, times := range met {
			if times > 1 || min(len(s[a].features), len(s[b].features)) < 4 {
				if score := s.similarity(a, b); score >= least && s.areOfOneDay(a, b) {
					pairs = append(pairs, similar{score, a, b})
				}
			}
		}
	}
	return pairs, nil
}

// areOfOneDay reports whether one text can say what two members say, see the function of that name.
func (s space) areOfOneDay(a, b int) bool { return s[a].date == s[b].date || s[a].day() == s[b].day() }

// similarity compares two members.
func (s space) similarity(a, b int) float64 {
	m, o := &s[a], &s[b]
	both := 0.0
	for i, k := 0, 0; i < len(m.features) && k < len(o.features); {
		switch c := m.features[i].compare(o.features[k]); {
		case c < 0:
			i++
		case c > 0:
			k++
		default:
			both += float64(m.features[i].weight)
			i, k = i+1, k+1
		}
	}
	if both == 0 {
		return 0
	}
	return min(1, both/(m.norm*o.norm))
}

// groups puts similar members together, the most similar first.
func (s space) groups(pairs []similar, least float64) (found []Candidates) {
	slices.SortFunc(pairs, func(x, y similar) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	of := make([]int, len(s)) // the number of its group, from 1
	var groups [][]int
	for _, p := range pairs {
		if of[p.a] == 0 {
			p.a, p.b = p.b, p.a
		}
		if of[p.a] == 0 {
			groups, found = append(groups, []int{p.a}), append(found, Candidates{[]string{s[p.a].id}, p.score})
			of[p.a] = len(groups)
		}
		g := of[p.a] - 1
		if of[p.b] != 0 || len(groups[g]) == MaxCandidates {
			continue
		}
		score := found[g].Score
		for _, member := range groups[g] {
			score = min(score, s.similarity(member, p.b))
			if !s.areOfOneDay(member, p.b) {
				score = 0
			}
		}
		if score >= least {
			groups[g], of[p.b] = append(groups[g], p.b), g+1
			found[g] = Candidates{append(found[g].IDs, s[p.b].id), score}
		}
	}
	for i := range found {
		slices.Sort(found[i].IDs)
	}
	return found
}

package consolidate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

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

// SimilarOptions are for [Similar]. The zero value compares words alone.
type SimilarOptions struct {
	// Score is the least similarity of any two entries of a group, above 0 and at most
	// 1; 0 means [DefaultScore].
	Score float64
	// Vectors are the host's embeddings, one for each entry in the order of the entries,
	// all of one length. An entry without an embedding has nil; nil means that none has.
	Vectors [][]float32
}

// The bounds that make [Similar] near-linear for any entries.
const (
	lookups     = 12  // features by which an entry is looked up
	window      = 4   // entries after it, under each of these, that it is compared with
	maxFeatures = 512 // of an entry that count
	tables      = 4   // orders in which vectors are neighbours
	gram        = 4   // characters
)

// Similar finds groups of entries that may say the same, in any language and without a
// list of words. An entry is in one group at most. The groups stand in the order of their
// first ids, and nothing depends on the order of the entries. Only entries with the same
// tags, the same subjects and the same expiry come into one group (C9), and what others
// say has no influence on their scores.
//
// The similarity of two entries is the cosine of the sets of their words and of the
// character 4-grams of words of five characters or more, each weighted by how rare it is:
// 1 + ln((n+1)/(df+1)) for one that df of the n entries have, and half of that for a 4-gram.
// Case does not count, and how often an entry has a word does not either. Where both
// entries have a vector, the similarity is a quarter of this and three quarters of the
// cosine of the vectors. A group has no two entries below the score.
//
// Not every two entries are compared. An entry is looked up by the twelve heaviest of its
// features that other entries have too. Those under one feature are ordered by the next of
// the twelve, and each meets the four after it. Two are compared if they meet twice, or once if
// one has fewer than four such features. Vectors bring neighbours together in four orders more. So the worst inputs take no longer, but similar entries are missed in them: one
// word in every entry, boilerplate around every entry that outweighs the rest, and many equal
// entries, of which it makes groups of [MaxCandidates]. Of an entry with more than 512
// features the 512 heaviest count, so that one of a megabyte costs no more than it takes to
// read it.
//
// It holds up to about 50 bytes for each byte of text. It fails with [memory.ErrValidation]
// for a score out of range, vectors that do not fit, or 2^31 entries, and with the
// context's error. It is safe for concurrent use.
func Similar(ctx context.Context, entries []memory.Entry, o SimilarOptions) ([]Candidates, error) {
	if o.Score == 0 {
		o.Score = DefaultScore
	}
	switch {
	case !(o.Score > 0 && o.Score <= 1):
		return nil, invalid("SimilarOptions.Score is not from 0 to 1")
	case len(entries) > math.MaxInt32:
		return nil, invalid("there are 2^31 entries or more")
	}
	planes, err := hyperplanes(ctx, o.Vectors, len(entries))
	if err != nil {
		return nil, err
	}
	// Each class, of entries that may be in one group, is searched by itself.
	type class struct {
		labels  string
		expires int64
	}
	classes := map[class]space{}
	for i := range entries {
		m := member{id: entries[i].ID, text: entries[i].Content}
		if o.Vectors != nil {
			m.vector = o.Vectors[i]
		}
		c := class{labelKey(&entries[i]), entries[i].ExpiresAt.UnixMilli()}
		classes[c] = append(classes[c], m)
	}
	var found []Candidates
	for _, s := range classes {
		if len(s) < 2 {
			continue
		}
		err := sortWithin(ctx, s, func(a, b member) int { return cmp.Compare(a.id, b.id) })
		if err == nil {
			err = s.read(ctx)
		}
		if err != nil {
			return nil, err
		}
		met, err := s.meetings(ctx, planes)
		if err != nil {
			return nil, err
		}
		groups, err := s.groups(ctx, met, o.Score)
		if err != nil {
			return nil, err
		}
		found = append(found, groups...)
	}
	err = sortWithin(ctx, found, func(a, b Candidates) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return found, err
}

// space holds the entries of a class as weighted sets of features.
type space []member

// member is an entry of a class.
type member struct {
	id, text string
	vector   []float32
	features []feature // that other members have, too, the heaviest first
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

// read takes the features of the members, and weighs them by how many have each.
func (s space) read(ctx context.Context) error {
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

// key is one way to look a member up. Keys under one feature, or of one order of vectors,
// stand together, and among them those of like sketches.
type key struct {
	under, sketch uint64
	member        uint32
}

// meetings are the pairs of members to compare, each in one number.
func (s space) meetings(ctx context.Context, planes [][]float32) ([]uint64, error) {
	var keys []key
	for i, m := range s {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first := m.features[:min(lookups, len(m.features))]
		for n, f := range first {
			next, second := first[(n+1)%len(first)].hash, first[(n+2)%len(first)].hash
			keys = append(keys, key{uint64(f.hash), uint64(next)<<32 | uint64(second), uint32(i)})
		}
		if m.vector == nil {
			continue
		}
		// Vectors of a small angle are on the same side of most planes.
		var side uint64
		for b, plane := range planes {
			if dot(plane, m.vector) > 0 {
				side |= 1 << b
			}
		}
		for t := range tables {
			keys = append(keys, key{1<<63 | uint64(t), bits.RotateLeft64(side, t*64/tables), uint32(i)})
		}
	}
	err := sortWithin(ctx, keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.under, b.under), cmp.Compare(a.sketch, b.sketch), cmp.Compare(a.member, b.member))
	})
	var met []uint64
	for i, k := range keys {
		for n := i + 1; n <= i+window && n < len(keys) && keys[n].under == k.under; n++ {
			a, b := min(k.member, keys[n].member), max(k.member, keys[n].member)
			met = append(met, uint64(a)<<32|uint64(b))
			if k.under>>63 == 1 || min(len(s[a].features), len(s[b].features)) < 4 { // once is enough
				met = append(met, uint64(a)<<32|uint64(b))
			}
		}
	}
	if err == nil {
		err = sortWithin(ctx, met, cmp.Compare[uint64])
	}
	// Most of those that meet once only have little in common.
	twice := met[:0]
	for i := 1; i < len(met); i++ {
		if met[i] == met[i-1] {
			twice = append(twice, met[i])
		}
	}
	return slices.Compact(twice), err
}

// sortWithin sorts until the context ends.
func sortWithin[T any](ctx context.Context, list []T, compare func(a, b T) int) error {
	n, ended := 0, false
	slices.SortFunc(list, func(a, b T) int {
		if n++; n&0xffff == 0 && ctx.Err() != nil {
			ended = true
		}
		if ended {
			return 0 // what is equal is sorted
		}
		return compare(a, b)
	})
	return ctx.Err()
}

// hyperplanes are 64 planes through the origin, always the same, by which vectors are told
// apart. There must be a vector for each entry or none at all, and those that are not nil
// must be finite and of one length.
func hyperplanes(ctx context.Context, vectors [][]float32, entries int) ([][]float32, error) {
	dims, fit := 0, vectors == nil || len(vectors) == entries
	for _, v := range vectors {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		norm := dot(v, v)
		fit = fit && (v == nil || len(v) > 0 && (dims == 0 || len(v) == dims) && !math.IsNaN(norm) && !math.IsInf(norm, 0))
		dims = max(dims, len(v))
	}
	if !fit {
		return nil, invalid("SimilarOptions.Vectors has not one vector for each entry, all of one length")
	}
	r := rand.New(rand.NewPCG(64, uint64(dims)))
	planes := make([][]float32, 64)
	for i := range planes {
		for range dims {
			planes[i] = append(planes[i], float32(r.NormFloat64()))
		}
	}
	return planes, nil
}

func dot(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

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
	score := 0.0
	if both > 0 {
		score = min(1, both/(m.norm*o.norm))
	}
	if m.vector == nil || o.vector == nil {
		return score
	}
	score /= 4
	if norm := math.Sqrt(dot(m.vector, m.vector) * dot(o.vector, o.vector)); norm > 0 {
		score += 3 * max(0, min(1, dot(m.vector, o.vector)/norm)) / 4
	}
	return score
}

// groups compares the members that meet and puts the similar ones together, the most
// similar first.
func (s space) groups(ctx context.Context, met []uint64, least float64) ([]Candidates, error) {
	type pair struct {
		score float64
		a, b  int
	}
	var pairs []pair
	for _, m := range met {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a, b := int(m>>32), int(uint32(m))
		if score := s.similarity(a, b); score >= least {
			pairs = append(pairs, pair{score, a, b})
		}
	}
	err := sortWithin(ctx, pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	of := make([]int, len(s)) // the number of its group, from 1
	var groups [][]int
	var found []Candidates
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
		}
		if score >= least {
			groups[g], of[p.b] = append(groups[g], p.b), g+1
			found[g] = Candidates{append(found[g].IDs, s[p.b].id), score}
		}
	}
	for i := range found {
		slices.Sort(found[i].IDs)
	}
	return found, err
}

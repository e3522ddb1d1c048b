package consolidate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unicode"
	"unicode/utf8"

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

// The bounds that make [Similar] near-linear, whatever the entries are.
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
// the twelve, and each meets the four after it. Two are compared if they meet twice, or
// once if one has fewer than four such features. Vectors bring neighbours together in four
// orders more. So the worst inputs take no longer, but similar entries are missed in them: one word in
// every entry, boilerplate around every entry that outweighs the rest, and many equal
// entries, of which it makes groups of [MaxCandidates]. Of an entry with more than 512
// features the 512 heaviest count, so that one of a megabyte costs no more than it takes to
// read it.
//
// It holds up to about 20 bytes for each byte of text. It fails with [memory.ErrValidation]
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
	classes := map[class][]member{}
	for i := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := member{id: entries[i].ID, text: entries[i].Content}
		if o.Vectors != nil {
			m.vector = o.Vectors[i]
		}
		c := class{labelKey(&entries[i]), entries[i].ExpiresAt.UnixMilli()}
		classes[c] = append(classes[c], m)
	}
	var found []Candidates
	for _, members := range classes {
		if len(members) < 2 {
			continue
		}
		groups, err := candidates(ctx, members, planes, o.Score)
		if err != nil {
			return nil, err
		}
		found = append(found, groups...)
	}
	err = sortWithin(ctx, found, func(a, b Candidates) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return found, err
}

// member is an entry of a class.
type member struct {
	id, text string
	vector   []float32
	features []uint32 // in ascending order; those that other members have, too
	norm     float64
}

// candidates finds the groups of one class.
func candidates(ctx context.Context, members []member, planes [][]float32, least float64) ([]Candidates, error) {
	err := sortWithin(ctx, members, func(a, b member) int { return cmp.Compare(a.id, b.id) })
	if err != nil {
		return nil, err
	}
	s := space{members: members}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	met, err := s.meetings(ctx, planes)
	if err != nil {
		return nil, err
	}
	return s.groups(ctx, met, least)
}

// space holds the members of a class as weighted sets of features. A feature is the hash
// of a word, or of a 4-gram if its lowest bit is set.
type space struct {
	members []member
	weights []float64 // squares of the weights of the words, by [space.cell]
	shift   int
}

// cell is where a feature is counted. Where two share one, their count is too high.
func (s *space) cell(f uint32) uint32 { return f >> s.shift }

// weight is the square of the weight of a feature.
func (s *space) weight(f uint32) float64 {
	w := s.weights[s.cell(f)]
	if f&1 == 1 {
		w /= 4
	}
	return w
}

// read takes the features of the members, and weighs them by how many have each.
func (s *space) read(ctx context.Context) error {
	size := uint(0)
	for i := range s.members {
		size += uint(len(s.members[i].text))
	}
	s.shift = 32 - min(bits.Len(size)+2, 22)
	holders := make([]int, 1<<(32-s.shift))
	for i := range s.members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		own := featuresOf(s.members[i].text)
		slices.Sort(own)
		own = slices.Compact(own)
		for _, f := range own {
			holders[s.cell(f)]++
		}
		s.members[i].features = own
	}
	s.weights = make([]float64, len(holders))
	for i, df := range holders {
		if df > 0 {
			w := 1 + math.Log(float64(len(s.members)+1)/float64(df+1))
			s.weights[i] = w * w
		}
	}
	for i := range s.members {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m := &s.members[i]
		if len(m.features) > maxFeatures {
			slices.SortFunc(m.features, s.byWeight)
			m.features = m.features[:maxFeatures]
			slices.Sort(m.features)
		}
		for _, f := range m.features {
			m.norm += s.weight(f)
		}
		m.norm = math.Sqrt(m.norm)
		alone := func(f uint32) bool { return holders[s.cell(f)] < 2 }
		m.features = slices.Clone(slices.DeleteFunc(m.features, alone))
	}
	return nil
}

// featuresOf are the features of a text, with repetitions.
func featuresOf(content string) (features []uint32) {
	var word []byte
	var starts []int // of the characters of the word, the marks of its ends included
	for t := range text.Tokens(text.Compose(content)) {
		if t.Kind == text.Symbol {
			continue
		}
		word, starts = append(word[:0], '^'), append(starts[:0], 0)
		for _, r := range t.Text {
			starts = append(starts, len(word))
			word = utf8.AppendRune(word, unicode.ToLower(r))
		}
		starts = append(starts, len(word), len(word)+1)
		word = append(word, '$')
		features = append(features, uint32(xxhash.Sum64(word))&^1)
		for k := 0; len(starts) > gram+3 && k+gram < len(starts); k++ {
			features = append(features, uint32(xxhash.Sum64(word[starts[k]:starts[k+gram]]))|1)
		}
	}
	return features
}

// heaviest are the features by which a member is looked up, the heaviest first.
func (s *space) heaviest(features []uint32) []uint32 {
	var first []uint32
	for _, f := range features {
		if at, _ := slices.BinarySearchFunc(first, f, s.byWeight); at < lookups {
			first = slices.Insert(first[:min(len(first), lookups-1)], at, f)
		}
	}
	return first
}

// byWeight orders features, the heavier first.
func (s *space) byWeight(a, b uint32) int {
	return cmp.Or(cmp.Compare(s.weight(b), s.weight(a)), cmp.Compare(a, b))
}

// key is one way to look a member up. Keys under one feature, or of one order of vectors,
// stand together, and among them those of like sketches.
type key struct {
	under, sketch uint64
	member        uint32
}

// meetings are the pairs of members to compare, each in one number.
func (s *space) meetings(ctx context.Context, planes [][]float32) ([]uint64, error) {
	var keys []key
	for i := range s.members {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m := &s.members[i]
		features := s.heaviest(m.features)
		for n, f := range features {
			next, second := features[(n+1)%len(features)], features[(n+2)%len(features)]
			keys = append(keys, key{uint64(f), uint64(next)<<32 | uint64(second), uint32(i)})
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
	if err != nil {
		return nil, err
	}
	var met []uint64
	for i, k := range keys {
		for n := i + 1; n <= i+window && n < len(keys) && keys[n].under == k.under; n++ {
			a, b := min(k.member, keys[n].member), max(k.member, keys[n].member)
			met = append(met, uint64(a)<<32|uint64(b))
			short := min(len(s.members[a].features), len(s.members[b].features)) < 4
			if short || k.under>>63 == 1 {
				met = append(met, uint64(a)<<32|uint64(b))
			}
		}
	}
	err = sortWithin(ctx, met, func(a, b uint64) int { return cmp.Compare(a, b) })
	// Most of those that meet once only have little in common.
	twice := met[:0]
	for i := 1; i < len(met); i++ {
		if met[i] == met[i-1] && (len(twice) == 0 || twice[len(twice)-1] != met[i]) {
			twice = append(twice, met[i])
		}
	}
	return twice, err
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
func (s *space) similarity(a, b int) float64 {
	m, o := &s.members[a], &s.members[b]
	both := 0.0
	for i, k := 0, 0; i < len(m.features) && k < len(o.features); {
		switch f, g := m.features[i], o.features[k]; {
		case f < g:
			i++
		case f > g:
			k++
		default:
			both += s.weight(f)
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
	if norm := math.Sqrt(dot(m.vector, m.vector) * dot(o.vector, o.vector)); norm > 0 {
		return score/4 + 3*max(0, min(1, dot(m.vector, o.vector)/norm))/4
	}
	return score / 4
}

// groups compares the members that meet and puts the similar ones together, the most
// similar first.
func (s *space) groups(ctx context.Context, met []uint64, least float64) ([]Candidates, error) {
	type pair struct {
		score float64
		of    uint64
	}
	var pairs []pair
	for _, m := range met {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if score := s.similarity(int(m>>32), int(uint32(m))); score >= least {
			pairs = append(pairs, pair{score, m})
		}
	}
	err := sortWithin(ctx, pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.of, b.of)) })
	if err != nil {
		return nil, err
	}
	type group struct {
		members []int
		score   float64
	}
	of := make([]*group, len(s.members))
	var groups []*group
	for _, p := range pairs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a, b := int(p.of>>32), int(uint32(p.of))
		if of[a] == nil {
			a, b = b, a
		}
		g := of[a]
		switch {
		case g == nil:
			g = &group{[]int{a}, p.score}
			groups, of[a] = append(groups, g), g
		case of[b] != nil || len(g.members) == MaxCandidates:
			continue
		}
		score := g.score
		for k := 0; k < len(g.members) && score >= least; k++ {
			score = min(score, s.similarity(g.members[k], b))
		}
		if score >= least {
			g.members, g.score, of[b] = append(g.members, b), score, g
		}
	}
	found := make([]Candidates, len(groups))
	for i, g := range groups {
		for _, m := range g.members {
			found[i].IDs = append(found[i].IDs, s.members[m].id)
		}
		slices.Sort(found[i].IDs)
		found[i].Score = g.score
	}
	return found, nil
}

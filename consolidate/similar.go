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
	maxWords    = 6   // words and
	maxGrams    = 2   // 4-grams by which an entry is looked up
	window      = 8   // entries after it, under each of these, that it is compared with
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
// Not every two entries are compared. An entry is looked up by the six rarest of its words
// and the two rarest of its 4-grams that other entries have too; under each of these it
// meets up to eight others, those that a sketch of the features tells to have much in
// common, and it is compared with those that it meets twice, or under a feature that few
// have. So its worst inputs take no longer, but similar entries are missed in
// them: one word in every entry, boilerplate around every entry that outweighs the rest,
// and many equal entries, of which it makes groups of [MaxCandidates]. Of an entry with
// more than 512 features the 512 heaviest count, so that one of a megabyte costs no more
// than it takes to read it.
//
// It holds up to about 20 bytes for each byte of text. It fails with [memory.ErrValidation]
// for a score out of range, vectors that do not fit, or 2^31 entries, and with the
// context's error. It is safe for concurrent use.
func Similar(ctx context.Context, entries []memory.Entry, o SimilarOptions) ([]Candidates, error) {
	if o.Score == 0 {
		o.Score = DefaultScore
	}
	if !(o.Score > 0 && o.Score <= 1) || len(entries) > math.MaxInt32 {
		return nil, &failure{memory.ErrValidation, "a score that is not above 0 and at most 1, or too many entries", nil}
	}
	dims, ok := dimensions(o.Vectors, len(entries))
	if !ok {
		return nil, &failure{memory.ErrValidation, "the vectors do not fit the entries", nil}
	}
	s := newSpace(entries, o.Vectors)
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	if err := s.weigh(ctx); err != nil {
		return nil, err
	}
	met, err := s.meetings(ctx, dims)
	if err != nil {
		return nil, err
	}
	return s.groups(ctx, met, o.Score)
}

// dimensions is how long the vectors are, which must be all the same and finite.
func dimensions(vectors [][]float32, entries int) (dims int, ok bool) {
	for _, v := range vectors {
		norm := dot(v, v)
		if v != nil && (len(v) == 0 || dims != 0 && len(v) != dims) || math.IsNaN(norm) || math.IsInf(norm, 0) {
			return 0, false
		}
		dims = max(dims, len(v))
	}
	return dims, vectors == nil || len(vectors) == entries
}

// space holds entries as weighted sets of features. A feature is the hash of a word, or of
// a 4-gram if its lowest bit is set, and of the class of the entry: entries of different
// classes have none in common.
type space struct {
	entries  []*memory.Entry // oldest first
	vectors  [][]float32     // of the entries; nil without any
	class    []uint32        // of the entries: what may be in one group
	size     []int           // of the classes
	features []uint32
	start    []int // of the features of each entry
	norm     []float64
	df       []uint32 // how many entries have a feature, by its hash; at least
	shift    int
	logs     [1 << 10]float64 // of small counts, which most are
}

func newSpace(entries []memory.Entry, vectors [][]float32) *space {
	s := &space{}
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(entries[a].CreatedAt.Compare(entries[b].CreatedAt), cmp.Compare(entries[a].ID, entries[b].ID))
	})
	type class struct {
		labels  string
		expires int64
	}
	classes := map[class]uint32{}
	for _, i := range order {
		e := &entries[i]
		name := class{labels(e), e.ExpiresAt.UnixMilli()}
		c, known := classes[name]
		if !known {
			c = uint32(len(s.size))
			classes[name] = c
			s.size = append(s.size, 0)
		}
		s.size[c]++
		s.entries, s.class = append(s.entries, e), append(s.class, c)
		if vectors != nil {
			s.vectors = append(s.vectors, vectors[i])
		}
	}
	return s
}

// read takes the features of the entries.
func (s *space) read(ctx context.Context) error {
	s.start = make([]int, 1, len(s.entries)+1)
	for i, e := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from := len(s.features)
		s.features = appendFeatures(s.features, e.Content, s.class[i])
		own := s.features[from:]
		slices.Sort(own)
		s.features = s.features[:from+len(slices.Compact(own))]
		s.start = append(s.start, len(s.features))
	}
	return nil
}

// appendFeatures appends the features of a text, with repetitions.
func appendFeatures(features []uint32, content string, class uint32) []uint32 {
	seed := mix(uint64(class))
	var word []byte
	var starts []int // of the characters of the word, the marks of its ends included
	for t := range text.Tokens(text.Compose(content)) {
		if t.Kind == text.Symbol {
			continue
		}
		word, starts = append(word[:0], '^'), append(starts[:0], 0)
		for _, r := range t.Text {
			starts = append(starts, len(word))
			if r < utf8.RuneSelf && 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			} else if r >= utf8.RuneSelf {
				r = unicode.ToLower(r)
			}
			word = utf8.AppendRune(word, r)
		}
		starts = append(starts, len(word), len(word)+1)
		word = append(word, '$')
		features = append(features, uint32(mix(xxhash.Sum64(word), seed))&^1)
		for k := 0; len(starts) > gram+3 && k+gram < len(starts); k++ {
			features = append(features, uint32(mix(xxhash.Sum64(word[starts[k]:starts[k+gram]]), seed))|1)
		}
	}
	return features
}

// mix hashes numbers, in their order, into one.
func mix(words ...uint64) uint64 {
	h := uint64(len(words))
	for _, w := range words {
		hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15)
		h = (hi ^ lo) + bits.RotateLeft64(w, 29)
	}
	hi, lo := bits.Mul64(h, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// weigh counts in how many entries each feature is, and leaves to each entry its heaviest
// ones.
func (s *space) weigh(ctx context.Context) error {
	cells := min(max(bits.Len(uint(len(s.features))), 8), 22)
	s.df, s.shift = make([]uint32, 1<<cells), 32-cells
	for _, f := range s.features {
		s.df[s.cell(f)]++
	}
	for i := range s.logs {
		s.logs[i] = math.Log(float64(i))
	}
	s.norm = make([]float64, len(s.entries))
	kept := 0
	for i := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		own, n := s.of(i), s.size[s.class[i]]
		if len(own) > maxFeatures {
			slices.SortFunc(own, func(a, b uint32) int {
				return cmp.Or(cmp.Compare(s.weight(b, n), s.weight(a, n)), cmp.Compare(a, b))
			})
			own = own[:maxFeatures]
			slices.Sort(own)
		}
		for _, f := range own {
			s.norm[i] += s.weight(f, n)
		}
		s.norm[i] = math.Sqrt(s.norm[i])
		s.start[i] = kept
		kept += copy(s.features[kept:], own)
	}
	s.start[len(s.entries)] = kept
	return nil
}

func (s *space) of(i int) []uint32 { return s.features[s.start[i]:s.start[i+1]] }

// cell is where a feature is counted. Where two share one, their count is too high.
func (s *space) cell(f uint32) uint32 { return (f * 0x9e3779b1) >> s.shift }

// weight is the square of the weight of a feature in a class of n entries.
func (s *space) weight(f uint32, n int) float64 {
	w := 1 + s.log(n+1) - s.log(int(s.df[s.cell(f)])+1)
	if f&1 == 1 {
		w /= 2
	}
	return w * w
}

// log is the logarithm of a count.
func (s *space) log(n int) float64 {
	if n < len(s.logs) {
		return s.logs[n]
	}
	return math.Log(float64(n))
}

// key is one way to look an entry up. Keys of one feature and class stand together, and
// among them those of like sketches.
type key struct {
	of     uint64
	sketch uint32
	entry  uint32
}

// meetings are the pairs of entries to compare, each in one number.
func (s *space) meetings(ctx context.Context, dims int) ([]uint64, error) {
	var keys []key
	planes := hyperplanes(dims)
	for i := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, f := range s.rarest(s.of(i)) {
			k := key{of: uint64(s.class[i])<<32 | uint64(f), entry: uint32(i)}
			if s.df[s.cell(f)] > window+1 {
				k.sketch = sketch(s.of(i), f)
			}
			keys = append(keys, k)
		}
		if dims == 0 || s.vectors[i] == nil {
			continue
		}
		// Vectors of a small angle are on the same side of most planes.
		var side uint64
		for b, plane := range planes {
			if dot(plane, s.vectors[i]) > 0 {
				side |= 1 << b
			}
		}
		for t := range tables {
			rotated := bits.RotateLeft64(side, t*64/tables)
			keys = append(keys, key{1<<63 | uint64(t)<<32 | uint64(s.class[i]), uint32(rotated >> 32), uint32(i)})
		}
	}
	err := sortWithin(ctx, keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.sketch, b.sketch), cmp.Compare(a.entry, b.entry))
	})
	if err != nil {
		return nil, err
	}
	var met []uint64
	for i, k := range keys {
		for n := i + 1; n <= i+window && n < len(keys) && keys[n].of == k.of; n++ {
			o := keys[n].entry
			m := uint64(min(k.entry, o))<<32 | uint64(max(k.entry, o))
			if met = append(met, m); k.sketch == 0 || k.of>>63 == 1 {
				met = append(met, m)
			}
		}
	}
	err = sortWithin(ctx, met, func(a, b uint64) int { return cmp.Compare(a, b) })
	// Of a feature that many have, one meeting is chance.
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

// rarest are the features by which an entry is looked up: its rarest words and 4-grams
// that others have too.
func (s *space) rarest(features []uint32) []uint32 {
	var best [2][]uint32
	most := [2]int{maxWords, maxGrams}
	for _, f := range features {
		kind, df := f&1, s.df[s.cell(f)]
		list := best[kind]
		if df < 2 || len(list) == most[kind] && df >= s.df[s.cell(list[len(list)-1])] {
			continue
		}
		i, _ := slices.BinarySearchFunc(list, df+1, func(g, df uint32) int { return cmp.Compare(s.df[s.cell(g)], df) })
		best[kind] = slices.Insert(list[:min(len(list), most[kind]-1)], i, f)
	}
	return append(best[0], best[1]...)
}

// sketch is equal for two sets that have much in common more often than for others.
func sketch(features []uint32, seed uint32) uint32 {
	a, b := uint32(math.MaxUint32), uint32(math.MaxUint32)
	for _, f := range features {
		h := (uint64(seed)<<32 | uint64(f)) * 0x9e3779b97f4a7c15
		h = (h ^ h>>32) * 0xd6e8feb86659fd93
		a, b = min(a, uint32(h>>32)), min(b, uint32(h*0x2545f4914f6cdd1d>>32))
	}
	return a<<16 | b&0xffff
}

// hyperplanes are 64 planes through the origin, always the same.
func hyperplanes(dims int) [][]float32 {
	r := rand.New(rand.NewPCG(64, uint64(dims)))
	planes := make([][]float32, 64)
	for i := range planes {
		for range dims {
			planes[i] = append(planes[i], float32(r.NormFloat64()))
		}
	}
	return planes
}

func dot(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// similarity compares two entries of one class.
func (s *space) similarity(a, b int) float64 {
	x, y, n := s.of(a), s.of(b), s.size[s.class[a]]
	both := 0.0
	for i, k := 0, 0; i < len(x) && k < len(y); {
		switch {
		case x[i] < y[k]:
			i++
		case x[i] > y[k]:
			k++
		default:
			both += s.weight(x[i], n)
			i, k = i+1, k+1
		}
	}
	score := 0.0
	if both > 0 {
		score = min(1, both/(s.norm[a]*s.norm[b]))
	}
	if s.vectors == nil || s.vectors[a] == nil || s.vectors[b] == nil {
		return score
	}
	u, v := s.vectors[a], s.vectors[b]
	if norm := math.Sqrt(dot(u, u) * dot(v, v)); norm > 0 {
		return score/4 + 3*max(0, min(1, dot(u, v)/norm))/4
	}
	return score / 4
}

// groups compares the entries that meet and puts the similar ones together, the most
// similar first.
func (s *space) groups(ctx context.Context, met []uint64, least float64) ([]Candidates, error) {
	type pair struct {
		score float64
		of    uint64
	}
	var pairs []pair
	for i, m := range met {
		if i&0xff == 0 && ctx.Err() != nil {
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
	of := make([]*group, len(s.entries))
	var groups []*group
	for i, p := range pairs {
		if i&0xff == 0 && ctx.Err() != nil {
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
			found[i].IDs = append(found[i].IDs, s.entries[m].ID)
		}
		slices.Sort(found[i].IDs)
		found[i].Score = g.score
	}
	slices.SortFunc(found, func(a, b Candidates) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return found, nil
}

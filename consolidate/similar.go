package consolidate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strconv"
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
	maxKeys     = 8   // words by which an entry is looked up
	window      = 8   // entries after it, under each of these, that it is a candidate of
	maxVerified = 12  // candidates of an entry whose similarity is computed
	maxFeatures = 512 // of an entry that count
	tables      = 4   // orders in which vectors are neighbours
	gram        = 4   // characters
)

// Similar finds groups of entries that may say the same, in any language and without a
// list of words. The groups of one call have no entry in common and stand in the order of
// their first ids; their order and content do not depend on the order of the entries.
// Only entries with the same tags, the same subjects and the same expiry come into one
// group (C9), and what others say has no influence on their scores.
//
// The similarity of two entries is the cosine of the sets of their words and of the
// character 4-grams of words of five letters or more, each weighted by how rare it is:
// 1 + ln((n+1)/(df+1)) for one that df of the n entries have, and half of that for a 4-gram.
// Case does not count, and how often an entry has a word does not either. Where both
// entries have a vector, the similarity is a quarter of this and three quarters of the
// cosine of the vectors.
//
// Not every two entries are compared. An entry is looked up by the eight rarest of its
// words that another entry has, or of their 4-grams where no other has the word; under
// each of these it meets those entries that have the most in common with it by a sketch
// of their features, eight of them where there are more. The inputs on which it is at its
// worst are bounded by that: one word in every entry, boilerplate around every entry, and a
// million equal entries, of which it makes groups of [MaxCandidates]. It misses similar
// entries there. Of an entry with more than 512 features the 512 heaviest count, so that
// one entry of a megabyte costs no more than it takes to read it.
//
// It holds about 16 bytes for each byte of text. It fails with [memory.ErrValidation] for
// a score out of range, vectors that do not fit, or 2^31 entries, and with the context's
// error. It is safe for concurrent use.
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
	s, err := newSpace(ctx, entries, o.Vectors)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{s.read, s.weigh, func(ctx context.Context) error { return s.lookups(ctx, dims) }} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	pairs, err := s.pairs(ctx, o.Score)
	if err != nil {
		return nil, err
	}
	return s.groups(ctx, pairs)
}

// dimensions is how long the vectors are, which must be all the same and finite.
func dimensions(vectors [][]float32, entries int) (dims int, ok bool) {
	if vectors != nil && len(vectors) != entries {
		return 0, false
	}
	for _, v := range vectors {
		if v == nil {
			continue
		}
		if len(v) == 0 || dims != 0 && len(v) != dims {
			return 0, false
		}
		dims = len(v)
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return 0, false
		}
	}
	return dims, true
}

// space holds entries as weighted sets of features. A feature is the hash of a word, or of
// a 4-gram if its lowest bit is set, and of the class of the entry: entries of different
// classes have none in common.
type space struct {
	entries  []*memory.Entry // that share their class with others, oldest first
	vectors  [][]float32     // of these, unit length
	class    []uint32
	size     []int // of each class
	features []uint32
	start    []int // of the features of each entry
	norm     []float32
	df       []uint32 // how many entries have a feature, by its hash; at least
	shift    int
	keys     []key
	places   []uint32 // in keys, of each entry
	ends     []uint32 // of the places of each entry
	grams    gramBuffer
	best     []uint32
}

// key is one way to look an entry up. Those of one word stand together, and among them
// those of like sketches.
type key struct {
	of     uint64 // class and feature
	sketch uint32
	entry  uint32
}

func newSpace(ctx context.Context, entries []memory.Entry, vectors [][]float32) (*space, error) {
	s := &space{}
	classes := map[string]uint32{}
	of := make([]uint32, len(entries))
	for i := range entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e := &entries[i]
		name := labels(e)
		if !e.ExpiresAt.IsZero() {
			name += "\x00" + strconv.FormatInt(e.ExpiresAt.UnixMilli(), 10)
		}
		c, known := classes[name]
		if !known {
			c = uint32(len(classes))
			classes[name] = c
			s.size = append(s.size, 0)
		}
		of[i] = c
		s.size[c]++
	}
	order := make([]int32, 0, len(entries))
	for i := range entries {
		if s.size[of[i]] > 1 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(entries[a].CreatedAt.Compare(entries[b].CreatedAt), cmp.Compare(entries[a].ID, entries[b].ID))
	})
	// Classes are numbered by their oldest entry, whatever the order of the input is.
	number, next := make([]uint32, len(s.size)), uint32(0)
	size := make([]int, len(s.size))
	for _, i := range order {
		c := of[i]
		if number[c] == 0 {
			next++
			number[c] = next
			size[next-1] = s.size[c]
		}
		s.entries = append(s.entries, &entries[i])
		s.class = append(s.class, number[c]-1)
		if vectors != nil {
			s.vectors = append(s.vectors, unit(vectors[i]))
		}
	}
	s.size = size
	return s, nil
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

// read takes the features of the entries.
func (s *space) read(ctx context.Context) error {
	s.start = make([]int, 1, len(s.entries)+1)
	for i, e := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		from := len(s.features)
		for word, grams := range s.words(e.Content, s.class[i]) {
			s.features = append(append(s.features, word), grams...)
		}
		own := s.features[from:]
		slices.Sort(own)
		s.features = s.features[:from+len(slices.Compact(own))]
		s.start = append(s.start, len(s.features))
	}
	return nil
}

// gramBuffer is what [space.words] works in.
type gramBuffer struct {
	word   []byte
	starts []int
	grams  []uint32
}

// words yields the feature of each word of a text with those of its 4-grams, which are
// valid until the next.
func (s *space) words(content string, class uint32) func(func(uint32, []uint32) bool) {
	b := &s.grams
	seed := mix(uint64(class))
	return func(yield func(uint32, []uint32) bool) {
		for t := range text.Tokens(compose(content)) {
			if t.Kind == text.Symbol {
				continue
			}
			b.word, b.starts, b.grams = append(b.word[:0], '^'), append(b.starts[:0], 0), b.grams[:0]
			for _, r := range t.Text {
				b.starts = append(b.starts, len(b.word))
				if 'A' <= r && r <= 'Z' {
					r += 'a' - 'A'
				} else if r >= utf8.RuneSelf {
					r = unicode.ToLower(r)
				}
				b.word = utf8.AppendRune(b.word, r)
			}
			b.starts = append(b.starts, len(b.word), len(b.word)+1)
			b.word = append(b.word, '$')
			if len(b.starts)-3 > gram {
				for k := 0; k+gram < len(b.starts); k++ {
					h := xxhash.Sum64(b.word[b.starts[k]:b.starts[k+gram]])
					b.grams = append(b.grams, uint32(mix(h, seed))|1)
				}
			}
			if !yield(uint32(mix(xxhash.Sum64(b.word), seed))&^1, b.grams) {
				return
			}
		}
	}
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
	cells := min(max(bits.Len(uint(len(s.features))), 8), 24)
	s.df, s.shift = make([]uint32, 1<<cells), 32-cells
	for _, f := range s.features {
		s.df[s.cell(f)]++
	}
	s.norm = make([]float32, len(s.entries))
	kept := 0
	for i := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		own := s.features[s.start[i]:s.start[i+1]]
		n := s.size[s.class[i]]
		if len(own) > maxFeatures {
			slices.SortFunc(own, func(a, b uint32) int {
				return cmp.Or(cmp.Compare(s.weight(b, n), s.weight(a, n)), cmp.Compare(a, b))
			})
			own = own[:maxFeatures]
			slices.Sort(own)
		}
		sum := 0.0
		for _, f := range own {
			sum += s.weight(f, n)
		}
		s.norm[i] = float32(math.Sqrt(sum))
		s.start[i] = kept
		kept += copy(s.features[kept:], own)
	}
	s.start[len(s.entries)] = kept
	return nil
}

// cell is where a feature is counted. Few features share one, and then their counts are
// too high by a little.
func (s *space) cell(f uint32) uint32 { return (f * 0x9e3779b1) >> s.shift }

// weight is the square of the weight of a feature in a class of n entries.
func (s *space) weight(f uint32, n int) float64 {
	w := 1 + math.Log(float64(n+1)/float64(s.df[s.cell(f)]+1))
	if f&1 == 1 {
		w /= 2
	}
	return w * w
}

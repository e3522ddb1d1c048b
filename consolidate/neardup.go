package consolidate

import (
	"context"
	"math/bits"
	"runtime"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/openwop/agentmemory/memory"
)

// Pair is two texts that are alike, by their index.
type Pair struct {
	A, B int
	// Similarity is the Jaccard similarity of their word shingles, 0 to 1.
	Similarity float64
}

// shingle is how many words in a row make one shingle.
const shingle = 3

// NearDuplicates finds the pairs of texts whose Jaccard similarity over word
// 3-shingles is at least threshold, which lies above 0 and is at most 1. Words are
// compared without regard to case and punctuation; a text of fewer than three words
// is one shingle, and a text without words is like no other. It is meant for a
// [Planner] of a host that looks for candidates; that two texts are alike does not
// say that they mean the same.
//
// The join is exact but for collisions of 48-bit hashes. Its cost grows with the
// number of texts and of pairs: a thousand equal texts are half a million pairs, so
// drop equal texts first. The pairs have A < B and are in ascending order. It uses up
// to workers goroutines; 0 means one for each CPU.
//
// It fails with [memory.ErrValidation] for a threshold out of range or more than
// 2^32-1 words, and with the context's error.
func NearDuplicates(ctx context.Context, texts []string, threshold float64, workers int) ([]Pair, error) {
	if !(threshold > 0 && threshold <= 1) {
		return nil, memory.ErrValidation
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	s, err := shingles(ctx, texts, workers)
	if err != nil {
		return nil, err
	}
	pairs, err := join(ctx, s, threshold, workers, 0)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		if a.A != b.A {
			return a.A - b.A
		}
		return a.B - b.B
	})
	return pairs, nil
}

// shingles makes the set of each text.
func shingles(ctx context.Context, texts []string, workers int) (*sets, error) {
	s := &sets{start: make([]uint32, len(texts)+1)}
	// A text has fewer words than half its bytes; one pass counts, one hashes.
	sizes := make([]uint64, workers+1)
	parallel(workers, func(w int) {
		for i := w * len(texts) / workers; i < (w+1)*len(texts)/workers; i++ {
			n := countWords(texts[i])
			if n >= shingle {
				n -= shingle - 1
			} else {
				n = min(n, 1)
			}
			s.start[i+1] = uint32(n)
			sizes[w+1] += uint64(n)
		}
	})
	for w := range workers {
		sizes[w+1] += sizes[w]
	}
	if sizes[workers] >= 1<<32 {
		return nil, memory.ErrValidation
	}
	s.tokens = make([]uint64, sizes[workers])
	ends := make([]uint64, workers)
	parallel(workers, func(w int) {
		at := sizes[w]
		var words []uint64
		var buf []byte
		for i := w * len(texts) / workers; i < (w+1)*len(texts)/workers; i++ {
			if i&0xfff == 0 && ctx.Err() != nil {
				return
			}
			words, buf = hashWords(words[:0], buf, texts[i])
			set := s.tokens[at:at]
			if len(words) > 0 && len(words) < shingle {
				set = append(set, mix(words...))
			}
			for k := 0; k+shingle <= len(words); k++ {
				set = append(set, mix(words[k:k+shingle]...))
			}
			set = unique(set)
			at += uint64(len(set))
			s.start[i+1] = uint32(len(set))
		}
		ends[w] = at
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Close the gaps that repeated shingles left between the workers' parts.
	at := ends[0]
	for w := 1; w < workers; w++ {
		at += uint64(copy(s.tokens[at:], s.tokens[sizes[w]:ends[w]]))
	}
	s.tokens = s.tokens[:at]
	for i := range texts {
		s.start[i+1] += s.start[i]
	}
	return s, nil
}

// unique drops repeated tokens of a short list, in place.
func unique(set []uint64) []uint64 {
	if len(set) > 48 {
		slices.Sort(set)
		return slices.Compact(set)
	}
	out := set[:0]
	for _, t := range set {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// mix hashes a few words, in their order, into one token.
func mix(words ...uint64) uint64 {
	h := uint64(len(words))
	for _, w := range words {
		hi, lo := bits.Mul64(h^w, 0x9e3779b97f4a7c15)
		h = (hi ^ lo) + bits.RotateLeft64(w, 29)
	}
	hi, lo := bits.Mul64(h, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// wordByte tells which ASCII bytes are part of a word, and their lower case.
var wordByte = func() (t [utf8.RuneSelf]byte) {
	for c := range t {
		if r := rune(c); unicode.IsLetter(r) || unicode.IsDigit(r) {
			t[c] = byte(unicode.ToLower(r))
		}
	}
	return t
}()

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

func countWords(text string) (n int) {
	in := false
	for i := 0; i < len(text); {
		var is bool
		if c := text[i]; c < utf8.RuneSelf {
			is = wordByte[c] != 0
			i++
		} else {
			r, size := utf8.DecodeRuneInString(text[i:])
			is = wordRune(r)
			i += size
		}
		if is && !in {
			n++
		}
		in = is
	}
	return n
}

// hashWords appends the hash of each word of a text. buf is scratch space.
func hashWords(words []uint64, buf []byte, text string) ([]uint64, []byte) {
	buf = buf[:0]
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			if lower := wordByte[c]; lower != 0 {
				buf = append(buf, lower)
				continue
			}
		} else {
			r, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if wordRune(r) {
				buf = utf8.AppendRune(buf, unicode.ToLower(r))
				continue
			}
		}
		if len(buf) > 0 {
			words = append(words, xxhash.Sum64(buf))
			buf = buf[:0]
		}
	}
	if len(buf) > 0 {
		words = append(words, xxhash.Sum64(buf))
		buf = buf[:0]
	}
	return words, buf
}

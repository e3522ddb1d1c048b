package consolidate

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// lookups makes the keys of all entries and puts them in order.
func (s *space) lookups(ctx context.Context, dims int) error {
	keys := make([]key, 0, len(s.entries)*maxKeys)
	planes := hyperplanes(dims)
	for i, e := range s.entries {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, f := range s.rarest(e.Content, s.class[i]) {
			k := key{of: uint64(s.class[i])<<32 | uint64(f), entry: uint32(i)}
			if s.df[s.cell(f)] > window+1 {
				k.sketch = sketch(s.of(uint32(i)), f)
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
	return s.sortKeys(ctx, keys)
}

// rarest are the features by which an entry is looked up.
func (s *space) rarest(content string, class uint32) []uint32 {
	best := s.best[:0]
	for word, grams := range s.words(content, class) {
		f, df := word, s.df[s.cell(word)]
		for _, g := range grams {
			if n := s.df[s.cell(g)]; df < 2 || f != word && n >= 2 && n < df {
				f, df = g, n
			}
		}
		if df < 2 {
			continue
		}
		i, known := slices.BinarySearchFunc(best, f, func(b, f uint32) int {
			return cmp.Or(cmp.Compare(s.df[s.cell(b)], df), cmp.Compare(b, f))
		})
		if known || i == maxKeys {
			continue
		}
		if len(best) == maxKeys {
			best = best[:maxKeys-1]
		}
		best = slices.Insert(best, i, f)
	}
	s.best = best
	return best
}

// sketch is equal for two sets that have much in common more often than for others.
func sketch(features []uint32, seed uint32) uint32 {
	a, b := uint32(math.MaxUint32), uint32(math.MaxUint32)
	seed = seed*0x85ebca6b | 1
	for _, f := range features {
		h := (f ^ seed) * 0x9e3779b1
		h ^= h >> 15
		h *= 0xc2b2ae35
		h ^= h >> 13
		a, b = min(a, h), min(b, h*0x85ebca6b)
	}
	return a&0xffff0000 | b>>16
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

func dot(a, b []float32) float64 {
	sum := float32(0)
	for i, x := range a {
		sum += x * b[i]
	}
	return float64(sum)
}

// sortKeys sorts the keys part by part, so that the context is looked at meanwhile, and
// notes where each entry's are.
func (s *space) sortKeys(ctx context.Context, keys []key) error {
	const parts = 256
	part := func(k key) int { return int(mix(k.of) >> 56) }
	var ends [parts + 1]int
	for _, k := range keys {
		ends[part(k)+1]++
	}
	for i := range parts {
		ends[i+1] += ends[i]
	}
	next := ends
	s.keys = make([]key, len(keys))
	for _, k := range keys {
		p := part(k)
		s.keys[next[p]] = k
		next[p]++
	}
	for i := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		slices.SortFunc(s.keys[ends[i]:ends[i+1]], func(a, b key) int {
			return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.sketch, b.sketch), cmp.Compare(a.entry, b.entry))
		})
	}
	s.places = make([]uint32, len(keys))
	s.ends = make([]uint32, len(s.entries)+1)
	for _, k := range keys {
		s.ends[k.entry+1]++
	}
	for i := range s.entries {
		s.ends[i+1] += s.ends[i]
	}
	fill := slices.Clone(s.ends)
	for at, k := range s.keys {
		s.places[fill[k.entry]] = uint32(at)
		fill[k.entry]++
	}
	return nil
}

func (s *space) of(i uint32) []uint32 { return s.features[s.start[i]:s.start[i+1]] }

// pair is two entries by their numbers, a before b.
type pair struct {
	a, b  uint32
	score float32
}

// pairs compares each entry with its candidates.
func (s *space) pairs(ctx context.Context, least float64) ([]pair, error) {
	var found []pair
	var met []uint32
	var ranked []uint64
	for i := range uint32(len(s.entries)) {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		met = met[:0]
		for _, at := range s.places[s.ends[i]:s.ends[i+1]] {
			k := s.keys[at]
			for n := at + 1; n <= at+window && int(n) < len(s.keys) && s.keys[n].of == k.of; n++ {
				met = append(met, s.keys[n].entry)
			}
		}
		// Those met under most keys are the likeliest.
		slices.Sort(met)
		ranked = ranked[:0]
		for len(met) > 0 {
			n := 1
			for n < len(met) && met[n] == met[0] {
				n++
			}
			ranked = append(ranked, uint64(n)<<32|uint64(math.MaxUint32-met[0]))
			met = met[n:]
		}
		slices.Sort(ranked)
		for _, r := range ranked[max(0, len(ranked)-maxVerified):] {
			o := math.MaxUint32 - uint32(r)
			if score := s.similarity(i, o); score >= least {
				found = append(found, pair{min(i, o), max(i, o), float32(score)})
			}
		}
	}
	return found, nil
}

// similarity compares two entries of one class.
func (s *space) similarity(a, b uint32) float64 {
	x, y := s.of(a), s.of(b)
	n := s.size[s.class[a]]
	both := 0.0
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			x = x[1:]
		case x[0] > y[0]:
			y = y[1:]
		default:
			both += s.weight(x[0], n)
			x, y = x[1:], y[1:]
		}
	}
	score := 0.0
	if both > 0 {
		score = min(1, both/(float64(s.norm[a])*float64(s.norm[b])))
	}
	if s.vectors != nil && s.vectors[a] != nil && s.vectors[b] != nil {
		score = score/4 + 3*max(0, min(1, dot(s.vectors[a], s.vectors[b])))/4
	}
	return score
}

// groups puts the pairs together, the most similar first. An entry joins a group only if
// it is a pair with all that are in it.
func (s *space) groups(ctx context.Context, pairs []pair) ([]Candidates, error) {
	order := func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
	}
	known := make(map[uint64]float32, len(pairs))
	name := func(a, b uint32) uint64 { return uint64(min(a, b))<<32 | uint64(max(a, b)) }
	for _, p := range pairs {
		known[name(p.a, p.b)] = p.score
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(pairs, order)
	of := make([]int32, len(s.entries)) // number of the group, from 1
	var groups [][]uint32
	var scores []float32
	for i, p := range slices.Compact(pairs) {
		if i&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a, b := p.a, p.b
		if of[a] == 0 && of[b] == 0 {
			groups, scores = append(groups, []uint32{a, b}), append(scores, p.score)
			of[a], of[b] = int32(len(groups)), int32(len(groups))
			continue
		}
		if of[a] == 0 {
			a, b = b, a
		}
		if of[b] != 0 || len(groups[of[a]-1]) == MaxCandidates {
			continue
		}
		g, least := of[a]-1, p.score
		if slices.ContainsFunc(groups[g], func(m uint32) bool {
			score, ok := known[name(m, b)]
			least = min(least, score)
			return !ok
		}) {
			continue
		}
		of[b], scores[g] = g+1, min(scores[g], least)
		groups[g] = append(groups[g], b)
	}
	out := make([]Candidates, len(groups))
	for i, g := range groups {
		for _, m := range g {
			out[i].IDs = append(out[i].IDs, s.entries[m].ID)
		}
		slices.Sort(out[i].IDs)
		out[i].Score = float64(scores[i])
	}
	slices.SortFunc(out, func(a, b Candidates) int { return cmp.Compare(a.IDs[0], b.IDs[0]) })
	return out, nil
}

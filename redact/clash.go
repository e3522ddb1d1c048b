package redact

import (
	"hash/maphash"
	"slices"
	"strings"
)

// clashes finds out whether marker text holds a form, as ids and values arrive one by
// one. What it does for an id or a form depends on the length of these, not on how many
// others there are. It does not forget an unregistered value, unless it was optional: what
// it left in texts of the same run still counts. Seeded hashes stand for texts.
//
// Hex is found in any case, so a form of it clashes with the folded text of a marker.
// Hashes of such text are told apart from others by hexSalt.
type clashes struct {
	seed    maphash.Seed
	markers grams                           // of the markers of all ids, as they are and folded
	heads   grams                           // the first gram of each stump
	noted   map[uint64][]*secret            // by stump: who has it
	gone    wordSet                         // stumps of values that were unregistered
	ends    map[uint64]int                  // how many markers of ids end so
	within  [longestMarker + 1]substrings   // of the markers of all ids, by length
	ids     map[string]bool                 // for within
	pending map[uint64]map[*secret]struct{} // by end: those whose stump becomes shorter by it
}

// substrings counts texts of one length; nil until the first time that it is asked.
type substrings map[uint64]int

const (
	longestMarker = len(markerHead) + MaxID + len(markerTail)
	hexSalt       = 0x9e3779b97f4a7c15
)

func (c *clashes) init() {
	*c = clashes{
		seed: maphash.MakeSeed(), noted: map[uint64][]*secret{}, ends: map[uint64]int{},
		ids: map[string]bool{}, pending: map[uint64]map[*secret]struct{}{},
	}
}

func (c *clashes) wipe() {
	clear(c.heads.slots)
	clear(c.gone.slots)
	clear(c.noted)
	clear(c.pending)
	c.init()
}

func (c *clashes) hash(text []byte, hex bool) uint64 {
	sum := maphash.Bytes(c.seed, text)
	if hex {
		sum ^= hexSalt
	}
	return sum
}

// foldHex returns text with A-F as a-f.
func foldHex(text []byte) []byte {
	folded := make([]byte, len(text))
	for i, b := range text {
		folded[i] = hexFold[b]
	}
	return folded
}

// hasEnd reports whether the marker of a registered id, or of a shape, ends with end.
func (c *clashes) hasEnd(end []byte) bool {
	return len(end) == len(markerTail) || shapeEnds[string(end)] || c.ends[c.hash(end, false)] > 0
}

// markerEnds yields the ends of the marker of id that have the shape of one: within the
// id, and more than the bracket.
func markerEnds(id string, yield func(end []byte)) {
	text := []byte(marker(id))
	for i := len(markerHead); i < len(text)-1; i++ {
		yield(text[i:])
	}
}

// tryID returns the values that can no longer be covered once the marker of id is there,
// and counts its ends. Whoever does not add the id then calls dropEnds. It is not ok if
// the marker holds a value that was unregistered.
func (c *clashes) tryID(id string) (clashing map[*secret]bool, ok bool) {
	clashing, ok = map[*secret]bool{}, true
	text := []byte(marker(id))
	for hex, text := range [][]byte{text, foldHex(text)} {
		for i := range len(text) - minStump + 1 {
			if !c.heads.has(loadUpTo8(text, i)) {
				continue
			}
			for end := i + minStump; end <= len(text); end++ {
				sum := c.hash(text[i:end], hex == 1)
				for _, k := range c.noted[sum] {
					clashing[k] = true
				}
				ok = ok && !c.gone.has(sum)
			}
		}
	}
	var later []*secret
	markerEnds(id, func(end []byte) {
		sum := c.hash(end, false)
		if c.ends[sum]++; c.ends[sum] == 1 {
			for k := range c.pending[sum] {
				later = append(later, k)
			}
		}
	})
	for _, k := range later {
		if c.bad(k, id) {
			clashing[k] = true
		}
	}
	return clashing, ok
}

// bad reports whether a value cannot be covered: too little of a form is left beside
// markers, or a marker holds that, be it the one of id, which is not added yet.
func (c *clashes) bad(k *secret, id string) bool {
	text := []byte(marker(id))
	for i, kind := range k.forms.kinds {
		f := k.forms.at(i)
		rest := stump(f, c.hasEnd)
		if rest == nil || strings.Contains(string(f), markerHead) || c.inMarker(rest, kind == hexForm) {
			return true
		}
		if len(rest) <= len(text) && (kind == hexForm && strings.Contains(string(foldHex(text)), string(rest)) ||
			kind != hexForm && strings.Contains(string(text), string(rest))) {
			return true
		}
	}
	return false
}

// inMarker reports whether the marker of one of the ids, or of a shape, holds f.
func (c *clashes) inMarker(f []byte, hex bool) bool {
	if len(f) > longestMarker {
		return false
	}
	for i := range len(f) - minStump + 1 {
		if g := loadUpTo8(f, i); !c.markers.has(g) && !shapeGrams.has(g) {
			return false
		}
	}
	if c.within[len(f)] == nil {
		c.within[len(f)] = substrings{}
		for id := range c.ids {
			c.count(id, len(f), 1)
		}
	}
	return c.within[len(f)][c.hash(f, hex)] > 0 || slices.ContainsFunc(shapeIDs, func(id string) bool {
		return strings.Contains(marker(id), string(f))
	})
}

// count adds by to the counts of all texts of length n in the marker of id.
func (c *clashes) count(id string, n, by int) {
	text := []byte(marker(id))
	for hex, text := range [][]byte{text, foldHex(text)} {
		for i := range len(text) - n + 1 {
			sum := c.hash(text[i:i+n], hex == 1)
			if c.within[n][sum] += by; c.within[n][sum] == 0 {
				delete(c.within[n], sum)
			}
		}
	}
}

func (c *clashes) countAll(id string, by int) {
	for n, counts := range c.within {
		if counts != nil {
			c.count(id, n, by)
		}
	}
}

// addID adds the marker of an id whose ends tryID has counted, and notes the forms anew
// whose stumps it makes shorter.
func (c *clashes) addID(id string) {
	text := []byte(marker(id))
	c.markers.addAll(text)
	c.markers.addAll(foldHex(text))
	c.ids[id] = true
	c.countAll(id, 1)
	markerEnds(id, func(end []byte) {
		sum := c.hash(end, false)
		for k := range c.pending[sum] {
			delete(c.pending[sum], k)
			c.note(k)
		}
	})
}

// dropID forgets the marker of id; its ends are forgotten by dropEnds.
func (c *clashes) dropID(id string) {
	delete(c.ids, id)
	c.countAll(id, -1)
}

func (c *clashes) dropEnds(id string) {
	markerEnds(id, func(end []byte) {
		sum := c.hash(end, false)
		if c.ends[sum]--; c.ends[sum] == 0 {
			delete(c.ends, sum)
		}
	})
}

// note notes the stumps of a value, and by which ends they would become shorter.
func (c *clashes) note(k *secret) {
	for i, kind := range k.forms.kinds {
		f := k.forms.at(i)
		rest := stump(f, func(end []byte) bool {
			k.laps = true
			if c.hasEnd(end) {
				return true
			}
			sum := c.hash(end, false)
			if c.pending[sum] == nil {
				c.pending[sum] = map[*secret]struct{}{}
			}
			c.pending[sum][k] = struct{}{}
			return false
		})
		k.laps = k.laps || len(rest) < len(f)
		if len(rest) < minStump || len(rest) > longestMarker {
			continue
		}
		if sum := c.hash(rest, kind == hexForm); !slices.Contains(k.notes, sum) {
			c.heads.add(loadUpTo8(rest, 0))
			c.noted[sum] = append(c.noted[sum], k)
			k.notes = append(k.notes, sum)
		}
	}
}

// forget forgets who had the stumps of k. The stumps themselves are forgotten only if
// the value was optional.
func (c *clashes) forget(k *secret) {
	for _, sum := range k.notes {
		if !k.optional {
			c.gone.add(sum)
		}
		c.noted[sum] = slices.DeleteFunc(c.noted[sum], func(o *secret) bool { return o == k })
		if len(c.noted[sum]) == 0 {
			delete(c.noted, sum)
		}
	}
	if !k.laps {
		return
	}
	for f := range k.forms.all {
		stump(f, func(end []byte) bool {
			sum := c.hash(end, false)
			if delete(c.pending[sum], k); len(c.pending[sum]) == 0 {
				delete(c.pending, sum)
			}
			return true
		})
	}
}

// grams is a set of the first minStump bytes of words.
type grams struct{ wordSet }

const gramMask = 1<<(8*minStump) - 1

func (g *grams) add(word uint64) { g.wordSet.add(word & gramMask) }

func (g *grams) has(word uint64) bool { return g.wordSet.has(word & gramMask) }

func (g *grams) addAll(text []byte) {
	for i := range len(text) - minStump + 1 {
		g.add(loadUpTo8(text, i))
	}
}

// wordSet is a set of words, in which 0 and 1 are the same. Registering fills it
// several times as fast as a map.
type wordSet struct {
	slots []uint64 // a power of two of them, 0 if free
	n     int
}

func (s *wordSet) slot(word uint64) *uint64 {
	i := word * mix >> 32
	for ; ; i++ {
		at := &s.slots[i&uint64(len(s.slots)-1)]
		if *at == word || *at == 0 {
			return at
		}
	}
}

func (s *wordSet) has(word uint64) bool {
	return len(s.slots) > 0 && *s.slot(max(word, 1)) != 0
}

func (s *wordSet) add(word uint64) {
	if 2*s.n >= len(s.slots) {
		old := s.slots
		s.slots = make([]uint64, max(64, 4*len(old)))
		for _, word := range old {
			if word != 0 {
				*s.slot(word) = word
			}
		}
		clear(old)
	}
	if at := s.slot(max(word, 1)); *at == 0 {
		*at = max(word, 1)
		s.n++
	}
}

var shapeGrams = func() (g grams) {
	for _, id := range shapeIDs {
		g.addAll([]byte(marker(id)))
	}
	return g
}()

// shapeEnds has every end of the markers of shapes.
var shapeEnds = func() map[string]bool {
	ends := map[string]bool{}
	for _, id := range shapeIDs {
		markerEnds(id, func(end []byte) { ends[string(end)] = true })
	}
	return ends
}()

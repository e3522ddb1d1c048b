package redact

import (
	"hash/maphash"
	"slices"
	"strings"
)

// clashes finds out quickly whether marker text holds a form, as ids and values
// arrive one by one. It never forgets: what an unregistered secret left in texts
// and markers of the same run still counts.
type clashes struct {
	seed    maphash.Seed
	markers grams   // of the markers of all ids
	heads   grams   // the first gram of each form
	whole   wordSet // hashes of forms that have room in a marker
	room    int     // the length of such a form; no marker is longer
	ends    wordSet // hashes of the ends of markers; empty until they are asked for
	// later are secrets whose stump a later id could shorten.
	later []*secret
	text  []byte
}

// marker returns the marker of id, until the next call.
func (c *clashes) marker(id string) []byte {
	c.text = append(append(append(c.text[:0], markerHead...), id...), markerTail...)
	return c.text
}

func (c *clashes) wipe() {
	clear(c.heads.slots)
	clear(c.whole.slots)
	*c = clashes{seed: c.seed}
}

const (
	longestMarker = len(markerHead) + MaxID + len(markerTail)
	leastRoom     = 32 // enough for the markers of all shapes
)

// addForm notes a form without what markers could complete, if it has room.
func (c *clashes) addForm(f []byte) {
	if len(f) <= c.room {
		c.note(f)
	}
}

func (c *clashes) note(f []byte) {
	if len(f) >= minStump {
		c.heads.add(load(f, 0))
		c.whole.add(maphash.Bytes(c.seed, f))
	}
}

// addID notes a marker, and reports whether longer forms have room in it than
// those that were noted so far.
func (c *clashes) addID(id string) (longer bool) {
	c.markers.addAll(c.marker(id))
	if c.ends.n > 0 {
		c.addEnds(id)
	}
	if longer = len(c.text) > c.room; longer {
		c.room = min(max(len(c.text)*3/2, leastRoom), longestMarker)
	}
	return longer
}

func (c *clashes) addEnds(id string) {
	text := []byte(marker(id))
	for i := range text {
		c.ends.add(maphash.Bytes(c.seed, text[i:]))
	}
}

// holdsForm reports whether the marker of id holds a noted form.
func (c *clashes) holdsForm(id string) bool {
	text := c.marker(id)
	for i := range len(text) - minStump + 1 {
		if !c.heads.has(load(text, i)) {
			continue
		}
		for end := i + minStump; end <= len(text); end++ {
			if c.whole.has(maphash.Bytes(c.seed, text[i:end])) {
				return true
			}
		}
	}
	return false
}

// inMarker reports whether the marker of one of the ids, or of a shape, holds f.
func (c *clashes) inMarker(f []byte, ids map[string][]*secret) bool {
	if len(f) > c.room {
		return false
	}
	for i := range len(f) - minStump + 1 {
		if g := load(f, i); !c.markers.has(g) && !shapeGrams.has(g) {
			return false
		}
	}
	text := stringOf(f)
	for id := range ids {
		if strings.Contains(marker(id), text) {
			return true
		}
	}
	return slices.ContainsFunc(shapeIDs, func(id string) bool { return strings.Contains(marker(id), text) })
}

// grams is a set of the first minStump bytes of words.
type grams struct{ wordSet }

const gramMask = 1<<(8*minStump) - 1

func (g *grams) add(word uint64) { g.wordSet.add(word & gramMask) }

func (g *grams) has(word uint64) bool { return g.wordSet.has(word & gramMask) }

func (g *grams) addAll(text []byte) {
	for i := range len(text) - minStump + 1 {
		g.add(load(text, i))
	}
}

// wordSet is a set of words, in which 0 and 1 are the same. Registering fills it
// several times as fast as a map.
type wordSet struct {
	slots []uint64 // a power of two of them, 0 if free
	n     int
}

func (s *wordSet) slot(word uint64) *uint64 {
	i := word * mixA >> 32
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

var shapeGrams = func() grams {
	var g grams
	for _, id := range shapeIDs {
		g.addAll([]byte(marker(id)))
	}
	return g
}()

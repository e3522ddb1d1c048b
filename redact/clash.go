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
	markers grams               // of the markers of all ids
	heads   grams               // the first gram of each form
	whole   map[uint64]struct{} // hashes of forms that have room in a marker
	// later are secrets whose stump a later id could shorten.
	later []*secret
	text  []byte
}

// marker returns the marker of id, until the next call.
func (c *clashes) marker(id string) []byte {
	c.text = append(append(append(c.text[:0], markerHead...), id...), markerTail...)
	return c.text
}

func (c *clashes) init(seed maphash.Seed) {
	*c = clashes{seed: seed, markers: grams{}, heads: grams{}, whole: map[uint64]struct{}{}}
}

func (c *clashes) wipe() {
	clear(c.heads)
	clear(c.whole)
	c.later = nil
}

const longestMarker = len(markerHead) + MaxID + len(markerTail)

// addForm notes a form without what markers could complete.
func (c *clashes) addForm(f []byte) {
	if len(f) <= longestMarker {
		c.heads.add(load(f, 0))
		c.whole[maphash.Bytes(c.seed, f)] = struct{}{}
	}
}

func (c *clashes) addID(id string) { c.markers.addAll(c.marker(id)) }

// holdsForm reports whether the marker of id holds a noted form.
func (c *clashes) holdsForm(id string) bool {
	text := c.marker(id)
	for i := range len(text) - minStump + 1 {
		if !c.heads.has(load(text, i)) {
			continue
		}
		for end := i + minStump; end <= len(text); end++ {
			if _, ok := c.whole[maphash.Bytes(c.seed, text[i:end])]; ok {
				return true
			}
		}
	}
	return false
}

// inMarker reports whether the marker of one of the ids, or of a shape, holds f.
func (c *clashes) inMarker(f []byte, ids map[string][]*secret) bool {
	if len(f) > longestMarker {
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

// endsWith reports whether the marker of id ends with end.
func endsWith(id string, end []byte) bool { return strings.HasSuffix(marker(id), stringOf(end)) }

// grams is a set of the first minStump bytes of words.
type grams map[uint64]struct{}

const gramMask = 1<<(8*minStump) - 1

func (g grams) add(word uint64) { g[word&gramMask] = struct{}{} }

func (g grams) has(word uint64) bool {
	_, ok := g[word&gramMask]
	return ok
}

func (g grams) addAll(text []byte) {
	for i := range len(text) - minStump + 1 {
		g.add(load(text, i))
	}
}

var shapeGrams = func() grams {
	g := grams{}
	for _, id := range shapeIDs {
		g.addAll([]byte(marker(id)))
	}
	return g
}()

package redact

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// clashes finds out whether a marker holds what a value needs, as ids and values come and
// go. What it does for an id or a value depends on the length of these, not on how many
// others there are. Seeded hashes stand for texts.
type clashes struct {
	seed     maphash.Seed
	required map[uint64]bool             // what markers must not hold, for required values that ever were
	optional map[uint64]map[*secret]bool // the same for optional values that are covered

	ids   map[string]bool
	grams map[uint64]bool                   // of minStump bytes, in the markers of all ids that ever were
	held  [longestMarker + 1]map[uint64]int // in how many places markers hold a text of that length; nil until it is asked
}

const longestMarker = len(markerHead) + MaxID + len(markerTail)

// leastNote is the length of the shortest end of a marker, a byte of its id and the bracket.
const leastNote = 2

// shapeMarkers are those that any registry can write.
var shapeMarkers = func() (all []byte) {
	for _, id := range shapeIDs {
		all = append(all, marker(id)+"\x00"...)
	}
	return all
}()

func newClashes() clashes {
	return clashes{seed: maphash.MakeSeed(), required: map[uint64]bool{}, optional: map[uint64]map[*secret]bool{},
		ids: map[string]bool{}, grams: map[uint64]bool{}}
}

// hash stands for a text that a form of that kind is looked for in.
func (c *clashes) hash(text []byte, k kind) uint64 {
	if k == hexForm {
		return maphash.Bytes(c.seed, text) ^ mix
	}
	return maphash.Bytes(c.seed, text)
}

func gramAt(text []byte, i int) uint64 { return loadUpTo8(text, i) & (1<<(8*minStump) - 1) }

// eachView yields the marker of id as the forms of each kind are looked for in it. Hex is
// found in any case; it is too long for a short id.
func eachView(id string, yield func(text []byte, k kind)) {
	text := []byte(marker(id))
	yield(text, exactForm)
	if len(id) >= 2*MinValue {
		foldHex(text)
		yield(text, hexForm)
	}
}

// setID adds the marker of an id, by 1, or takes it away, by -1.
func (c *clashes) setID(id string, by int) {
	if by > 0 {
		c.ids[id] = true
	} else {
		delete(c.ids, id)
	}
	eachView(id, func(text []byte, k kind) {
		for i := range len(text) - minStump + 1 {
			c.grams[gramAt(text, i)] = true
		}
		for n, counts := range c.held {
			if counts != nil {
				c.count(counts, n, text, k, by)
			}
		}
	})
}

// count adds by to the counts of all texts of n bytes in a marker.
func (c *clashes) count(counts map[uint64]int, n int, text []byte, k kind, by int) {
	for i := range len(text) - n + 1 {
		sum := c.hash(text[i:i+n], k)
		if counts[sum] += by; counts[sum] == 0 {
			delete(counts, sum)
		}
	}
}

// holds reports whether the marker of one of the ids, or of a shape, holds text.
func (c *clashes) holds(text []byte, k kind) bool {
	n := len(text)
	if n > longestMarker || bytes.Contains(shapeMarkers, text) {
		return n <= longestMarker
	}
	for i := range n - minStump + 1 {
		if !c.grams[gramAt(text, i)] {
			return false
		}
	}
	if c.held[n] == nil {
		c.held[n] = map[uint64]int{}
		for id := range c.ids {
			eachView(id, func(text []byte, k kind) { c.count(c.held[n], n, text, k, 1) })
		}
	}
	return c.held[n][c.hash(text, k)] > 0
}

// stump returns what of a form is searched for beside the markers of the ids, see stump.
func (c *clashes) stump(form []byte) []byte {
	return stump(form, func(end []byte) bool { return c.holds(end, exactForm) })
}

// bad reports whether a value cannot be covered: too little of a form is left beside
// markers, or one of them holds that.
func (c *clashes) bad(k *secret) bool {
	for _, f := range k.forms {
		rest := c.stump(f.text)
		if rest == nil || strings.Contains(string(f.text), markerHead) || c.holds(rest, f.kind) {
			return true
		}
	}
	return false
}

// with returns the optional values that cannot be covered once the marker of id is there,
// and whether there is a required one.
func (c *clashes) with(id string) (optional map[*secret]bool, required bool) {
	optional = map[*secret]bool{}
	eachView(id, func(text []byte, k kind) {
		for i := range text {
			for end := i + leastNote; end <= len(text); end++ {
				sum := c.hash(text[i:end], k)
				required = required || c.required[sum]
				for other := range c.optional[sum] {
					optional[other] = true
				}
			}
		}
	})
	return optional, required
}

// eachNote yields what markers must not hold so that the value can be covered.
func (c *clashes) eachNote(k *secret, yield func(sum uint64)) {
	for _, f := range k.forms {
		rest := stump(f.text, func(end []byte) bool {
			yield(c.hash(end, exactForm))
			return false
		})
		if len(rest) <= longestMarker {
			yield(c.hash(rest, f.kind))
		}
	}
}

// note notes what a value needs. For a required one that holds for ever: what was left of
// it in texts of the same run still counts when it was unregistered.
func (c *clashes) note(k *secret) {
	c.eachNote(k, func(sum uint64) {
		if !k.optional {
			c.required[sum] = true
			return
		}
		if c.optional[sum] == nil {
			c.optional[sum] = map[*secret]bool{}
		}
		c.optional[sum][k] = true
	})
}

// forget forgets what an optional value needs.
func (c *clashes) forget(k *secret) {
	c.eachNote(k, func(sum uint64) {
		if delete(c.optional[sum], k); len(c.optional[sum]) == 0 {
			delete(c.optional, sum)
		}
	})
}

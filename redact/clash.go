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
type clashes struct {
	seed  maphash.Seed
	noted map[uint64][]*secret // by stump, or by the end of a marker that would leave too little of a form
	gone  map[uint64]bool      // the same of values that were unregistered
	heads map[uint64]bool      // the first gram of each stump

	ids    map[string]bool
	grams  map[uint64]bool                   // of the markers of all ids that ever were
	ends   map[uint64]int                    // how many markers of ids end so
	within [longestMarker + 1]map[uint64]int // how many hold a text of that length; nil until it is asked
}

const longestMarker = len(markerHead) + MaxID + len(markerTail)

// A sort tells the hashes of one kind of text from those of others.
type sort uint64

const (
	asItIs sort = 0
	folded sort = mix      // hex, which is found in any case, in markers with A-F as a-f
	atEnd  sort = mix >> 1 // an end of a marker
)

func (c *clashes) init() {
	*c = clashes{
		seed: maphash.MakeSeed(), noted: map[uint64][]*secret{}, gone: map[uint64]bool{}, heads: map[uint64]bool{},
		ids: map[string]bool{}, grams: map[uint64]bool{}, ends: map[uint64]int{},
	}
}

func (c *clashes) hash(text []byte, s sort) uint64 { return maphash.Bytes(c.seed, text) ^ uint64(s) }

func gramAt(text []byte, i int) uint64 { return loadUpTo8(text, i) & (1<<(8*minStump) - 1) }

func sortOf(k kind) sort {
	if k == hexForm {
		return folded
	}
	return asItIs
}

// foldHex returns text with A-F as a-f.
func foldHex(text []byte) []byte {
	out := make([]byte, len(text))
	for i, b := range text {
		out[i] = hexFold[b]
	}
	return out
}

// eachText yields the marker of id in both ways in which forms are looked for in it.
func eachText(id string, yield func(text []byte, s sort)) {
	text := []byte(marker(id))
	yield(text, asItIs)
	yield(foldHex(text), folded)
}

// eachEnd yields the ends of the marker of id that have more than the bracket.
func eachEnd(id string, yield func(end []byte)) {
	for i := range len(id) {
		yield([]byte(id[i:] + markerTail))
	}
}

// hasEnd reports whether the marker of a registered id, or of a shape, ends with end.
func (c *clashes) hasEnd(end []byte) bool {
	return shapeEnds[string(end)] || c.ends[c.hash(end, atEnd)] > 0
}

// tryID returns the values that can no longer be covered once the marker of id is there.
// It is not ok if one of them was unregistered.
func (c *clashes) tryID(id string) (clashing map[*secret]bool, ok bool) {
	clashing, ok = map[*secret]bool{}, true
	look := func(sum uint64) {
		for _, k := range c.noted[sum] {
			clashing[k] = true
		}
		ok = ok && !c.gone[sum]
	}
	eachText(id, func(text []byte, s sort) {
		for i := range len(text) - minStump + 1 {
			if !c.heads[gramAt(text, i)] {
				continue
			}
			for end := i + minStump; end <= len(text); end++ {
				look(c.hash(text[i:end], s))
			}
		}
	})
	eachEnd(id, func(end []byte) { look(c.hash(end, atEnd)) })
	return clashing, ok
}

// bad reports whether a value cannot be covered once the marker of id is there: too
// little of a form is left beside markers, or one of them holds that.
func (c *clashes) bad(k *secret, id string) bool {
	for i, kind := range k.forms.kinds {
		f := k.forms.at(i)
		rest := stump(f, func(end []byte) bool { return c.hasEnd(end) || strings.HasSuffix(marker(id), string(end)) })
		if rest == nil || strings.Contains(string(f), markerHead) || c.inMarker(rest, sortOf(kind)) {
			return true
		}
		held := false
		eachText(id, func(text []byte, s sort) {
			held = held || s == sortOf(kind) && len(rest) <= len(text) && strings.Contains(string(text), string(rest))
		})
		if held {
			return true
		}
	}
	return false
}

// inMarker reports whether the marker of one of the ids, or of a shape, holds f.
func (c *clashes) inMarker(f []byte, s sort) bool {
	if len(f) > longestMarker {
		return false
	}
	for i := range len(f) - minStump + 1 {
		if g := gramAt(f, i); !c.grams[g] && !shapeGrams[g] {
			return false
		}
	}
	if c.within[len(f)] == nil {
		c.within[len(f)] = map[uint64]int{}
		for id := range c.ids {
			c.count(id, len(f), 1)
		}
	}
	return c.within[len(f)][c.hash(f, s)] > 0 || slices.ContainsFunc(shapeIDs, func(id string) bool {
		return strings.Contains(marker(id), string(f))
	})
}

// count adds by to the counts of all texts of length n in the marker of id.
func (c *clashes) count(id string, n, by int) {
	eachText(id, func(text []byte, s sort) {
		for i := range len(text) - n + 1 {
			add(c.within[n], c.hash(text[i:i+n], s), by)
		}
	})
}

func add(counts map[uint64]int, key uint64, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// setID adds the marker of an id, by 1, or takes it away, by -1.
func (c *clashes) setID(id string, by int) {
	if by > 0 {
		c.ids[id] = true
		eachText(id, func(text []byte, _ sort) {
			for i := range len(text) - minStump + 1 {
				c.grams[gramAt(text, i)] = true
			}
		})
	} else {
		delete(c.ids, id)
	}
	eachEnd(id, func(end []byte) { add(c.ends, c.hash(end, atEnd), by) })
	for n, counts := range c.within {
		if counts != nil {
			c.count(id, n, by)
		}
	}
}

// note notes what of a value markers must not hold.
func (c *clashes) note(k *secret) {
	note := func(sum uint64) {
		if !slices.Contains(k.notes, sum) {
			c.noted[sum], k.notes = append(c.noted[sum], k), append(k.notes, sum)
		}
	}
	for i, kind := range k.forms.kinds {
		f := k.forms.at(i)
		rest := stump(f, func(end []byte) bool {
			note(c.hash(end, atEnd))
			return false
		})
		k.laps = k.laps || len(rest) < len(f)
		if len(rest) >= minStump && len(rest) <= longestMarker {
			c.heads[gramAt(rest, 0)] = true
			note(c.hash(rest, sortOf(kind)))
		}
	}
}

// forget forgets who a note is of, and the note itself only if the value was optional.
func (c *clashes) forget(k *secret) {
	for _, sum := range k.notes {
		if !k.optional() {
			c.gone[sum] = true
		}
		list := c.noted[sum]
		last := len(list) - 1
		if list[slices.Index(list, k)] = list[last]; last == 0 {
			delete(c.noted, sum)
		} else {
			c.noted[sum] = list[:last]
		}
	}
}

var shapeGrams = func() map[uint64]bool {
	grams := map[uint64]bool{}
	for _, id := range shapeIDs {
		for text, i := []byte(marker(id)), 0; i+minStump <= len(text); i++ {
			grams[gramAt(text, i)] = true
		}
	}
	return grams
}()

// shapeEnds has every end of the markers of shapes.
var shapeEnds = func() map[string]bool {
	ends := map[string]bool{}
	for _, id := range shapeIDs {
		eachEnd(id, func(end []byte) { ends[string(end)] = true })
	}
	return ends
}()

package redact

import (
	"bytes"
	"hash/maphash"
	"maps"
	"strings"
)

// A marker must not hold what a value needs, whichever of the two is registered first. What is done
// here for an id or a value depends on the length of these, not on how many others there are.
// Seeded hashes stand for texts.

const longestMarker = len(markerHead) + MaxID + len(markerTail)

// shapeMarkers are those that any registry can write.
var shapeMarkers = func() (all []byte) {
	for _, id := range shapeIDs {
		all = append(all, marker(id)+"\x00"...)
	}
	return all
}()

// hash stands for a text that a form of that kind is looked for in.
func (s *secretSet) hash(text []byte, k kind) uint64 {
	if k == hexForm {
		return maphash.Bytes(s.seeds[0], text) ^ mix
	}
	return maphash.Bytes(s.seeds[0], text)
}

func gramAt(text []byte, i int) uint64 { return loadUpTo8(text, i) & (1<<(8*minStump) - 1) }

// eachView yields the marker of id as the forms of each kind are looked for in it. Hex is found in
// any case; it is too long for a short id.
func eachView(id string, yield func(text []byte, k kind)) {
	text := []byte(marker(id))
	yield(text, exactForm)
	if len(id) >= 2*MinValue {
		foldHex(text)
		yield(text, hexForm)
	}
}

// addID adds an id, if it is new. bad reports whether a required value cannot be covered once its
// marker is there, or any where an optional value brings the id. Else lost are the optional ones.
func (s *secretSet) addID(id string, optional bool) (lost map[*secret]bool, bad bool) {
	if s.byID[id] != nil {
		return nil, false
	}
	s.byID[id] = map[valueKey]*secret{}
	s.count(id, 1)
	lost = map[*secret]bool{}
	eachView(id, func(text []byte, k kind) {
		for i := range len(text) - minStump + 1 {
			s.grams[gramAt(text, i)] = true
		}
		for i := range text {
			for end := i + 2; end <= len(text); end++ { // a note has a byte of an id and the bracket at least
				sum := s.hash(text[i:end], k)
				if bad = bad || s.required[sum] || optional && s.optional[sum] != nil; !bad {
					maps.Copy(lost, s.optional[sum])
				}
			}
		}
	})
	return lost, bad
}

// dropUnusedID forgets an id that has no value.
func (s *secretSet) dropUnusedID(id string) {
	if len(s.byID[id]) == 0 {
		delete(s.byID, id)
		s.count(id, -1)
	}
}

// count adds by to held for the marker of id, for the lengths that were asked for.
func (s *secretSet) count(id string, by int) {
	for n := range s.held {
		if s.held[n] != nil {
			s.countOf(n, id, by)
		}
	}
}

// countOf adds by to the counts of all texts of n bytes in the marker of id.
func (s *secretSet) countOf(n int, id string, by int) {
	eachView(id, func(text []byte, k kind) {
		for i := range len(text) - n + 1 {
			sum := s.hash(text[i:i+n], k)
			if s.held[n][sum] += by; s.held[n][sum] == 0 {
				delete(s.held[n], sum)
			}
		}
	})
}

// holds reports whether the marker of one of the ids, or of a shape, holds text.
func (s *secretSet) holds(text []byte, k kind) bool {
	n := len(text)
	if n > longestMarker || bytes.Contains(shapeMarkers, text) {
		return n <= longestMarker
	}
	for i := range n - minStump + 1 {
		if !s.grams[gramAt(text, i)] {
			return false
		}
	}
	if s.held[n] == nil {
		s.held[n] = map[uint64]int{}
		for id := range s.byID {
			s.countOf(n, id, 1)
		}
	}
	return s.held[n][s.hash(text, k)] > 0
}

// stump returns what of a form is searched for beside the markers of the ids, see stump.
func (s *secretSet) stump(form []byte) []byte {
	return stump(form, func(end []byte) bool { return s.holds(end, exactForm) })
}

// clashes reports whether a value cannot be covered: too little of a form is left beside markers,
// or one of them holds that.
func (s *secretSet) clashes(k *secret) bool {
	for _, f := range k.forms {
		rest := s.stump(f.text)
		if rest == nil || strings.Contains(string(f.text), markerHead) || s.holds(rest, f.kind) {
			return true
		}
	}
	return false
}

// eachNote yields what markers must not hold so that the value can be covered.
func (s *secretSet) eachNote(k *secret, yield func(sum uint64)) {
	for _, f := range k.forms {
		rest := stump(f.text, func(end []byte) bool {
			yield(s.hash(end, exactForm))
			return false
		})
		if len(rest) <= longestMarker {
			yield(s.hash(rest, f.kind))
		}
	}
}

// note notes what a value needs. For a required one that holds for ever: what was left of it in
// texts of the same run still counts when it was unregistered.
func (s *secretSet) note(k *secret) {
	s.eachNote(k, func(sum uint64) {
		if !k.optional {
			s.required[sum] = true
			return
		}
		if s.optional[sum] == nil {
			s.optional[sum] = map[*secret]bool{}
		}
		s.optional[sum][k] = true
	})
}

// forget forgets what an optional value needs.
func (s *secretSet) forget(k *secret) {
	s.eachNote(k, func(sum uint64) {
		if delete(s.optional[sum], k); len(s.optional[sum]) == 0 {
			delete(s.optional, sum)
		}
	})
}

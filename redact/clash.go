package redact

import (
	"bytes"
	"hash/maphash"
	"maps"
	"sync"
)

// A marker must not hold what a value needs, whichever of the two is registered first. What is done
// here for an id or a value depends on the length of these, and on the logarithm of how many others
// there are. A new id is compared with the needs of all values, which are seeded hashes of what no
// marker may hold. A new value is searched for in the markers of all ids.

const longestMarker = len(markerHead) + MaxID + len(markerTail)

// shapeMarkers has the markers of shapes, which any registry can write.
var shapeMarkers = sync.OnceValue(func() *substrings {
	all := newSubstrings()
	for i := range shapes {
		if i == 0 || shapes[i].id != shapes[i-1].id {
			all.add([]byte(marker(shapePrefix + shapes[i].id)))
		}
	}
	return &all
})

// hash returns a digest of a text that a form of that kind is searched for in, or may be: base64 as it is.
func (s *secretSet) hash(text []byte, k kind) uint64 { return maphash.Bytes(s.seeds[k%2], text) }

// eachView yields the marker of id as the forms of each kind are looked for in it. Hex is found in
// any case, and lies within the id.
func eachView(id string, yield func(text []byte, k kind)) {
	text := []byte(marker(id))
	yield(text, exactForm)
	if holdsRun(text, &hexDigits, 2*MinValue) {
		foldHex(text)
		yield(text, hexForm)
	}
}

// conflicts returns what stands against an id, if it is new. bad reports whether a required value cannot
// be covered once its marker is there, or any where an optional value brings the id. Else lost are
// the optional ones.
func (s *secretSet) conflicts(id string, optional bool) (lost map[*secret]bool, bad bool) {
	if s.byID[id] != nil {
		return nil, false
	}
	lost = map[*secret]bool{}
	eachView(id, func(text []byte, k kind) {
		for i := range text {
			for end := i + 2; end <= len(text); end++ { // a need has a byte of an id and the bracket at least
				owners := s.needs[s.hash(text[i:end], k)]
				if bad = bad || owners[nil] || optional && len(owners) > 0; !bad {
					maps.Copy(lost, owners)
				}
			}
		}
	})
	return lost, bad
}

// addID adds an id, if it is new.
func (s *secretSet) addID(id string) {
	if s.byID[id] == nil {
		s.byID[id] = map[valueKey]*secret{}
		eachView(id, func(text []byte, k kind) { s.markers[k].add(bytes.Clone(text)) })
	}
}

// dropUnusedID forgets an id that has no value.
func (s *secretSet) dropUnusedID(id string) {
	if len(s.byID[id]) == 0 {
		delete(s.byID, id)
		eachView(id, func(text []byte, k kind) { s.markers[k].remove(text) })
	}
}

// holds reports whether the marker of one of the ids, or of a shape, holds text.
func (s *secretSet) holds(text []byte, k kind) bool {
	return len(text) <= longestMarker && (shapeMarkers().holds(text) || s.markers[k%2].holds(text))
}

// core returns what of a form is searched for beside the markers of the ids, see core.
func (s *secretSet) core(form []byte) []byte {
	return core(form, func(end []byte) bool { return s.holds(end, exactForm) })
}

// clashes reports whether a value cannot be covered: too little of a form is left beside markers,
// or one of them holds that.
func (s *secretSet) clashes(k *secret) bool {
	for _, f := range k.forms {
		rest := s.core(f.text)
		if rest == nil || bytes.Contains(f.text, []byte(markerHead)) || s.holds(rest, f.kind) {
			return true
		}
	}
	return false
}

// eachNeed yields what markers must not hold so that the value can be covered.
func (s *secretSet) eachNeed(k *secret, yield func(sum uint64)) {
	for _, f := range k.forms {
		rest := core(f.text, func(end []byte) bool {
			yield(s.hash(end, exactForm))
			return false
		})
		if len(rest) <= longestMarker {
			yield(s.hash(rest, f.kind))
		}
	}
}

// ofRequired stands in needs for all required values, and for the optional ones beside them.
var ofRequired = map[*secret]bool{nil: true}

// addNeeds stores what a value needs. For a required one that holds for ever: what was left of it in
// texts of the same run still counts when it was unregistered.
func (s *secretSet) addNeeds(k *secret) {
	s.eachNeed(k, func(sum uint64) {
		switch {
		case !k.optional:
			s.needs[sum] = ofRequired
		case s.needs[sum] == nil:
			s.needs[sum] = map[*secret]bool{k: true}
		case !s.needs[sum][nil]:
			s.needs[sum][k] = true
		}
	})
}

// dropNeeds forgets what an optional value needs.
func (s *secretSet) dropNeeds(k *secret) {
	s.eachNeed(k, func(sum uint64) {
		if owners := s.needs[sum]; !owners[nil] {
			if delete(owners, k); len(owners) == 0 {
				delete(s.needs, sum)
			}
		}
	})
}

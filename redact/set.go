package redact

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
)

// secretSet is what is registered. Values are kept in byte slices only, since
// strings cannot be wiped.
type secretSet struct {
	encoded bool
	seed    maphash.Seed
	count   int
	byValue map[uint64]*secret // by seeded hash
	byID    map[string][]*secret
	clashes clashes
	scratch forms
}

type secret struct {
	forms forms    // of the value, which comes first
	laps  bool     // a form has a stump other than itself, or may come to have one
	ids   []string // sorted
	first [1]string
	next  *secret // with the same hash
}

func (s *secretSet) init(encoded bool) {
	s.encoded = encoded
	s.seed = maphash.MakeSeed()
	s.byValue = map[uint64]*secret{}
	s.byID = map[string][]*secret{}
	s.clashes.seed = s.seed
}

// add registers value under id and reports whether that changed anything. After
// ErrMarkerText the set is to be wiped.
func (s *secretSet) add(id string, value []byte) (bool, error) {
	sum := maphash.Bytes(s.seed, value)
	known := s.byValue[sum]
	for known != nil && !bytes.Equal(known.forms.at(0), value) {
		known = known.next
	}
	if known != nil && slices.Contains(known.ids, id) {
		return false, nil
	}
	newID, newValue := len(s.byID[id]) == 0, known == nil
	if newID {
		s.byID[id] = nil
		if s.clashes.addID(id) {
			s.noteForms()
		}
	}
	if newValue {
		s.scratch.of(value, s.encoded)
		known = &secret{forms: s.scratch.clone(), next: s.byValue[sum]}
		s.scratch.done()
		known.ids = known.first[:0]
		s.byValue[sum] = known
		s.count++
	}
	known.ids = append(known.ids, id)
	slices.Sort(known.ids)
	s.byID[id] = append(s.byID[id], known)
	if s.clash(id, newID, known, newValue) {
		return false, ErrMarkerText
	}
	return true, nil
}

// noteForms notes the forms of all values again.
func (s *secretSet) noteForms() {
	for k := range s.all {
		for f := range k.forms.all {
			s.clashes.addForm(stump(f, s.ends))
		}
	}
}

// clash reports whether a form of a value occurs in marker text, and notes the
// forms of a new one.
func (s *secretSet) clash(id string, newID bool, k *secret, newValue bool) bool {
	if newValue {
		later := false
		for f := range k.forms.all {
			rest := stump(f, s.ends)
			if rest == nil || strings.Contains(stringOf(f), markerHead) || s.clashes.inMarker(rest, s.byID) {
				return true
			}
			s.clashes.addForm(rest)
			k.laps = k.laps || len(rest) < len(f) || tailLap(rest) > 0
			later = later || tailLap(rest) > 0
		}
		if later {
			s.clashes.later = append(s.clashes.later, k)
		}
	}
	if !newID {
		return false
	}
	// The new marker may end with what begins some value: look at those again.
	for _, k := range s.clashes.later {
		for f := range k.forms.all {
			rest := stump(f, s.ends)
			if rest == nil || s.clashes.inMarker(rest, s.byID) {
				return true
			}
			s.clashes.addForm(rest)
		}
	}
	return s.clashes.holdsForm(id)
}

// ends reports whether the marker of a registered id, or of a shape, ends with end.
func (s *secretSet) ends(end []byte) bool {
	return len(end) == len(markerTail) || s.markerEnds().has(maphash.Bytes(s.seed, end))
}

// markerEnds has the hash of every end of every marker.
func (s *secretSet) markerEnds() *wordSet {
	if s.clashes.ends.n == 0 {
		for id := range s.byID {
			s.clashes.addEnds(id)
		}
		for _, id := range shapeIDs {
			s.clashes.addEnds(id)
		}
	}
	return &s.clashes.ends
}

// remove forgets the values of id and reports whether there were any.
func (s *secretSet) remove(id string) bool {
	list := s.byID[id]
	for _, k := range list {
		k.ids = slices.DeleteFunc(k.ids, func(other string) bool { return other == id })
		if len(k.ids) > 0 {
			continue
		}
		s.unlink(k)
		for f := range k.forms.all { // now, since later they cannot be noted any more
			s.clashes.note(stump(f, s.ends))
		}
		if k.laps {
			s.clashes.later = slices.DeleteFunc(s.clashes.later, func(o *secret) bool { return o == k })
		}
		k.forms.wipe()
		s.count--
	}
	delete(s.byID, id)
	s.clashes.ends = wordSet{}
	return len(list) > 0
}

func (s *secretSet) unlink(k *secret) {
	sum := maphash.Bytes(s.seed, k.forms.at(0))
	if s.byValue[sum] == k {
		if s.byValue[sum] = k.next; k.next == nil {
			delete(s.byValue, sum)
		}
		return
	}
	for o := s.byValue[sum]; o != nil; o = o.next {
		if o.next == k {
			o.next = k.next
		}
	}
}

// all yields the secrets in no particular order.
func (s *secretSet) all(yield func(*secret) bool) {
	for _, k := range s.byValue {
		for ; k != nil; k = k.next {
			if !yield(k) {
				return
			}
		}
	}
}

// wipe forgets everything.
func (s *secretSet) wipe() {
	for k := range s.all {
		k.forms.wipe()
	}
	clear(s.byValue)
	clear(s.byID)
	s.clashes.wipe()
	s.count = 0
}

// compile builds the matcher of what is registered now. The error is
// ErrMarkerText, which add has ruled out: it is looked for again because without
// it the matcher would be built wrongly.
func (s *secretSet) compile() (*matcher, error) {
	ids := slices.Clone(shapeIDs)
	for id := range s.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	size, n := 0, 0
	for k := range s.all {
		size += len(k.forms.arena) + k.forms.len()*(len(markerHead)+len(k.ids[0])+len(markerTail))
		n += k.forms.len()
	}
	m := newMatcher(ids, n, size)
	for i, id := range ids {
		for _, k := range s.byID[id] {
			if k.ids[0] != id {
				continue
			}
			mark := []byte(marker(id))
			for f := range k.forms.all {
				m.add(f, int32(i), mark)
				if !k.laps {
					continue
				}
				rest := stump(f, s.ends)
				if rest == nil {
					clear(m.arena)
					return nil, ErrMarkerText
				}
				if len(rest) < len(f) {
					m.add(rest, int32(i), mark)
				}
			}
		}
	}
	return m.build(), nil
}

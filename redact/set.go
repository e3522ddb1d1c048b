package redact

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// secretSet is what is registered. Values are kept in byte slices only, since
// strings cannot be wiped.
type secretSet struct {
	encoded bool
	seed    maphash.Seed
	byValue map[uint64][]*secret
	byID    map[string][]*secret
	forms   forms
}

type secret struct {
	value []byte
	ids   []string
}

func (s *secretSet) init(encoded bool) {
	s.encoded = encoded
	s.seed = maphash.MakeSeed()
	s.byValue = map[uint64][]*secret{}
	s.byID = map[string][]*secret{}
}

func (s *secretSet) len() int {
	n := 0
	for _, list := range s.byValue {
		n += len(list)
	}
	return n
}

// add registers value under id and reports whether that changed anything. On
// ErrMarkerText nothing was added.
func (s *secretSet) add(id string, value []byte) (bool, error) {
	sum := maphash.Bytes(s.seed, value)
	var known *secret
	for _, k := range s.byValue[sum] {
		if bytes.Equal(k.value, value) {
			known = k
		}
	}
	if known != nil && slices.Contains(known.ids, id) {
		return false, nil
	}
	if err := s.check(id, value); err != nil {
		return false, err
	}
	if known == nil {
		known = &secret{value: bytes.Clone(value)}
		s.byValue[sum] = append(s.byValue[sum], known)
	}
	known.ids = append(known.ids, id)
	slices.Sort(known.ids)
	s.byID[id] = append(s.byID[id], known)
	return true, nil
}

// check reports whether marker text and values would come into each other's way.
func (s *secretSet) check(id string, value []byte) error {
	ids := []string{id}
	for other := range s.byID {
		ids = append(ids, other)
	}
	ids = append(ids, shapeIDs...)
	ends := endsOf(ids)
	values := [][]byte{value}
	if len(s.byID[id]) == 0 {
		for _, list := range s.byValue {
			for _, k := range list {
				values = append(values, k.value)
			}
		}
	}
	defer s.forms.wipe()
	for _, v := range values {
		s.forms.of(v, s.encoded)
		for i := range s.forms.len() {
			f := stump(s.forms.at(i), ends)
			if f == nil || bytes.Contains(s.forms.at(i), []byte(markerHead)) {
				return ErrMarkerText
			}
			for _, id := range ids {
				if bytes.Contains([]byte(marker(id)), f) {
					return ErrMarkerText
				}
			}
		}
	}
	return nil
}

func endsOf(ids []string) func([]byte) bool {
	return func(end []byte) bool {
		for _, id := range ids {
			if bytes.HasSuffix([]byte(marker(id)), end) {
				return true
			}
		}
		return false
	}
}

// remove forgets the values of id and reports whether there were any.
func (s *secretSet) remove(id string) bool {
	list := s.byID[id]
	for _, k := range list {
		k.ids = slices.DeleteFunc(k.ids, func(other string) bool { return other == id })
		if len(k.ids) > 0 {
			continue
		}
		sum := maphash.Bytes(s.seed, k.value)
		s.byValue[sum] = slices.DeleteFunc(s.byValue[sum], func(other *secret) bool { return other == k })
		if len(s.byValue[sum]) == 0 {
			delete(s.byValue, sum)
		}
		clear(k.value)
	}
	delete(s.byID, id)
	return len(list) > 0
}

// wipe forgets everything.
func (s *secretSet) wipe() {
	for _, list := range s.byValue {
		for _, k := range list {
			clear(k.value)
		}
	}
	clear(s.byValue)
	clear(s.byID)
	s.forms.wipe()
}

// compile builds the matcher of what is registered now.
func (s *secretSet) compile() *matcher {
	ids := slices.Clone(shapeIDs)
	for id := range s.byID {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	ends := endsOf(ids)
	m := newMatcher(ids)
	defer s.forms.wipe()
	for _, list := range s.byValue {
		for _, k := range list {
			n, _ := slices.BinarySearch(ids, k.ids[0])
			id := int32(n)
			s.forms.of(k.value, s.encoded)
			for i := range s.forms.len() {
				f := s.forms.at(i)
				m.add(f, id)
				if rest := stump(f, ends); len(rest) < len(f) {
					m.add(rest, id)
				}
			}
		}
	}
	return m.build()
}

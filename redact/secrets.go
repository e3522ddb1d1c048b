package redact

import (
	"hash/maphash"
	"maps"
	"slices"
)

// secretSet is what is registered. Values are kept in byte slices only, since strings cannot be
// wiped.
type secretSet struct {
	encoded bool
	seeds   [2]maphash.Seed
	byID    map[string]map[valueKey]*secret
	refused map[string]bool // ids under which an optional value is not covered

	// For the clashes of values and markers, see clash.go.
	needs   map[uint64]map[*secret]bool // what markers must not hold, for optional values that are covered, or ofRequired
	markers [2]substrings               // of the ids, as they are and with hex folded, see eachView
}

// valueKey identifies a value: two seeded hashes of it.
type valueKey [2]uint64

// secret is a value under one id.
type secret struct {
	id       string
	key      valueKey
	forms    []form // of the value, which comes first
	optional bool
}

func (k *secret) wipe() {
	for _, f := range k.forms {
		clear(f.text)
	}
}

func newSecretSet(encoded bool) secretSet {
	return secretSet{encoded: encoded, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		byID: map[string]map[valueKey]*secret{}, refused: map[string]bool{},
		needs: map[uint64]map[*secret]bool{}, markers: [2]substrings{newSubstrings(), newSubstrings()}}
}

// add registers value under id and reports whether that changed anything. On ErrMarkerText an
// optional value was refused and nothing else happened; after any other the set is to be wiped.
func (s *secretSet) add(id string, value []byte, optional bool) (bool, error) {
	key := valueKey{maphash.Bytes(s.seeds[0], value), maphash.Bytes(s.seeds[1], value)}
	if k := s.byID[id][key]; k != nil {
		if k.optional && !optional {
			s.dropNeeds(k)
			k.optional = false
			s.addNeeds(k)
		}
		return false, nil
	}
	k := &secret{id, key, formsOf(value, s.encoded), optional}
	lost, bad := s.conflicts(id, optional)
	s.addID(id)
	if bad || s.clashes(k) {
		s.dropUnusedID(id)
		if k.wipe(); optional {
			s.refused[id] = true
		}
		return false, ErrMarkerText
	}
	for other := range lost {
		s.refused[other.id] = true
		s.drop(other)
	}
	s.byID[id][key] = k
	s.addNeeds(k)
	return true, nil
}

// remove forgets the values of id.
func (s *secretSet) remove(id string) {
	delete(s.refused, id)
	for _, k := range s.byID[id] {
		s.drop(k)
	}
}

// drop forgets a value, and its id with the last one.
func (s *secretSet) drop(k *secret) {
	delete(s.byID[k.id], k.key)
	s.dropUnusedID(k.id)
	s.dropNeeds(k)
	k.wipe()
}

// wipe forgets everything.
func (s *secretSet) wipe() {
	for _, values := range s.byID {
		for _, k := range values {
			k.wipe()
		}
	}
	*s = newSecretSet(s.encoded)
}

// compile builds the matcher of what is registered now. It uses the forms where they are, so it
// is gone before any of them is wiped.
func (s *secretSet) compile() *matcher {
	m := new(matcher)
	var targets [len(m.indexes)][]target
	for i, id := range slices.Sorted(maps.Keys(s.byID)) {
		m.markers = append(m.markers, marker(id))
		for _, k := range s.byID[id] {
			for _, f := range k.forms {
				targets[f.kind] = append(targets[f.kind], target{f.text, int32(i)})
				if rest := s.core(f.text); len(rest) < len(f.text) {
					targets[exactForm] = append(targets[exactForm], target{rest, int32(i)})
				}
			}
		}
	}
	for kind := range targets {
		m.indexes[kind] = newIndex(targets[kind])
	}
	return m
}

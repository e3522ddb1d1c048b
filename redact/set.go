package redact

import (
	"hash/maphash"
	"maps"
	"slices"
)

// secretSet is what is registered. Values are kept in byte slices only, since
// strings cannot be wiped.
type secretSet struct {
	encoded bool
	seeds   [2]maphash.Seed
	byValue map[valueKey]*secret
	byID    map[string][]*secret
	refused map[string]bool // ids under which an optional value is not covered
	clashes clashes
	scratch forms
}

// valueKey stands for a value: two seeded hashes of it.
type valueKey [2]uint64

// secret is one value.
type secret struct {
	forms    forms // of the value, which comes first
	key      valueKey
	laps     bool            // a form has a stump other than itself
	notes    []uint64        // of its stumps, in clashes
	ids      map[string]bool // true where the value is optional
	required int             // of the ids, at how many it is not; of a value that is gone, at how many it was not
}

func (k *secret) optional() bool { return k.required == 0 }

func (s *secretSet) init(encoded bool) {
	s.encoded = encoded
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	s.byValue = map[valueKey]*secret{}
	s.byID = map[string][]*secret{}
	s.refused = map[string]bool{}
	s.clashes.init()
}

// add registers value under id and reports whether that changed anything. On
// ErrMarkerText an optional value was refused and nothing else happened; after any other
// the set is to be wiped.
func (s *secretSet) add(id string, value []byte, optional bool) (bool, error) {
	key := valueKey{maphash.Bytes(s.seeds[0], value), maphash.Bytes(s.seeds[1], value)}
	k := s.byValue[key]
	if k != nil {
		if was, ok := k.ids[id]; ok {
			if was && !optional {
				k.ids[id] = false
				k.required++
			}
			return false, nil
		}
	}
	newID, newValue := len(s.byID[id]) == 0, k == nil
	if newValue {
		s.scratch.of(value, s.encoded)
		k = &secret{forms: s.scratch.clone(), key: key, ids: map[string]bool{}}
		s.scratch.done()
	}
	ok := true
	var clashing map[*secret]bool
	if newID {
		clashing, ok = s.clashes.tryID(id)
	}
	bad := !ok || newValue && s.clashes.bad(k, id)
	for other := range clashing {
		bad = bad || optional || !other.optional()
	}
	if bad {
		if newValue {
			k.forms.wipe()
		}
		if optional {
			s.refused[id] = true
		}
		return false, ErrMarkerText
	}
	for other := range clashing {
		s.refuse(other)
	}
	if k.ids[id] = optional; !optional {
		k.required++
	}
	s.byID[id] = append(s.byID[id], k)
	s.byValue[key] = k
	if newID {
		s.clashes.setID(id, 1)
	}
	if newValue {
		s.clashes.note(k)
	}
	return true, nil
}

// refuse forgets an optional value that occurs in the marker of an id that came later.
func (s *secretSet) refuse(k *secret) {
	for id := range k.ids {
		s.refused[id] = true
		s.byID[id] = slices.DeleteFunc(s.byID[id], func(o *secret) bool { return o == k })
		if len(s.byID[id]) == 0 {
			s.dropID(id)
		}
	}
	s.forget(k)
}

// remove forgets the values of id and reports whether there were any.
func (s *secretSet) remove(id string) bool {
	delete(s.refused, id)
	list := s.byID[id]
	for _, k := range list {
		optional := k.ids[id]
		if delete(k.ids, id); len(k.ids) == 0 {
			s.forget(k)
		} else if !optional {
			k.required--
		}
	}
	if len(list) > 0 {
		s.dropID(id)
	}
	return len(list) > 0
}

func (s *secretSet) dropID(id string) {
	delete(s.byID, id)
	s.clashes.setID(id, -1)
}

func (s *secretSet) forget(k *secret) {
	delete(s.byValue, k.key)
	s.clashes.forget(k)
	k.forms.wipe()
}

// wipe forgets everything.
func (s *secretSet) wipe() {
	for _, k := range s.byValue {
		k.forms.wipe()
	}
	clear(s.byValue)
	clear(s.byID)
	clear(s.refused)
	s.clashes.init()
}

// compile builds the matcher of what is registered now.
func (s *secretSet) compile() *matcher {
	ids := slices.AppendSeq(slices.Clone(shapeIDs), maps.Keys(s.byID))
	slices.Sort(ids)
	ids = slices.Compact(ids)
	size, n := 0, 0
	for _, k := range s.byValue {
		size += len(k.forms.arena)
		n += k.forms.len()
	}
	arena := make([]byte, 0, size)
	exact := make([]form, 0, n)
	var hex, base64 []form
	for i, id := range ids {
		for _, k := range s.byID[id] {
			if !k.isFirst(id) {
				continue
			}
			for j, kind := range k.forms.kinds {
				text := k.forms.at(j)
				f := form{from: len(arena), len: len(text), id: int32(i)}
				arena = append(grow(arena, len(text)), text...)
				switch kind {
				case hexForm:
					hex = append(hex, f)
				case base64Form:
					base64 = append(base64, f)
					exact = append(exact, f)
				default:
					exact = append(exact, f)
				}
				if k.laps {
					if rest := stump(text, s.clashes.hasEnd); len(rest) < len(text) {
						f.from, f.len = len(arena), len(rest)
						arena = append(grow(arena, len(rest)), rest...)
						exact = append(exact, f)
					}
				}
			}
		}
	}
	return newMatcher(ids, arena, exact, hex, base64)
}

// isFirst reports whether id is the first of the value's ids in byte order, by which
// the marker names it.
func (k *secret) isFirst(id string) bool {
	for other := range k.ids {
		if other < id {
			return false
		}
	}
	return true
}

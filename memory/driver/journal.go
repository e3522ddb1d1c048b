package driver

import (
	"encoding/binary"
	"maps"
	"slices"
)

// What the journal of a version says of an id. inRef begins a ref, whose ids follow.
const (
	inRef byte = iota
	wasPut
	wasRetired
	wasRestored
	wasErased
)

// Journal writes down which entries the plan touches, for [ChangeSet.Read]. A store that offers
// [Changes] keeps it with the version that the mutation makes. It is nil if there are none.
func (p *Plan) Journal() (data []byte) {
	var ref string
	add := func(what byte, s Scope, id string) {
		if data == nil {
			data = make([]byte, 0, 64) // enough for most
		}
		if len(data) == 0 || s.Ref != ref {
			ref = s.Ref
			data = appendName(append(data, inRef), ref)
		}
		data = appendName(append(data, what), id)
	}
	for i := range p.Insert {
		add(wasPut, p.Insert[i].Scope, p.Insert[i].Entry.ID)
	}
	for i := range p.Retire {
		add(wasRetired, p.Retire[i].Scope, p.Retire[i].ID)
	}
	for _, l := range p.Restore {
		add(wasRestored, l.Scope, l.ID)
	}
	for _, l := range p.Erase {
		add(wasErased, l.Scope, l.ID)
	}
	return data
}

func appendName(data []byte, s string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(s))), s...)
}

// Read sets c to what the journals of versions say of a ref. What no [Plan.Journal] wrote is
// [ErrInternal].
func (c *ChangeSet) Read(journals [][]byte, ref string) error {
	touched := [wasErased + 1]map[string]bool{{}, {}, {}, {}, {}}
	for _, data := range journals {
		inside := false
		for len(data) > 0 {
			what := data[0]
			n, size := binary.Uvarint(data[1:])
			if what > wasErased || size <= 0 || n > uint64(len(data)-1-size) {
				return ErrInternal.With("the journal of a version is damaged", nil)
			}
			name := string(data[1+size:][:n])
			data = data[1+size+int(n):]
			if what == inRef {
				inside = name == ref
			} else if inside {
				touched[what][name] = true
			}
		}
	}
	ids := func(what byte) []string { return slices.Sorted(maps.Keys(touched[what])) }
	*c = ChangeSet{Put: ids(wasPut), Retired: ids(wasRetired), Restored: ids(wasRestored), Erased: ids(wasErased)}
	return nil
}

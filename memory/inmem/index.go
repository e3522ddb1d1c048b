package inmem

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// partSize bounds the records of a part of an index.
const partSize = 896

// index finds the records of a scope by id. Each of its parts has a range of ids. Ids that
// a bank issues ascend, so that a new one goes into the last part, which is small and at
// hand, and not to a random place of a large map.
type index struct{ parts []part }

// part has the records of the ids from first on, up to where the next part begins. The
// first part has those of lower ids too. No part is empty.
type part struct {
	first string
	recs  map[string]*record
}

// at returns the number of the part in which an id is or belongs.
func (x *index) at(id string) int {
	n, exact := slices.BinarySearchFunc(x.parts, id, func(p part, id string) int { return strings.Compare(p.first, id) })
	if !exact && n > 0 {
		n--
	}
	return n
}

// find returns nil if there is no record of that id.
func (x *index) find(id string) *record {
	if len(x.parts) == 0 {
		return nil
	}
	return x.parts[x.at(id)].recs[id]
}

// add takes in the record of an id that has none.
func (x *index) add(id string, r *record) {
	if len(x.parts) == 0 {
		x.parts = []part{{recs: map[string]*record{}}}
	}
	n := x.at(id)
	if len(x.parts[n].recs) == partSize {
		x.split(n, id)
		n = x.at(id)
	}
	x.parts[n].recs[id] = r
}

// split makes room for an id in a part that is full: behind it if the id is above all
// others there, and otherwise by halves.
func (x *index) split(n int, id string) {
	recs, first := x.parts[n].recs, id
	for other := range recs {
		if other > id {
			first = slices.Sorted(maps.Keys(recs))[partSize/2]
			break
		}
	}
	upper := make(map[string]*record, partSize)
	for other, r := range recs {
		if other >= first {
			upper[other] = r
			delete(recs, other)
		}
	}
	x.parts = slices.Insert(x.parts, n+1, part{strings.Clone(first), upper})
}

func (x *index) remove(id string) {
	n := x.at(id)
	delete(x.parts[n].recs, id)
	if len(x.parts[n].recs) == 0 {
		x.parts = slices.Delete(x.parts, n, n+1)
	}
}

// some returns up to limit records.
func (x *index) some(limit int) []*record {
	var found []*record
	for r := range x.all() {
		if len(found) == limit {
			break
		}
		found = append(found, r)
	}
	return found
}

// all yields every record, in no order. Nothing may change meanwhile.
func (x *index) all() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, p := range x.parts {
			for _, r := range p.recs {
				if !yield(r) {
					return
				}
			}
		}
	}
}

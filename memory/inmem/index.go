package inmem

import "strings"

// index finds the records of a scope by id. In a large one nearly all the time goes
// into memory that is in no cache, and insertions would pay for it most, if ids did
// not ascend, as those of a bank do: an id above all others is known to be new
// without a look, and the newest records are in a table of their own, which is small,
// until they are filed together.
type index struct {
	newest string // no record has a greater id
	since  string // no recent record has a smaller id
	recent hashTable
	filed  hashTable
}

// maxRecent bounds the recent records, and so how long filing them takes.
const maxRecent = 1 << 16

func (x *index) size() int { return x.recent.size + x.filed.size }

// find returns nil if there is no record of that id.
func (x *index) find(id string) *record {
	if id > x.newest {
		return nil
	}
	hash := hashOf(id)
	if id >= x.since {
		if r := x.recent.find(hash, id); r != nil {
			return r
		}
	}
	return x.filed.find(hash, id)
}

// add adds a record of a new id.
func (x *index) add(r *record) {
	x.newest = max(x.newest, r.entry.ID)
	if x.recent.size == 0 || r.entry.ID < x.since {
		x.since = r.entry.ID
	}
	x.recent.put(hashOf(r.entry.ID), r)
	if x.recent.size > min(maxRecent, tableSize/2+x.filed.size/8) {
		for s := range x.recent.all() { // in the order of filed's tables
			x.filed.put(s.hash, s.rec)
		}
		x.recent.clear()
	}
}

// own makes sure that x holds no other string equal to id, which might be part of a
// text that is to be forgotten.
func (x *index) own(id string) {
	if id == x.newest {
		x.newest = id
	}
	if id == x.since {
		x.since = id
	}
}

// replace puts a record in the place of the one of the same id.
func (x *index) replace(r *record) {
	id := r.entry.ID
	x.own(id)
	hash := hashOf(id)
	if x.recent.find(hash, id) != nil {
		x.recent.put(hash, r)
	} else {
		x.filed.put(hash, r)
	}
}

// remove takes out the record of an id that is there.
func (x *index) remove(id string) {
	x.own(strings.Clone(id))
	hash := hashOf(id)
	if x.recent.find(hash, id) != nil {
		x.recent.remove(hash, id)
	} else {
		x.filed.remove(hash, id)
	}
}

// all returns every record.
func (x *index) all() []*record {
	recs := make([]*record, 0, x.size())
	for _, t := range []*hashTable{&x.recent, &x.filed} {
		for s := range t.all() {
			recs = append(recs, s.rec)
		}
	}
	return recs
}

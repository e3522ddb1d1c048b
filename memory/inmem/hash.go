package inmem

import (
	"hash/maphash"
	"iter"
)

// tableSize bounds a table, so that no insertion has to move more than this.
const tableSize = 1024

var hashSeed = maphash.MakeSeed()

func hashOf(id string) uint64 { return maphash.String(hashSeed, id) }

// hashTable is an extendible hash table of records by id: the high bits of a hash
// select a table, and a full table splits in two.
type hashTable struct {
	size   int
	depth  uint8    // of the hash's bits select a table
	tables []*table // 1<<depth, a shallower table several times in a row
}

// table is open-addressed with linear probing by the low bits of the hash.
type table struct {
	depth uint8
	size  int
	slots []slot // a power of two of them, never all taken
}

type slot struct {
	hash uint64
	rec  *record
}

func (x *hashTable) table(hash uint64) *table { return x.tables[hash>>(64-x.depth)] }

// find returns nil if there is no record of that id.
func (x *hashTable) find(hash uint64, id string) *record {
	if x.size == 0 {
		return nil
	}
	t := x.table(hash)
	return t.slots[t.probe(hash, id)].rec
}

// probe returns the slot of the id, or the empty one where it would go.
func (t *table) probe(hash uint64, id string) int {
	mask := len(t.slots) - 1
	i := int(hash) & mask
	for {
		s := &t.slots[i]
		if s.rec == nil || s.hash == hash && s.rec.entry.ID == id {
			return i
		}
		i = (i + 1) & mask
	}
}

// put adds a record, or replaces the one of the same id.
func (x *hashTable) put(hash uint64, r *record) {
	if x.tables == nil {
		x.tables = []*table{{slots: make([]slot, 8)}}
	}
	t := x.table(hash)
	for t.size >= len(t.slots)*3/4 { // longer runs would cost more than the space
		x.grow(t, hash)
		t = x.table(hash)
	}
	i := t.probe(hash, r.entry.ID)
	if t.slots[i].rec == nil {
		t.size++
		x.size++
	}
	t.slots[i] = slot{hash, r}
}

// grow doubles a small table and splits a large one.
func (x *hashTable) grow(t *table, hash uint64) {
	if len(t.slots) < tableSize {
		slots := t.slots
		t.slots = make([]slot, 2*len(slots))
		for _, s := range slots {
			t.take(s)
		}
		return
	}
	if t.depth == x.depth {
		tables := make([]*table, 0, 2*len(x.tables))
		for _, t := range x.tables {
			tables = append(tables, t, t)
		}
		x.tables, x.depth = tables, x.depth+1
	}
	var halves [2]*table
	for i := range halves {
		halves[i] = &table{depth: t.depth + 1, slots: make([]slot, tableSize)}
	}
	for _, s := range t.slots {
		half := halves[s.hash>>(63-t.depth)&1]
		half.take(s)
		if s.rec != nil {
			half.size++
		}
	}
	span := 1 << (x.depth - t.depth) // of its places in x.tables
	first := int(hash>>(64-t.depth)) * span
	for i := range span {
		x.tables[first+i] = halves[i*2/span]
	}
}

// take puts the content of a slot, if there is any, where no record of that id is.
func (t *table) take(s slot) {
	if s.rec == nil {
		return
	}
	mask := len(t.slots) - 1
	i := int(s.hash) & mask
	for t.slots[i].rec != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove takes out the record of an id that is there, and closes the gap that a
// probe would stop at.
func (x *hashTable) remove(hash uint64, id string) {
	t := x.table(hash)
	mask := len(t.slots) - 1
	gap := t.probe(hash, id)
	for i := (gap + 1) & mask; t.slots[i].rec != nil; i = (i + 1) & mask {
		if home := int(t.slots[i].hash) & mask; (i-home)&mask >= (i-gap)&mask {
			t.slots[gap] = t.slots[i]
			gap = i
		}
	}
	t.slots[gap] = slot{}
	t.size--
	x.size--
}

// clear removes everything and keeps the room.
func (x *hashTable) clear() {
	x.size = 0
	for _, t := range x.tables {
		t.size = 0
		clear(t.slots)
	}
}

// all yields every slot that is taken, in the order of the high bits of the hashes.
func (x *hashTable) all() iter.Seq[slot] {
	return func(yield func(slot) bool) {
		for i, t := range x.tables {
			if i > 0 && t == x.tables[i-1] {
				continue
			}
			for _, s := range t.slots {
				if s.rec != nil && !yield(s) {
					return
				}
			}
		}
	}
}

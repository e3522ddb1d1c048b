package timer

import "math/bits"

const (
	digit  = 8               // bits that one level of the wheel tells apart
	slots  = 1 << digit      // slots of a level
	levels = 64 / digit      // enough for every key
	few    = 64              // a slot of at most so many goes to the heap as it is
	none   = int32(-1)       // no item, or no slot
	bias   = uint64(1) << 63 // makes signed keys ascend as unsigned ones
)

// Index holds items of type T under the instants at which they are due. The unit of
// the instants is the caller's. The zero value is empty and ready for use. It is not
// safe for concurrent use.
type Index[T any] struct {
	items []item[T]
	dead  []uint64 // a bit for each item that was removed and still takes room
	free  []int32  // items that are not in use
	used  int

	near     heap // everything before bound
	nearDead int  // of those in near, the ones that were removed

	// The wheel holds everything from bound on. All keys of a level agree with cur
	// above the level's digit, and lie in later slots than cur does.
	cur    uint64
	bound  uint64
	filled uint8                      // levels with a slot that is not empty
	taken  [levels][slots / 64]uint64 // slots that are not empty
	slot   [levels * slots]list
	chunks chunks
}

// Handle names an item in the index. It is valid until the item is removed.
type Handle int32

// item is what was put in, with where it is: a slot, or none for the heap. A removal
// touches this, the bit in dead and no more: one cache line that is likely cold.
type item[T any] struct {
	of   T
	slot int32
}

// spot is an item's key, with the item.
type spot struct {
	key  uint64
	item int32
}

// Len returns the number of items.
func (x *Index[T]) Len() int { return x.used }

// Add puts an item in, due at the instant at.
func (x *Index[T]) Add(at int64, of T) Handle {
	i := x.take(of)
	x.place(spot{uint64(at) ^ bias, i})
	return Handle(i)
}

// Remove takes an item out. Its room is won back with that of others, at a cost that
// is constant for each, as soon as they are more than half of what stands beside it.
func (x *Index[T]) Remove(h Handle) {
	i := int32(h)
	at := x.items[i].slot
	var zero T
	x.items[i].of = zero
	x.dead[i/64] |= 1 << uint(i%64)
	x.used--
	if at == none {
		if x.nearDead++; 2*x.nearDead > len(x.near) {
			x.sweepNear()
		}
		return
	}
	l := &x.slot[at]
	if l.dead++; 2*l.dead > l.count {
		x.sweep(at)
	}
}

// sweep wins back the room of what was removed from a slot.
func (x *Index[T]) sweep(at int32) {
	l := x.slot[at]
	var left list
	for l.count > 0 {
		s := x.chunks.last(&l)
		x.chunks.drop(&l)
		if !x.buried(s.item) {
			x.chunks.add(&left, s)
		}
	}
	if x.slot[at] = left; left.count == 0 {
		x.clear(int(at)/slots, int(at)%slots)
	}
}

func (x *Index[T]) sweepNear() {
	all := x.near
	x.near, x.nearDead = x.near[:0], 0
	for _, s := range all {
		if !x.buried(s.item) {
			x.near.push(s)
		}
	}
}

// buried reports whether an item was removed, and if so makes it free for another.
func (x *Index[T]) buried(i int32) bool {
	bit := uint64(1) << uint(i%64)
	if x.dead[i/64]&bit == 0 {
		return false
	}
	x.dead[i/64] &^= bit
	x.free = append(x.free, i)
	return true
}

// Pop takes out the earliest item that is due at now, and tells when it was due.
func (x *Index[T]) Pop(now int64) (of T, at int64, ok bool) {
	if x.first(uint64(now)^bias) == none {
		return of, 0, false
	}
	top := x.near.pop()
	of = x.items[top.item].of
	var zero T
	x.items[top.item].of = zero
	x.free = append(x.free, top.item)
	x.used--
	return of, int64(top.key ^ bias), true
}

// Peek appends to out the earliest items that are due at now, in order and at most
// limit of them, and leaves them in.
func (x *Index[T]) Peek(now int64, limit int, out []T) []T {
	key := uint64(now) ^ bias
	if x.first(key) == none {
		return out
	}
	var popped []spot
	for len(popped) < limit && x.first(key) != none {
		top := x.near.pop()
		popped = append(popped, top)
		out = append(out, x.items[top.item].of)
	}
	for _, s := range popped {
		x.place(s)
	}
	return out
}

// first returns the earliest item that is due at now, at the top of the heap.
func (x *Index[T]) first(now uint64) int32 {
	for {
		if len(x.near) > 0 {
			top := x.near[0]
			if top.key > now {
				return none
			}
			if !x.buried(top.item) {
				return top.item
			}
			x.near.pop()
			x.nearDead--
			continue
		}
		if x.filled == 0 {
			return none
		}
		level := bits.TrailingZeros8(x.filled)
		s := x.earliest(level)
		shift := uint(level * digit)
		start := x.cur>>(shift+digit)<<(shift+digit) | uint64(s)<<shift
		if start > now {
			return none
		}
		x.open(level, s, start)
	}
}

// open empties the earliest slot of the wheel: into the heap if that keeps the heap
// small, and otherwise into the levels below.
func (x *Index[T]) open(level, s int, start uint64) {
	at := level*slots + s
	l := x.slot[at]
	x.slot[at] = list{}
	x.clear(level, s)
	x.cur, x.bound = start, start
	sorted := level == 0 || l.count-l.dead <= few
	if sorted {
		x.bound = start + 1<<uint(level*digit)
		if x.bound < start { // the end of time
			x.bound = ^uint64(0)
		}
	}
	for l.count > 0 {
		s := x.chunks.last(&l)
		x.chunks.drop(&l)
		switch {
		case x.buried(s.item):
		case sorted:
			x.toNear(s)
		default:
			x.place(s)
		}
	}
}

// place puts an item where its key belongs.
func (x *Index[T]) place(s spot) {
	if s.key < x.bound {
		x.toNear(s)
		return
	}
	level := 0
	if diff := s.key ^ x.cur; diff != 0 {
		level = (bits.Len64(diff) - 1) / digit
	}
	d := int(s.key>>uint(level*digit)) & (slots - 1)
	at := level*slots + d
	l := &x.slot[at]
	if l.count == 0 {
		x.taken[level][d/64] |= 1 << uint(d%64)
		x.filled |= 1 << uint(level)
	}
	x.items[s.item].slot = int32(at)
	x.chunks.add(l, s)
}

func (x *Index[T]) toNear(s spot) {
	x.items[s.item].slot = none
	x.near.push(s)
}

func (x *Index[T]) clear(level, s int) {
	x.taken[level][s/64] &^= 1 << uint(s%64)
	if x.taken[level] == [slots / 64]uint64{} {
		x.filled &^= 1 << uint(level)
	}
}

// earliest returns the first slot of a level that is not empty.
func (x *Index[T]) earliest(level int) int {
	for i, word := range x.taken[level] {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	return slots // does not happen
}

// take finds room for an item.
func (x *Index[T]) take(of T) int32 {
	x.used++
	if last := len(x.free) - 1; last >= 0 {
		i := x.free[last]
		x.free = x.free[:last]
		x.items[i].of = of
		return i
	}
	x.items = append(x.items, item[T]{of: of})
	if len(x.items) > 64*len(x.dead) {
		x.dead = append(x.dead, 0)
	}
	return int32(len(x.items) - 1)
}

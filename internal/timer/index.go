package timer

import "math/bits"

const (
	digit  = 8               // bits that one level of the wheel tells apart
	slots  = 1 << digit      // slots of a level
	levels = 64 / digit      // enough for every key
	few    = 64              // a slot of at most so many goes to the heap as it is
	none   = int32(-1)       // no item
	bias   = uint64(1) << 63 // makes signed keys ascend as unsigned ones
)

// Index holds items of type T under the instants at which they are due. The unit of
// the instants is the caller's. The zero value is empty and ready for use. It is not
// safe for concurrent use.
type Index[T any] struct {
	room[T]

	near     heap   // everything up to and with through
	nearDead int    // of those in near, the ones that were removed
	through  uint64 // at least cur, or just before it

	// The wheel holds everything after through. All keys of a level agree with cur
	// above the level's digit, and lie in later slots than cur does: where a key is
	// can be told from the key.
	cur    uint64
	filled uint8                      // levels with a slot that is not empty
	taken  [levels][slots / 64]uint64 // slots that are not empty
	slot   [levels * slots]list
	chunks chunks
}

// Handle names an item in the index. It is valid until the item is removed.
type Handle int32

// spot is an item's key, with the item.
type spot struct {
	key  uint64
	item int32
}

// Len returns the number of items.
func (x *Index[T]) Len() int { return x.used }

// Add puts an item in, due at the instant at.
func (x *Index[T]) Add(at int64, of T) Handle {
	i := x.take()
	x.items[i] = of
	x.place(spot{uint64(at) ^ bias, i})
	return Handle(i)
}

// Remove takes an item out that was added for the instant at. Its room is won back
// with that of others, at a cost that is constant for each, as soon as they are more
// than half of what stands beside it. It touches nothing that is as large as the
// number of items: that would be in no cache.
func (x *Index[T]) Remove(h Handle, at int64) {
	x.bury(int32(h))
	key := uint64(at) ^ bias
	if key <= x.through {
		if x.nearDead++; 2*x.nearDead > len(x.near) {
			x.sweepNear()
		}
		return
	}
	level, d := x.home(key)
	l := &x.slot[level*slots+d]
	if l.dead++; 2*l.dead > l.count {
		x.sweep(level, d)
	}
}

// sweep wins back the room of what was removed from a slot.
func (x *Index[T]) sweep(level, d int) {
	l := x.slot[level*slots+d]
	var left list
	for l.count > 0 {
		s := x.chunks.last(&l)
		x.chunks.drop(&l)
		if !x.buried(s.item) {
			x.chunks.add(&left, s)
		}
	}
	if x.slot[level*slots+d] = left; left.count == 0 {
		x.clear(level, d)
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

// Pop takes out the earliest item that is due at now, and tells when it was due.
func (x *Index[T]) Pop(now int64) (of T, at int64, ok bool) {
	if x.first(uint64(now)^bias) == none {
		return of, 0, false
	}
	top := x.near.pop()
	of = x.items[top.item]
	x.release(top.item)
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
		out = append(out, x.items[top.item])
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
	x.cur, x.through = start, start-1
	if level == 0 || l.count-l.dead <= few {
		x.through += 1 << uint(level*digit)
	}
	for l.count > 0 {
		s := x.chunks.last(&l)
		x.chunks.drop(&l)
		if l.dead == 0 || !x.buried(s.item) {
			x.place(s)
		}
	}
}

// place puts an item where its key belongs.
func (x *Index[T]) place(s spot) {
	if s.key <= x.through {
		x.near.push(s)
		return
	}
	level, d := x.home(s.key)
	l := &x.slot[level*slots+d]
	if l.count == 0 {
		x.taken[level][d/64] |= 1 << uint(d%64)
		x.filled |= 1 << uint(level)
	}
	x.chunks.add(l, s)
}

// home returns the place in the wheel of a key after through. That of cur itself is
// in the lowest level.
func (x *Index[T]) home(key uint64) (level, d int) {
	level = (bits.Len64(key^x.cur) - 1) / digit
	return level, int(key>>uint(level*digit)) & (slots - 1)
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

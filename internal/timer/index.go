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
	of    []T
	at    []int32 // by item: its place in chunks, or its place in the heap below none
	spare int32   // first of the items that are not in use, chained by at
	used  int

	near heap // everything before bound

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

// Remove takes an item out.
func (x *Index[T]) Remove(h Handle) {
	i := int32(h)
	if at := x.at[i]; at < 0 {
		remove(x, int(^at))
	} else {
		own := x.chunks.owner[at/chunkSize]
		l := &x.slot[own]
		last := x.chunks.last(l)
		x.chunks.spots[at] = last
		x.at[last.item] = at
		if x.chunks.drop(l); l.count == 0 {
			x.clear(int(own)/slots, int(own)%slots)
		}
	}
	x.release(i)
}

// Pop takes out the earliest item that is due at now, and tells when it was due.
func (x *Index[T]) Pop(now int64) (of T, at int64, ok bool) {
	if x.first(uint64(now)^bias) == none {
		return of, 0, false
	}
	top := x.near[0]
	of = x.of[top.item]
	remove(x, 0)
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
		top := x.near[0]
		popped = append(popped, top)
		out = append(out, x.of[top.item])
		remove(x, 0)
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
			if top := x.near[0]; top.key <= now {
				return top.item
			}
			return none
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
	sorted := level == 0 || l.count <= few
	if sorted {
		x.bound = start + 1<<uint(level*digit)
		if x.bound < start { // the end of time
			x.bound = ^uint64(0)
		}
	}
	for l.count > 0 {
		s := x.chunks.last(&l)
		x.chunks.drop(&l)
		if sorted {
			push(x, s)
		} else {
			x.place(s)
		}
	}
}

// place puts an item where its key belongs.
func (x *Index[T]) place(s spot) {
	if s.key < x.bound {
		push(x, s)
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
	x.at[s.item] = x.chunks.add(l, s, int32(at))
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
	if x.used <= len(x.of) {
		i := x.spare
		x.spare = x.at[i]
		x.of[i] = of
		return i
	}
	x.of = append(x.of, of)
	x.at = append(x.at, 0)
	return int32(len(x.of) - 1)
}

func (x *Index[T]) release(i int32) {
	var zero T
	x.of[i] = zero
	x.at[i] = x.spare
	x.spare = i
	x.used--
}

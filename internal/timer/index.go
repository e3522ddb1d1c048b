package timer

import "math/bits"

const (
	digit  = 6               // bits that one level of the wheel tells apart
	slots  = 1 << digit      // slots of a level
	levels = 64/digit + 1    // enough for every key
	few    = 48              // a slot of at most so many goes to the heap as it is
	none   = int32(-1)       // no node
	inHeap = int32(-2)       // a node's slot, if it is in the heap
	free   = int32(-3)       // a node's slot, if it is not in use
	bias   = uint64(1) << 63 // makes signed keys ascend as unsigned ones
)

// Index holds items of type T under the instants at which they are due. The unit of
// the instants is the caller's. The zero value is empty and ready for use. It is not
// safe for concurrent use.
type Index[T any] struct {
	nodes []node
	items []T
	spare int32 // first of the nodes that are not in use, chained by next; 0 and used tell them apart
	used  int

	near heap // everything before bound

	// The wheel holds everything from bound on. All keys of a level agree with cur
	// above the level's digit and lie in later slots than cur does.
	cur    uint64
	bound  uint64
	filled uint16         // levels with a slot that is not empty
	taken  [levels]uint64 // slots that are not empty
	slot   [levels * slots]list
}

// Handle names an item in the index. It is valid until the item is removed.
type Handle int32

type node struct {
	key        uint64
	next, prev int32 // in the slot's list; in the heap, prev is the position
	slot       int32
}

type list struct{ head, count int32 }

// Len returns the number of items.
func (x *Index[T]) Len() int { return x.used }

// Add puts an item in, due at the instant at.
func (x *Index[T]) Add(at int64, item T) Handle {
	i := x.take(item)
	x.nodes[i].key = uint64(at) ^ bias
	x.place(i)
	return Handle(i)
}

// Remove takes an item out.
func (x *Index[T]) Remove(h Handle) {
	i := int32(h)
	if n := &x.nodes[i]; n.slot == inHeap {
		x.near.remove(x.nodes, n.prev)
	} else {
		x.unlink(i)
	}
	x.release(i)
}

// Pop takes out the earliest item that is due at now, the one of least key.
func (x *Index[T]) Pop(now int64) (item T, ok bool) {
	i := x.first(uint64(now) ^ bias)
	if i == none {
		return item, false
	}
	item = x.items[i]
	x.near.remove(x.nodes, 0)
	x.release(i)
	return item, true
}

// Peek appends to out the earliest items that are due at now, in order and at most
// limit of them, and leaves them in.
func (x *Index[T]) Peek(now int64, limit int, out []T) []T {
	key := uint64(now) ^ bias
	if x.first(key) == none {
		return out
	}
	var popped []int32
	for len(popped) < limit {
		i := x.first(key)
		if i == none {
			break
		}
		x.near.remove(x.nodes, 0)
		popped = append(popped, i)
		out = append(out, x.items[i])
	}
	for _, i := range popped {
		x.place(i)
	}
	return out
}

// first returns the earliest node that is due at now, at the top of the heap.
func (x *Index[T]) first(now uint64) int32 {
	for {
		if len(x.near) > 0 {
			if top := x.near[0]; top.key <= now {
				return top.node
			}
			return none
		}
		if x.filled == 0 {
			return none
		}
		level := bits.TrailingZeros16(x.filled)
		s := bits.TrailingZeros64(x.taken[level])
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
	if level == 0 || l.count <= few {
		x.bound = start + 1<<uint(level*digit)
		if x.bound < start { // the end of time
			x.bound = ^uint64(0)
		}
	}
	i := l.head
	for range l.count {
		next := x.nodes[i].next
		if x.bound > start {
			x.near.push(x.nodes, i)
		} else {
			x.place(i)
		}
		i = next
	}
}

// place puts a node where its key belongs.
func (x *Index[T]) place(i int32) {
	n := &x.nodes[i]
	if n.key < x.bound {
		x.near.push(x.nodes, i)
		return
	}
	level := 0
	if diff := n.key ^ x.cur; diff != 0 {
		level = (bits.Len64(diff) - 1) / digit
	}
	s := int(n.key>>uint(level*digit)) & (slots - 1)
	at := int32(level*slots + s)
	l := &x.slot[at]
	n.slot, n.prev, n.next = at, none, none
	if l.count > 0 {
		n.next = l.head
		x.nodes[l.head].prev = i
	} else {
		x.taken[level] |= 1 << uint(s)
		x.filled |= 1 << uint(level)
	}
	l.head = i
	l.count++
}

func (x *Index[T]) unlink(i int32) {
	n := &x.nodes[i]
	l := &x.slot[n.slot]
	if l.count--; l.count == 0 {
		x.clear(int(n.slot)/slots, int(n.slot)%slots)
		return
	}
	if n.prev == none {
		l.head = n.next
	} else {
		x.nodes[n.prev].next = n.next
	}
	if n.next != none {
		x.nodes[n.next].prev = n.prev
	}
}

func (x *Index[T]) clear(level, s int) {
	if x.taken[level] &^= 1 << uint(s); x.taken[level] == 0 {
		x.filled &^= 1 << uint(level)
	}
}

// take finds room for an item.
func (x *Index[T]) take(item T) int32 {
	x.used++
	if x.used <= len(x.nodes) {
		i := x.spare
		x.spare = x.nodes[i].next
		x.items[i] = item
		return i
	}
	x.nodes = append(x.nodes, node{})
	x.items = append(x.items, item)
	return int32(len(x.nodes) - 1)
}

func (x *Index[T]) release(i int32) {
	var zero T
	x.items[i] = zero
	x.nodes[i].slot = free
	x.nodes[i].next = x.spare
	x.spare = i
	x.used--
}

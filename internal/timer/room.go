package timer

import "math/bits"

// room holds items by number, and knows which are in use. The zero value is empty.
type room[T any] struct {
	items []T
	used  int
	free  []int32  // what was released, to be used again first: it is in a cache
	dead  []uint64 // a bit for each item that was removed and still has a spot
	swept []uint64 // a bit for each item that was removed and has none

	sweptCount int
	next       int // the word of swept to look at next
}

// take finds room for an item. What was swept is used again in the order of its
// numbers, so that one page of memory after the other is written to, and only while
// that is an eighth of all, so that the next is near.
func (r *room[T]) take() int32 {
	r.used++
	if last := len(r.free) - 1; last >= 0 {
		i := r.free[last]
		r.free = r.free[:last]
		return i
	}
	if 8*r.sweptCount > len(r.items) {
		for r.swept[r.next] == 0 {
			if r.next++; r.next == len(r.swept) {
				r.next = 0
			}
		}
		bit := bits.TrailingZeros64(r.swept[r.next])
		r.swept[r.next] &^= 1 << uint(bit)
		r.sweptCount--
		return int32(r.next*64 + bit)
	}
	var zero T
	r.items = append(r.items, zero)
	if len(r.items) > 64*len(r.dead) {
		r.dead = append(r.dead, 0)
		r.swept = append(r.swept, 0)
	}
	return int32(len(r.items) - 1)
}

// release makes the room of an item free that has no spot any more.
func (r *room[T]) release(i int32) {
	var zero T
	r.items[i] = zero
	r.free = append(r.free, i)
	r.used--
}

// bury removes an item that still has a spot.
func (r *room[T]) bury(i int32) {
	r.dead[i/64] |= 1 << uint(i%64)
	r.used--
}

// buried reports whether an item was removed, and if so makes its room free: its spot
// is about to go.
func (r *room[T]) buried(i int32) bool {
	word, bit := i/64, uint64(1)<<uint(i%64)
	if r.dead[word]&bit == 0 {
		return false
	}
	r.dead[word] &^= bit
	r.swept[word] |= bit
	r.sweptCount++
	return true
}

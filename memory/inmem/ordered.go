package inmem

import (
	"iter"
	"slices"
	"sort"
)

// chunkSize bounds a chunk: large enough that an index of a million items has few
// chunks, small enough that an insertion in the middle of one is cheap.
const chunkSize = 512

// ordered holds items in the order of compare, which tells any two of them apart. They
// lie in chunks, so that an insertion or a removal anywhere moves few of them.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none is empty
}

// locate returns where x is or belongs: before the item i of chunk c. If i is the
// chunk's length, that is also where the next chunk begins.
func (o *ordered[T]) locate(x T) (c, i int) {
	c = sort.Search(len(o.chunks), func(c int) bool { return o.compare(o.chunks[c][0], x) >= 0 }) - 1
	if c < 0 {
		return 0, 0
	}
	items := o.chunks[c]
	return c, sort.Search(len(items), func(i int) bool { return o.compare(items[i], x) >= 0 })
}

// end returns where the items end.
func (o *ordered[T]) end() (c, i int) {
	if c = len(o.chunks) - 1; c >= 0 {
		i = len(o.chunks[c])
	}
	return c, i
}

// insert puts x in its place, which is nearly always the end.
func (o *ordered[T]) insert(x T) {
	c, i := o.end()
	if c >= 0 && o.compare(o.chunks[c][i-1], x) > 0 {
		c, i = o.locate(x)
		if len(o.chunks[c]) == chunkSize {
			o.split(c)
			if half := len(o.chunks[c]); i > half {
				c, i = c+1, i-half
			}
		}
		o.chunks[c] = slices.Insert(o.chunks[c], i, x)
	} else {
		switch {
		case c < 0:
			o.chunks, c = append(o.chunks, nil), 0
		case i == chunkSize:
			o.chunks, c = append(o.chunks, make([]T, 0, chunkSize)), c+1
		}
		o.chunks[c] = append(o.chunks[c], x)
	}
}

func (o *ordered[T]) split(c int) {
	const half = chunkSize / 2
	items := o.chunks[c]
	o.chunks = slices.Insert(o.chunks, c+1, slices.Clone(items[half:]))
	clear(items[half:])
	o.chunks[c] = items[:half:half]
}

// remove takes out the item that compares equal to x and is there. It joins chunks that
// became small, or a list that loses items here and there would become a long row of
// tiny chunks.
func (o *ordered[T]) remove(x T) {
	c, i := o.locate(x)
	if i == len(o.chunks[c]) {
		c, i = c+1, 0
	}
	items := o.chunks[c]
	if i == 0 { // as of what is due, or of what is delivered
		clear(items[:1])
		items = items[1:]
	} else {
		items = slices.Delete(items, i, i+1)
	}
	o.chunks[c] = items
	if c > 0 && len(o.chunks[c-1])+len(items) <= chunkSize/2 {
		o.chunks[c-1] = append(o.chunks[c-1], items...)
		items = nil
	}
	if len(items) == 0 {
		o.chunks = slices.Delete(o.chunks, c, c+1)
	}
}

// back yields the items before x, the last one first; all of them if x is nil. Nothing may
// change meanwhile.
func (o *ordered[T]) back(x *T) iter.Seq[T] {
	return func(yield func(T) bool) {
		c, i := o.end()
		if c >= 0 && x != nil {
			c, i = o.locate(*x)
		}
		for ; c >= 0; c, i = c-1, chunkSize {
			items := o.chunks[c]
			for j := min(i, len(items)) - 1; j >= 0; j-- {
				if !yield(items[j]) {
					return
				}
			}
		}
	}
}

// from yields the items from x on. Nothing may change meanwhile.
func (o *ordered[T]) from(x T) iter.Seq[T] {
	return func(yield func(T) bool) {
		c, i := o.locate(x)
		for ; c < len(o.chunks); c, i = c+1, 0 {
			for _, item := range o.chunks[c][i:] {
				if !yield(item) {
					return
				}
			}
		}
	}
}

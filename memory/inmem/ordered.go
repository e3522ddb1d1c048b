package inmem

import (
	"iter"
	"slices"
	"sort"
)

const (
	// chunkSize bounds a chunk: large enough that a list of a million items has few
	// chunks, small enough that an insertion in the middle of one is cheap.
	chunkSize = 512
	half      = chunkSize / 2
)

// ordered holds items in the order of compare, which tells any two of them apart. They
// lie in chunks, so that an insertion or a removal anywhere moves few of them.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none is empty
}

// locate returns where x is or belongs: before the item i of chunk c. If i is the
// chunk's length, that is also where the next chunk begins.
func (o *ordered[T]) locate(x T) (c, i int) {
	c = sort.Search(len(o.chunks), func(c int) bool { return o.compare(o.chunks[c][0], x) > 0 }) - 1
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
	if c < 0 {
		o.chunks = [][]T{{x}}
		return
	}
	if o.compare(o.chunks[c][i-1], x) > 0 {
		c, i = o.locate(x)
	}
	items := slices.Insert(o.chunks[c], i, x)
	o.chunks[c] = items
	if len(items) > chunkSize {
		o.chunks = slices.Replace(o.chunks, c, c+1, slices.Clone(items[:half]), slices.Clone(items[half:]))
	}
}

// remove takes out the item that compares equal to x and is there. It joins chunks that
// became small, or a list that loses items here and there would become a long row of
// tiny chunks.
func (o *ordered[T]) remove(x T) {
	c, i := o.locate(x)
	items := slices.Delete(o.chunks[c], i, i+1)
	switch {
	case c > 0 && len(o.chunks[c-1])+len(items) <= half:
		o.chunks = slices.Replace(o.chunks, c-1, c+1, append(o.chunks[c-1], items...))
	case len(items) == 0:
		o.chunks = slices.Delete(o.chunks, c, c+1)
	default:
		o.chunks[c] = items
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

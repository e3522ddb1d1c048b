package ordered

import (
	"iter"
	"slices"
	"sort"
)

// most bounds a chunk: large enough that a list of a million items has few chunks, small enough
// that an insertion in the middle of one is cheap.
const most = 512

// List holds items in the order of Compare; an item may be there several times. The items lie in
// chunks, so that an insertion or a removal moves few of them. It is for one goroutine at a time.
type List[T any] struct {
	Compare func(a, b T) int

	chunks [][]T // none is empty
}

// locate returns where the first item is that is not before x: it is the item i of chunk c. If i
// is the chunk's length, that is where the next chunk begins.
func (l *List[T]) locate(x T) (c, i int) {
	c = sort.Search(len(l.chunks), func(c int) bool { return l.Compare(l.chunks[c][0], x) >= 0 }) - 1
	if c < 0 {
		return 0, 0
	}
	items := l.chunks[c]
	return c, sort.Search(len(items), func(i int) bool { return l.Compare(items[i], x) >= 0 })
}

// Insert adds x.
func (l *List[T]) Insert(x T) {
	if len(l.chunks) == 0 {
		l.chunks = [][]T{{x}}
		return
	}
	c := len(l.chunks) - 1
	i := len(l.chunks[c])
	if l.Compare(l.chunks[c][i-1], x) > 0 { // it does not belong at the end, where nearly every one comes
		c, i = l.locate(x)
	}
	items := slices.Insert(l.chunks[c], i, x)
	if half := len(items) / 2; len(items) > most {
		l.chunks = slices.Insert(l.chunks, c+1, slices.Clone(items[half:]))
		items = slices.Clone(items[:half]) // what was moved is not kept twice
	}
	l.chunks[c] = items
}

// Remove removes an item that compares equal to x, of which there is one.
func (l *List[T]) Remove(x T) {
	c, i := l.locate(x)
	if i == len(l.chunks[c]) {
		c, i = c+1, 0
	}
	l.chunks[c] = slices.Delete(l.chunks[c], i, i+1)
	if len(l.chunks[c]) == 0 {
		l.chunks = slices.Delete(l.chunks, c, c+1)
	}
}

// From yields the items from x on. The body of the loop changes nothing in the list.
func (l *List[T]) From(x T) iter.Seq[T] {
	return func(yield func(T) bool) {
		c, i := l.locate(x)
		for ; c < len(l.chunks); c, i = c+1, 0 {
			for _, item := range l.chunks[c][i:] {
				if !yield(item) {
					return
				}
			}
		}
	}
}

// Before yields the items before x, the last one first. The body of the loop changes nothing in
// the list.
func (l *List[T]) Before(x T) iter.Seq[T] {
	return func(yield func(T) bool) {
		if len(l.chunks) == 0 {
			return
		}
		c, i := l.locate(x)
		for items := l.chunks[c][:i]; ; items = l.chunks[c] {
			for _, item := range slices.Backward(items) {
				if !yield(item) {
					return
				}
			}
			if c--; c < 0 {
				return
			}
		}
	}
}

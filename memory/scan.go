package memory

import (
	"context"
	"iter"
)

// pageFunc reads one page of a scope.
type pageFunc func(ctx context.Context, q Query) ([]Entry, error)

// pageSize is how many entries a walk over a whole scope reads at a time.
const pageSize = 512

// pages walks over a scope page by page.
func pages(ctx context.Context, q Query, list pageFunc) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q := q
		q.Limit = pageSize
		for {
			page, err := list(ctx, q)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			q.After = CursorOf(&page[len(page)-1])
		}
	}
}

// scan yields the caller's own copies of what pages hold. Each walk opens its own.
func scan(ctx context.Context, b *Bank, open func() pageFunc) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range pages(ctx, Query{At: b.Now()}, open()) {
			if err != nil {
				yield(Entry{}, shape(err))
				return
			}
			if !yield(ownCopy(e), nil) {
				return
			}
		}
	}
}

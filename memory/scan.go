package memory

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// pageSize is how many entries a walk over a whole scope reads at a time.
const pageSize = 512

// pages walks over a scope page by page.
func pages(ctx context.Context, s Scope, q driver.Query, list listFunc) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q := q
		q.Limit = pageSize
		for {
			page, err := list(ctx, s, q)
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
			q.After = page[len(page)-1].Cursor()
		}
	}
}

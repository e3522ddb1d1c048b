package memory

import (
	"cmp"
	"context"
	"iter"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
)

// pageSize is how many entries a walk over a whole scope reads at a time.
const pageSize = 512

// walk yields the entries that a query asks for, as the caller's own, page by page. It stops after
// an error.
func walk(ctx context.Context, s Scope, q driver.Query, list listFunc) iter.Seq2[Entry, error] {
	q.Limit = cmp.Or(q.Limit, pageSize)
	return pages.Of(func(last *Entry) ([]Entry, bool, error) {
		q := q
		if last != nil {
			q.After = last.Cursor()
		}
		page, err := list(ctx, s, q)
		return handOut(page), len(page) == q.Limit, shape(err)
	})
}

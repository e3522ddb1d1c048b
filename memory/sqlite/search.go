package sqlite

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// Search returns the live entries that match q by [driver.Search.Matches], newest
// first. A limit of 0 means all. It reads the entries of the scope between Since and
// Until until the limit is reached: there is no index of words, which would have to
// fold case as Go does and would be one more place that holds erased text.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) ([]driver.Entry, error) {
	sel := selectionOf(s, driver.Query{Limit: q.Limit, At: q.At})
	sel.filter = q.Matches
	if !q.Since.IsZero() {
		sel.since = q.Since.UnixMilli()
	}
	if !q.Until.IsZero() {
		sel.behind = q.Until.UnixMilli() // and nothing has an id before ""
	}
	return st.db.list(ctx, sel)
}

// ahead is how many entries a scan reads at a time.
const ahead = 512

// Scan yields what List would return. The body of the loop may use the store. It
// reads 512 entries at a time, at the version that the loop began at; if
// [Store.Purge] passes that version, the scan stops with
// [driver.ErrSnapshotUnavailable].
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		p, err := st.now(ctx, s.Tenant)
		left := q.Limit
		for err == nil {
			q.Limit = ahead
			if left > 0 {
				q.Limit = min(ahead, left)
			}
			var page []driver.Entry
			if page, err = st.listAt(ctx, p, selectionOf(s, q)); err != nil {
				break
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) < q.Limit || left == len(page) {
				return
			}
			q.After = page[len(page)-1].Cursor()
			if left > 0 {
				left -= len(page)
			}
		}
		yield(driver.Entry{}, err)
	}
}

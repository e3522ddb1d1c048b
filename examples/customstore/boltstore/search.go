package boltstore

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

var (
	_ driver.Searcher = (*Store)(nil)
	_ driver.Scanner  = (*Store)(nil)
)

// Search returns the live entries that match q, newest first.
func (st *Store) Search(ctx context.Context, s driver.Scope, q driver.Search) (entries []driver.Entry, err error) {
	err = st.view(ctx, func(t *tx) error {
		entries = t.list(s, t.account(s.Tenant).Version, driver.Query{At: q.At, Limit: q.Limit}, q.Matches)
		return nil
	})
	return entries, err
}

// Scan yields what List would return, page by page, all of the version at which the loop
// began. It stops with [driver.ErrSnapshotUnavailable] if a purge passes that one.
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		v, err := st.Version(ctx, s.Tenant)
		for left := q.Limit; err == nil; {
			next := q
			next.Limit = pageSize
			if q.Limit > 0 {
				next.Limit = min(left, pageSize)
			}
			var entries []driver.Entry
			entries, err = st.ListAt(ctx, s, v, next)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				q.After = e.Cursor()
			}
			left -= len(entries)
			if err == nil && (len(entries) < next.Limit || q.Limit > 0 && left == 0) {
				return
			}
		}
		yield(driver.Entry{}, err)
	}
}

package inmem

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return view(ctx, st, s.Tenant, func(t *tenant) (driver.Entry, error) {
		if r := t.find(s.Ref, id); r != nil && r.liveAt(at) {
			return *r.entry, nil
		}
		return driver.Entry{}, driver.ErrNotFound
	})
}

// List returns the entries of s that q asks for, at the latest version if q has none.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return view(ctx, st, s.Tenant, func(t *tenant) (found []driver.Entry, err error) {
		n := t.version
		if q.Version != "" {
			if n, err = t.number(q.Version); err != nil {
				return nil, err
			}
		}
		sc := t.scopes[s.Ref]
		switch {
		case sc == nil:
			return nil, nil
		case len(q.IDs) > 0:
			return sc.named(&q, n), nil
		}
		found = sc.visible(&sc.live, &q, n, make([]driver.Entry, 0, min(max(q.Limit, 0), 128)))
		if sc.lastDied > n {
			found = newest(sc.visible(&sc.past, &q, n, found), q.Limit)
		}
		return found, nil
	})
}

// named returns the entries that q asks for by their ids.
func (sc *scope) named(q *driver.Query, n uint64) (found []driver.Entry) {
	for _, id := range distinct(q.IDs) {
		r := sc.recs[id]
		if r != nil && !r.erased && r.visible(n, q.At) && q.Matches(r.entry) {
			found = append(found, *r.entry)
		}
	}
	return newest(found, q.Limit)
}

// visible appends the first entries of one list that q asks for, as many as it wants.
func (sc *scope) visible(list *ordered.List[*record], q *driver.Query, n uint64, found []driver.Entry) []driver.Entry {
	left := q.Limit
	narrow := len(q.Tags) > 0 || q.Subject != ""
	for r := range list.Before(begin(q)) {
		if !q.Since.IsZero() && r.entry.CreatedAt.Before(q.Since) {
			break
		}
		if !r.visible(n, q.At) || narrow && !q.Matches(r.entry) {
			continue
		}
		found = append(found, *r.entry)
		if left--; left == 0 {
			break
		}
	}
	return found
}

// behindAll stands behind every record.
var behindAll = &record{entry: &driver.Entry{CreatedAt: time.Unix(1<<40, 0)}}

// begin is the record behind which a list of q begins, which need not be there.
func begin(q *driver.Query) *record {
	first := behindAll
	if !q.Until.IsZero() { // nothing has an id before ""
		ms := q.Until.Add(time.Millisecond - 1).UnixMilli()
		first = &record{entry: &driver.Entry{CreatedAt: time.UnixMilli(ms)}}
	}
	if q.After.IsZero() {
		return first
	}
	after := &record{entry: &driver.Entry{ID: q.After.ID, CreatedAt: time.UnixMilli(q.After.CreatedAt.UnixMilli())}}
	return slices.MinFunc([]*record{first, after}, byAge)
}

// newest sorts entries as a list has them, and returns the first of them; all if limit is not
// above 0.
func newest(entries []driver.Entry, limit int) []driver.Entry {
	slices.SortFunc(entries, func(a, b driver.Entry) int { return a.Compare(&b) })
	if limit > 0 {
		entries = entries[:min(len(entries), limit)]
	}
	return entries
}

package boltstore

import (
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Lookup returns the records of those ids that the scope holds, in the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) (recs []driver.Record, err error) {
	err = st.view(ctx, func(t *tx) error {
		for _, id := range ids {
			if r := t.find(s, id); r != nil {
				recs = append(recs, r.shown())
			}
		}
		return nil
	})
	return recs, err
}

// History yields the records that q asks for. It looks at every record of the ref, or of
// the tenant: a store for many entries has an index of subjects, and asks by-heir.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	prefix := key(tenant)
	if q.Ref != "" {
		prefix = key(tenant, q.Ref)
	}
	return pages(ctx, st, records, prefix, pageSize, func(t *tx, _, data []byte) (driver.Record, bool) {
		var r record
		t.decode(data, &r)
		return r.shown(), (len(q.For) == 0 || slices.Contains(q.For, r.For)) &&
			(q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject))
	})
}

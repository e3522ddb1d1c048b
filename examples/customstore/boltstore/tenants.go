package boltstore

import (
	"bytes"
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

var _ driver.Tenants = (*Store)(nil)

// Scopes yields the scopes that hold a record or a document, behind the scope after.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return func(yield func(driver.Scope, error) bool) {
		for {
			found := false
			err := st.view(ctx, func(t *tx) error {
				after, found = t.scopeBehind(after)
				return nil
			})
			if err != nil || found {
				if !yield(after, err) {
					return
				}
			}
			if err != nil || !found {
				return
			}
		}
	}
}

// scopeBehind returns the next scope that holds anything.
func (t *tx) scopeBehind(after driver.Scope) (next driver.Scope, found bool) {
	from := above(key(after.Tenant, after.Ref))
	var first []byte
	for _, bucket := range [][]byte{records, documents} {
		for k, data := range t.ascend(bucket, nil, from) {
			if !found || bytes.Compare(k, first) < 0 {
				first, found = k, t.decode(data, &next) // both have the fields of a scope
			}
			break
		}
	}
	return next, found
}

// DropTenant removes what is held of a tenant, at most limit records, documents and events
// at a time. The number of its last version stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	err = st.update(ctx, func(t *tx) error {
		own, left := key(tenant), max(1, limit)
		some := func(bucket []byte) (keys, found [][]byte) {
			for k, data := range t.ascend(bucket, own, own) {
				if more = len(keys) == left; more {
					break
				}
				keys, found = append(keys, k), append(found, data)
			}
			left -= len(keys)
			return keys, found
		}
		t.change(tenant, func(a *account) {
			a.Horizon = a.Version
			docs, _ := some(documents)
			for _, k := range docs {
				t.discard(t.document(k, true))
			}
			if more {
				return
			}
			names, _ := some(byEvent)
			for _, name := range names {
				t.take(name)
			}
			if more {
				return
			}
			_, recs := some(records)
			for _, data := range recs {
				var r record
				t.decode(data, &r)
				t.bury(a, &r)
			}
		})
		t.removeAll(scars, own, above(own))
		t.removeAll(journal, own, above(own))
		return nil
	})
	return more, err
}

package boltstore

import (
	"bytes"
	"context"
	"iter"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 9. Whose memory the store holds, in the order of keys, and how it lets go of it. A name
// may be used anew after that, and an old version must not show the new memory (TENANT).

// Scopes yields the scopes that hold a record or a document, behind the scope after: see
// [driver.Tenants].
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return loop(ctx, st, after, func(t *tx, after *driver.Scope) (s driver.Scope, found bool, err error) {
		var first []byte
		for _, kind := range []string{"record", "document"} {
			prefix := key(kind)
			for k, data := range t.ascend(prefix, above(key(kind, after.Tenant, after.Ref))) {
				if k = k[len(prefix):]; !found || bytes.Compare(k, first) < 0 {
					first, found = k, true
					t.read(data, &s) // a record has the fields of a scope, and so has a document
				}
				break
			}
		}
		*after = s
		return s, found, nil
	})
}

// DropTenant removes what is held of a tenant, at most limit records, documents and events
// at a time. The number of its last version stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	err = st.update(ctx, func(t *tx) error {
		var found [][]byte // one more than the limit
		for _, kind := range []string{"document", "event", "record"} {
			for k := range t.ascend(key(kind, tenant), key(kind, tenant)) {
				if found = append(found, k); len(found) > max(1, limit) {
					more, found = true, found[:len(found)-1]
					break
				}
			}
			if more {
				break
			}
		}
		if len(found) == 0 && t.Get(key("tenant", tenant)) == nil {
			return nil // there has never been one
		}
		t.change(tenant, new(driver.Plan), func(version uint64) {
			a := t.account(tenant)
			a.Horizon = version
			for _, k := range found {
				switch {
				case bytes.HasPrefix(k, key("record")):
					t.bury(&a, t.record(t.Get(k)))
				case bytes.HasPrefix(k, key("document")):
					t.discard(t.document(k))
				default:
					t.remove(k)
				}
			}
			t.save(key("tenant", tenant), a)
			old, gaps := key("version", tenant), key("gap", tenant)
			t.remove(t.keys(old, with(old, version))...)
			t.remove(t.keys(gaps, above(gaps))...)
		})
		return nil
	})
	return more, err
}

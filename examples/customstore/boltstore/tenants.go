package boltstore

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 9. Whose memory the store holds, in the order of keys, and how it lets go of it. A name
// may be used anew after that, and an old version must not show the new memory (TENANT).

// Scopes yields the scopes that hold a record or a document, behind the scope after: see
// [driver.Tenants].
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return all(ctx, st, func(t *tx) (scopes []driver.Scope, err error) {
		for _, kind := range []string{"record", "document"} {
			c, prefix, s := t.Cursor(), key(kind), after
			for {
				k, _ := c.Seek(above(key(kind, s.Tenant, s.Ref))) // behind all that the scope holds
				if !bytes.HasPrefix(k, prefix) {
					break
				}
				names := strings.Split(string(k), "\x00")
				s = driver.Scope{Tenant: names[1], Ref: names[2]}
				scopes = append(scopes, s)
			}
		}
		slices.SortFunc(scopes, func(a, b driver.Scope) int { return bytes.Compare(key(a.Tenant, a.Ref), key(b.Tenant, b.Ref)) })
		return slices.Compact(scopes), nil
	})
}

// DropTenant removes what is held of a tenant, at most limit records, documents and events
// at a time. The number of its last version stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	err = st.update(ctx, func(t *tx) error {
		var found [][]byte
		for _, kind := range []string{"document", "event", "record"} {
			prefix := key(kind, tenant)
			found = append(found, t.keys(prefix, above(prefix))...)
		}
		if more = len(found) > max(1, limit); more {
			found = found[:max(1, limit)]
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

package boltstore

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Page 9. What a store may offer beside the steps. It finds what is due over all tenants, for
// commitments (DUE); it tells what has changed, for what follows memory (CHANGES); and it says whose
// memory it holds, and lets go of it: a name may be used anew after that, and an old version must not
// show the new memory (TENANT).

// Due returns the documents of a kind, of all tenants, that are due at the instant at: see
// [driver.Scheduler].
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) (docs []driver.Document, err error) {
	err = st.view(ctx, func(t *tx) {
		due := key("due", kind)
		for k := range t.ascend(due, with(due, millis(at)+1)) {
			if len(docs) >= limit {
				break
			}
			docs = append(docs, t.document(t.Get(k)))
		}
	})
	return docs, err
}

// Changes returns the ids of a scope that were touched by the mutations after the version
// from, up to and with the version to: see [driver.Changes].
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (touched driver.ChangeSet, err error) {
	err = st.view(ctx, func(t *tx) {
		low, high := t.number(s.Tenant, from), t.number(s.Tenant, to)
		var journals [][]byte
		for n := low + 1; n <= high && t.err == nil; n++ {
			journals = append(journals, t.Get(with(key("version", s.Tenant), n))[len(driver.Mark{}):])
		}
		t.note(touched.Read(journals, s.Ref))
	})
	return touched, err
}

// Scopes yields the scopes that hold a record or a document, behind the scope after: see
// [driver.Tenants].
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return all(ctx, st, func(t *tx) (scopes []driver.Scope) {
		for _, kind := range []string{"record", "document"} {
			c, s := t.Cursor(), after
			for {
				k, _ := c.Seek(above(key(kind, s.Tenant, s.Ref))) // behind all that the scope holds
				names := strings.Split(string(k), "\x00")
				if names[0] != kind {
					break
				}
				s = driver.Scope{Tenant: names[1], Ref: names[2]}
				scopes = append(scopes, s)
			}
		}
		slices.SortFunc(scopes, func(a, b driver.Scope) int { return bytes.Compare(key(a.Tenant, a.Ref), key(b.Tenant, b.Ref)) })
		return slices.Compact(scopes)
	})
}

// DropTenant removes what is held of a tenant, at most limit records, documents and events
// at a time. The number of its last version stays, so that none is given out again.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	left := max(1, limit)
	err = st.update(ctx, func(t *tx) {
		t.change(tenant, new(driver.Plan))
		a := t.account(tenant)
		drop := func(kind string, remove func(k []byte)) {
			keys := slices.Collect(t.under(key(kind, tenant)))
			more = more || len(keys) > left
			for _, k := range keys[:min(left, len(keys))] {
				remove(k)
				left--
			}
		}
		drop("document", func(k []byte) { t.discard(t.document(k)) })
		drop("event", func(k []byte) { t.remove(k) })
		drop("record", func(k []byte) { t.bury(&a, t.record(k)) })
		t.moveHorizon(tenant, a, a.Version)
	})
	return more, err
}

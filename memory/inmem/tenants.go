package inmem

import (
	"context"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
)

// Scopes yields the scopes that hold anything, behind the scope after, in the byte order
// of tenant and ref. The body of the loop may use the store.
func (st *Store) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return func(yield func(driver.Scope, error) bool) {
		from := after.Tenant
		pages.Of(func(*driver.Scope) (page []driver.Scope, more bool, err error) {
			t := st.tenantFrom(from)
			if err := ctx.Err(); err != nil || t == nil {
				return nil, false, err
			}
			from = t.name + "\x00"
			for _, ref := range t.usedRefs() {
				if t.name != after.Tenant || ref > after.Ref {
					page = append(page, driver.Scope{Tenant: t.name, Ref: ref})
				}
			}
			return page, true, nil
		})(yield)
	}
}

// usedRefs returns the refs that hold records or documents, in byte order; the empty one for
// the tenant's own documents.
func (t *tenant) usedRefs() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var refs []string
	for ref, sc := range t.scopes {
		if len(sc.recs) > 0 {
			refs = append(refs, ref)
		}
	}
	for ref, ok := t.shelf.refFrom(""); ok; ref, ok = t.shelf.refFrom(ref + "\x00") { // the least one after it
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// refFrom returns the first ref, from one on, that has documents.
func (sh *shelf) refFrom(ref string) (string, bool) {
	for x := range sh.tags.From(tagged{byName, "", &driver.Document{Scope: driver.Scope{Ref: ref}}}) {
		return x.doc.Ref, x.by == byName
	}
	return "", false
}

// DropTenant removes what is held of a tenant, about limit records, documents and
// events at a time, and reports whether anything is left.
func (st *Store) DropTenant(ctx context.Context, tenant string, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	dropped, more := st.events.drop(tenant, max(1, limit))
	t := st.tenant(tenant)
	left := max(1, limit) - dropped
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version++
	t.horizon, t.journals = t.version, nil
	for _, d := range t.shelf.docs {
		if left--; left < 0 {
			return true, nil
		}
		t.shelf.remove(d)
	}
	for ref, sc := range t.scopes {
		for _, r := range sc.recs {
			if left--; left < 0 {
				return true, nil
			}
			sc.purge(r)
		}
		delete(t.scopes, ref)
	}
	return more, nil
}

package inmem

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

type schedule struct{}

// Due returns machinery of a kind, of all tenants, that is due at the instant at: by
// Due ascending and at most limit of it.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	st.mu.RLock()
	defer st.mu.RUnlock()
	var due []driver.Document
	for _, t := range st.tenants {
		t.mu.RLock()
		for _, d := range t.shelf.docs {
			if d.Kind == kind && !d.Due.IsZero() && !d.Due.After(at) {
				due = append(due, copied(d, false))
			}
		}
		t.mu.RUnlock()
	}
	slices.SortFunc(due, func(a, b driver.Document) int {
		return cmp.Or(a.Due.Compare(b.Due), strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref), strings.Compare(a.Key, b.Key))
	})
	return due[:min(limit, len(due))], nil
}

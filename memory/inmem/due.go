package inmem

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

// schedule has the documents of all tenants that are due some time. It has its own lock, taken
// after a tenant's.
type schedule struct {
	mu   sync.RWMutex
	docs ordered.List[*driver.Document]
}

// byDue orders documents by kind and the millisecond in which they are due.
func byDue(a, b *driver.Document) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Due.UnixMilli(), b.Due.UnixMilli()),
		strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref), strings.Compare(a.Key, b.Key))
}

// replace puts a document in the place of the one before. Either may be nil.
func (sd *schedule) replace(before, d *driver.Document) {
	if !hasDue(before) && !hasDue(d) {
		return
	}
	sd.mu.Lock()
	defer sd.mu.Unlock()
	if hasDue(before) {
		sd.docs.Remove(before)
	}
	if hasDue(d) {
		sd.docs.Insert(d)
	}
}

func hasDue(d *driver.Document) bool { return d != nil && !d.Due.IsZero() }

// Due returns machinery of a kind, of all tenants, that is due at the instant at: by
// Due ascending and at most limit of it.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sd := &st.schedule
	sd.mu.RLock()
	defer sd.mu.RUnlock()
	docs := []driver.Document{}
	for d := range sd.docs.From(&driver.Document{Kind: kind}) {
		if d.Kind != kind || d.Due.UnixMilli() > at.UnixMilli() || len(docs) >= limit {
			break
		}
		docs = append(docs, copied(*d))
	}
	return docs, nil
}

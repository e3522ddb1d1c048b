package inmem

import (
	"cmp"
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// schedule has the documents of all tenants that are due some time, by kind. It has its
// own lock, taken after a tenant's.
type schedule struct {
	mu    sync.RWMutex
	kinds map[string]*ordered[due]
}

// due is a document under the instant, in milliseconds, at which it is due.
type due struct {
	at  int64
	doc *driver.Document
}

func byDue(a, b due) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return cmp.Or(strings.Compare(a.doc.Tenant, b.doc.Tenant), strings.Compare(a.doc.Ref, b.doc.Ref),
		strings.Compare(a.doc.Key, b.doc.Key))
}

func (sd *schedule) add(d *driver.Document) {
	if d.Due.IsZero() {
		return
	}
	sd.mu.Lock()
	defer sd.mu.Unlock()
	list := sd.kinds[d.Kind]
	if list == nil {
		list = &ordered[due]{compare: byDue}
		sd.kinds[d.Kind] = list
	}
	list.insert(due{d.Due.UnixMilli(), d})
}

func (sd *schedule) remove(d *driver.Document) {
	if d.Due.IsZero() {
		return
	}
	sd.mu.Lock()
	defer sd.mu.Unlock()
	sd.kinds[d.Kind].remove(due{d.Due.UnixMilli(), d})
}

// Due returns machinery of a kind, of all tenants, that is due at the instant at: by
// Due ascending and at most limit of it.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := st.schedule.due(kind, at.UnixMilli(), limit)
	docs := make([]driver.Document, len(found))
	for i, d := range found { // outside the lock: they never change
		docs[i] = copied(*d)
	}
	return docs, nil
}

func (sd *schedule) due(kind string, at int64, limit int) (found []*driver.Document) {
	sd.mu.RLock()
	defer sd.mu.RUnlock()
	list := sd.kinds[kind]
	if list == nil {
		return nil
	}
	for x := range list.from(due{math.MinInt64, nil}) {
		if x.at > at || len(found) >= limit {
			break
		}
		found = append(found, x.doc)
	}
	return found
}

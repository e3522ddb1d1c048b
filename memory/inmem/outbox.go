package inmem

import (
	"context"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// outbox holds the undelivered events of all tenants in commit order. It has its
// own lock, taken after a tenant's.
type outbox struct {
	mu    sync.Mutex
	last  uint64                // the number of the event that came last
	queue []*waiting            // by number
	known map[eventKey]*waiting // those that are not delivered
}

type waiting struct {
	number    uint64
	rec       events.Record
	delivered bool
}

type eventKey struct{ tenant, run, id string }

func keyOf(r *events.Record) eventKey { return eventKey{r.Tenant, r.RunID, r.ID} }

func (o *outbox) add(recs []events.Record) {
	if len(recs) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = map[eventKey]*waiting{}
	}
	for _, r := range recs {
		if o.known[keyOf(&r)] == nil {
			o.last++
			w := &waiting{number: o.last, rec: r}
			o.known[keyOf(&r)] = w
			o.queue = append(o.queue, w)
		}
	}
}

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one store get the
// same events. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		after := uint64(0)
		for {
			if err := ctx.Err(); err != nil {
				yield(events.Record{}, err)
				return
			}
			recs, last := st.outbox.after(after, q)
			for _, r := range recs {
				if !yield(r, nil) {
					return
				}
			}
			if last == after {
				return
			}
			after = last
		}
	}
}

// after returns some of the events that q asks for and whose numbers are above a
// number, and up to which number it looked.
func (o *outbox) after(number uint64, q driver.OutboxQuery) (recs []events.Record, last uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last = number
	first := sort.Search(len(o.queue), func(i int) bool { return o.queue[i].number > number })
	for _, w := range o.queue[first:] {
		last = w.number
		if !w.delivered && (q.Tenant == "" || q.Tenant == w.rec.Tenant) && (q.RunID == "" || q.RunID == w.rec.RunID) {
			if recs = append(recs, w.rec); len(recs) == pageSize {
				break
			}
		}
	}
	return recs, last
}

// Waiting counts the events that wait. It does not go beyond limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o := &st.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.known)
	if tenant != "" {
		n = 0
		for k := range o.known {
			if k.tenant == tenant {
				n++
			}
		}
	}
	return min(n, limit), nil
}

// Delivered takes events out of the outbox.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &st.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range recs {
		k := keyOf(&recs[i])
		if w := o.known[k]; w != nil {
			w.rec, w.delivered = events.Record{}, true
			delete(o.known, k)
		}
	}
	if len(o.queue) > 2*len(o.known)+64 || len(o.known) == 0 {
		o.queue = slices.DeleteFunc(o.queue, func(w *waiting) bool { return w.delivered })
	}
	return nil
}

package inmem

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// outbox holds the undelivered events of all tenants. It has its own lock, taken after
// a tenant's.
type outbox struct {
	mu       sync.Mutex
	last     uint64 // the number of the event that came last
	known    map[eventKey]*waiting
	byNumber ordered[*waiting] // which is the order of commits
	byRun    ordered[*waiting]
}

type waiting struct {
	number uint64
	events.Record
}

type eventKey struct{ tenant, run, id string }

func keyOf(r *events.Record) eventKey { return eventKey{r.Tenant, r.RunID, r.ID} }

func byNumber(a, b *waiting) int { return cmp.Compare(a.number, b.number) }

func byRun(a, b *waiting) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.RunID, b.RunID), byNumber(a, b))
}

func newOutbox() outbox {
	return outbox{
		known:    map[eventKey]*waiting{},
		byNumber: ordered[*waiting]{compare: byNumber}, byRun: ordered[*waiting]{compare: byRun},
	}
}

// add adds events, all or none, but for those that wait.
func (o *outbox) add(recs []events.Record) error {
	if len(recs) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range recs {
		if w := o.known[keyOf(&r)]; w != nil && !events.SamePayload(w.Payload, r.Payload) {
			return events.ErrTaken
		}
	}
	for _, r := range recs {
		if o.known[keyOf(&r)] == nil {
			o.last++
			w := &waiting{o.last, r}
			o.known[keyOf(&r)] = w
			o.byNumber.insert(w)
			o.byRun.insert(w)
		}
	}
	return nil
}

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one store get the same
// events. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, q driver.OutboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		after := uint64(0)
		for {
			if err := ctx.Err(); err != nil {
				yield(events.Record{}, err)
				return
			}
			page := st.outbox.page(q, after)
			for _, w := range page {
				if !yield(w.Record, nil) {
					return
				}
				after = w.number
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// page returns the next events that q asks for behind a number.
func (o *outbox) page(q driver.OutboxQuery, after uint64) (page []*waiting) {
	list := &o.byNumber
	if q.RunID != "" {
		list = &o.byRun
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for w := range list.from(&waiting{after + 1, events.Record{Tenant: q.Tenant, RunID: q.RunID}}) {
		mine := q.Matches(&w.Record)
		if len(page) == pageSize || !mine && q.RunID != "" {
			break
		}
		if mine {
			page = append(page, w)
		}
	}
	return page
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return st.outbox.count(tenant, limit), nil
}

func (o *outbox) count(tenant string, limit int) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if tenant == "" {
		return min(len(o.known), limit)
	}
	for w := range o.byRun.from(&waiting{0, events.Record{Tenant: tenant}}) {
		if w.Tenant != tenant || n >= limit {
			break
		}
		n++
	}
	return n
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
		if w := o.known[keyOf(&recs[i])]; w != nil {
			o.remove(w)
		}
	}
	return nil
}

func (o *outbox) remove(w *waiting) {
	delete(o.known, keyOf(&w.Record))
	o.byNumber.remove(w)
	o.byRun.remove(w)
}

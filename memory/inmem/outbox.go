package inmem

import (
	"context"
	"slices"
	"sync"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// outbox holds the undelivered events of all tenants in commit order. It has its
// own lock, taken after a tenant's.
type outbox struct {
	mu    sync.Mutex
	queue []*events.Record // nil where one was delivered
	place map[eventKey]int // in queue
}

type eventKey struct{ tenant, run, id string }

func keyOf(r *events.Record) eventKey { return eventKey{r.Tenant, r.RunID, r.ID} }

func (o *outbox) add(recs []events.Record) {
	if len(recs) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place == nil {
		o.place = map[eventKey]int{}
	}
	for _, r := range recs {
		if _, waits := o.place[keyOf(&r)]; !waits {
			o.place[keyOf(&r)] = len(o.queue)
			o.queue = append(o.queue, &r)
		}
	}
}

// Undelivered returns events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one store get the
// same events.
func (st *Store) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := &st.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	var recs []events.Record
	for _, r := range o.queue {
		if r == nil || q.Tenant != "" && r.Tenant != q.Tenant || q.RunID != "" && r.RunID != q.RunID ||
			slices.Contains(q.Except, memory.RunName{Tenant: r.Tenant, RunID: r.RunID}) {
			continue
		}
		if recs = append(recs, *r); len(recs) == q.Limit {
			break
		}
	}
	return recs, nil
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
		if place, waits := o.place[k]; waits {
			o.queue[place] = nil
			delete(o.place, k)
		}
	}
	o.compact()
	return nil
}

// compact closes the gaps once they are most of the queue.
func (o *outbox) compact() {
	if len(o.queue) < 2*len(o.place)+64 && len(o.place) > 0 {
		return
	}
	o.queue = slices.DeleteFunc(o.queue, func(r *events.Record) bool { return r == nil })
	for i, r := range o.queue {
		o.place[keyOf(r)] = i
	}
}

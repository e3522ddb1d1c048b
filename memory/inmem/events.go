package inmem

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/ordered"
	"github.com/openwop/agentmemory/memory/driver"
)

// eventTable has the events of all tenants: those that wait, and those that are kept as the
// logs of their runs. It has its own lock, taken after a tenant's.
type eventTable struct {
	mu      sync.RWMutex
	last    uint64                              // the number of the event that came last
	waiting ordered.List[*event]                // in the order of commits
	tenants map[string]map[string]*eventsOfARun // by tenant and run; none is empty
}

// event is one that waits or is kept.
type event struct {
	number uint64
	events.Record
}

type eventsOfARun struct {
	ids           map[string]*event
	waiting, kept []*event // in the order of commits
}

func byNumber(a, b *event) int { return cmp.Compare(a.number, b.number) }

func newEventTable() eventTable {
	return eventTable{waiting: ordered.List[*event]{Compare: byNumber}, tenants: map[string]map[string]*eventsOfARun{}}
}

// run returns the events of a run.
func (t *eventTable) run(tenant, runID string) *eventsOfARun {
	if run := t.tenants[tenant][runID]; run != nil {
		return run
	}
	return &eventsOfARun{}
}

var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

// add adds events that are not there, all or none, to those that wait or that are kept.
func (t *eventTable) add(recs []events.Record, keep bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range recs {
		there := t.run(recs[i].Tenant, recs[i].RunID).ids[recs[i].ID]
		if there != nil && !events.SamePayload(there.Payload, recs[i].Payload) {
			return errTaken
		}
	}
	for _, r := range recs {
		t.addOne(r.Clone(), keep)
	}
	return nil
}

func (t *eventTable) addOne(r events.Record, keep bool) {
	run := t.run(r.Tenant, r.RunID)
	switch {
	case run.ids[r.ID] != nil:
		return
	case run.ids == nil:
		run.ids = map[string]*event{}
		if t.tenants[r.Tenant] == nil {
			t.tenants[r.Tenant] = map[string]*eventsOfARun{}
		}
		t.tenants[r.Tenant][r.RunID] = run
	}
	t.last++
	e := &event{t.last, r}
	run.ids[r.ID] = e
	if keep {
		run.kept = append(run.kept, e)
	} else {
		run.waiting = append(run.waiting, e)
		t.waiting.Insert(e)
	}
}

// eventPage is how many events that wait are found at a time.
const eventPage = 128

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one store get the same
// events. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	last := uint64(0)
	return driver.Pages(func(behind *events.Record) (page []events.Record, more bool, err error) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if behind == nil {
			last = 0
		}
		page, last = st.events.page(tenant, runID, last)
		return page, len(page) == eventPage, nil
	})
}

// page returns the next events of a run, or of all if it is empty, behind a number, and the number
// of the last of them.
func (t *eventTable) page(tenant, runID string, behind uint64) (page []events.Record, last uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	waiting := t.waiting.From(&event{number: behind + 1})
	if runID != "" {
		waiting = slices.Values(t.run(tenant, runID).waiting)
	}
	for e := range waiting {
		if len(page) == eventPage {
			break
		}
		if e.number > behind {
			page, last = append(page, e.Clone()), e.number
		}
	}
	return page, last
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return min(st.events.countWaiting(tenant), limit), nil
}

// countWaiting counts the events of a tenant that wait, of all if it is empty.
func (t *eventTable) countWaiting(tenant string) (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for name, runs := range t.tenants {
		if tenant != "" && name != tenant {
			continue
		}
		for _, run := range runs {
			n += len(run.waiting)
		}
	}
	return n
}

// Delivered removes events that wait.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &st.events
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range recs {
		run := t.run(r.Tenant, r.RunID)
		if i := slices.Index(run.waiting, run.ids[r.ID]); i >= 0 {
			t.remove(run, &run.waiting, i, i+1)
		}
	}
	return nil
}

// remove removes events from one of the lists of a run.
func (t *eventTable) remove(run *eventsOfARun, list *[]*event, from, to int) {
	for _, e := range (*list)[from:to] {
		if list == &run.waiting {
			t.waiting.Remove(e)
		}
		if delete(run.ids, e.ID); len(run.ids) > 0 {
			continue
		}
		if delete(t.tenants[e.Tenant], e.RunID); len(t.tenants[e.Tenant]) == 0 {
			delete(t.tenants, e.Tenant)
		}
	}
	*list = slices.Delete(*list, from, to)
}

// Read returns kept events of a run from a sequence on, see [events.Reader].
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &st.events
	t.mu.RLock()
	defer t.mu.RUnlock()
	var page []events.RunEvent
	kept := t.run(tenant, runID).kept
	for n := max(from, 0); n < int64(len(kept)) && len(page) < events.PageSize(limit); n++ {
		page = append(page, events.RunEvent{Record: kept[n].Clone(), Sequence: n})
	}
	return page, nil
}

// PurgeEvents removes the kept events of runs whose newest one is from before an instant, at
// most limit runs of them. It looks at every run.
func (st *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t := &st.events
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, runs := range t.tenants {
		for _, run := range runs {
			if n := len(run.kept); n > 0 && run.kept[n-1].Time.Before(before) {
				if limit--; limit < 0 {
					return true, nil
				}
				t.remove(run, &run.kept, 0, n)
			}
		}
	}
	return false, nil
}

// drop removes events of a tenant, some limit of them, and returns how many it has removed. What
// is kept of a run is removed at once.
func (t *eventTable) drop(tenant string, limit int) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, run := range t.tenants[tenant] {
		if n >= limit {
			break
		}
		n += len(run.kept)
		t.remove(run, &run.kept, 0, len(run.kept))
		some := min(len(run.waiting), max(0, limit-n))
		n += some
		t.remove(run, &run.waiting, 0, some)
	}
	return n
}

// has reports whether the table has an event of a tenant.
func (t *eventTable) has(tenant string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.tenants[tenant] != nil
}

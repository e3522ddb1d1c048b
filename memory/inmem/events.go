package inmem

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// eventTable has the events of all tenants: those that wait, and those that are kept as the
// logs of their runs. It has its own lock, taken after a tenant's.
type eventTable struct {
	mu       sync.RWMutex
	last     uint64 // the number of the event that came last
	known    map[eventKey]*event
	byNumber ordered[*event] // those that wait, in the order of commits
	byRun    ordered[*event] // the same, in that order for each run
	runs     map[runKey][]*event
}

// event is one that waits or, in runs, is kept under its place there.
type event struct {
	number uint64
	kept   bool
	events.Record
}

type eventKey struct{ tenant, run, id string }

type runKey struct{ tenant, run string }

func keyOf(r *events.Record) eventKey { return eventKey{r.Tenant, r.RunID, r.ID} }

func byNumber(a, b *event) int { return cmp.Compare(a.number, b.number) }

func byRun(a, b *event) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.RunID, b.RunID), byNumber(a, b))
}

func newEventTable() eventTable {
	return eventTable{
		known: map[eventKey]*event{}, runs: map[runKey][]*event{},
		byNumber: ordered[*event]{compare: byNumber}, byRun: ordered[*event]{compare: byRun},
	}
}

var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

// add adds events that are not there, all or none, to those that wait or that are kept.
func (t *eventTable) add(recs []events.Record, keep bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range recs {
		if there := t.known[keyOf(&recs[i])]; there != nil && !events.SamePayload(there.Payload, recs[i].Payload) {
			return errTaken
		}
	}
	for _, r := range recs {
		if t.known[keyOf(&r)] != nil {
			continue
		}
		t.last++
		e := &event{t.last, keep, r.Clone()}
		t.known[keyOf(&r)] = e
		if keep {
			run := runKey{r.Tenant, r.RunID}
			t.runs[run] = append(t.runs[run], e)
		} else {
			t.byNumber.insert(e)
			t.byRun.insert(e)
		}
	}
	return nil
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
	list, first := &t.byNumber, &event{number: behind + 1}
	if runID != "" {
		list, first.Tenant, first.RunID = &t.byRun, tenant, runID
	}
	for e := range list.from(first) {
		if len(page) == eventPage || runID != "" && (e.Tenant != tenant || e.RunID != runID) {
			break
		}
		page, last = append(page, e.Clone()), e.number
	}
	return page, last
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return st.events.waiting(tenant, limit), nil
}

func (t *eventTable) waiting(tenant string, limit int) (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for e := range t.byRun.from(&event{Record: events.Record{Tenant: tenant}}) {
		if tenant != "" && e.Tenant != tenant || n >= limit {
			break
		}
		n++
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
	for i := range recs {
		if e := t.known[keyOf(&recs[i])]; e != nil && !e.kept {
			t.remove(e)
		}
	}
	return nil
}

// remove removes an event that waits.
func (t *eventTable) remove(e *event) {
	delete(t.known, keyOf(&e.Record))
	t.byNumber.remove(e)
	t.byRun.remove(e)
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
	run := t.runs[runKey{tenant, runID}]
	for n := max(from, 0); n < int64(len(run)) && len(page) < events.PageSize(limit); n++ {
		page = append(page, events.RunEvent{Record: run[n].Clone(), Sequence: n})
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
	for key, run := range t.runs {
		if run[len(run)-1].Time.Before(before) {
			if limit--; limit < 0 {
				return true, nil
			}
			t.removeRun(key)
		}
	}
	return false, nil
}

// removeRun removes the kept events of a run.
func (t *eventTable) removeRun(key runKey) {
	for _, e := range t.runs[key] {
		delete(t.known, keyOf(&e.Record))
	}
	delete(t.runs, key)
}

// drop removes events of a tenant, some limit of them, and returns how many it has removed. What
// is kept of a run is removed at once.
func (t *eventTable) drop(tenant string, limit int) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, run := range t.runs {
		if key.tenant == tenant && n < limit {
			n += len(run)
			t.removeRun(key)
		}
	}
	var found []*event
	for e := range t.byRun.from(&event{Record: events.Record{Tenant: tenant}}) {
		if e.Tenant != tenant || n+len(found) >= limit {
			break
		}
		found = append(found, e)
	}
	for _, e := range found {
		t.remove(e)
	}
	return n + len(found)
}

// has reports whether the table has an event of a tenant.
func (t *eventTable) has(tenant string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for key := range t.runs {
		if key.tenant == tenant {
			return true
		}
	}
	for e := range t.byRun.from(&event{Record: events.Record{Tenant: tenant}}) {
		return e.Tenant == tenant
	}
	return false
}

package inmem

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// eventTable has the events of all tenants. It has its own lock, taken after a tenant's.
type eventTable struct {
	mu   sync.RWMutex
	last uint64 // the number of the event that came last
	runs map[runKey]*runEvents
}

type runKey struct{ tenant, run string }

// runEvents are the events of a run: those that wait, and those that are kept as its log. There is
// at least one.
type runEvents struct {
	ids           map[string]*event
	waiting, kept []*event // in the order of commits
}

type event struct {
	number uint64
	events.Record
}

func keyOf(r *events.Record) runKey { return runKey{r.Tenant, r.RunID} }

// run returns the events of a run.
func (t *eventTable) run(key runKey) *runEvents {
	if run := t.runs[key]; run != nil {
		return run
	}
	return &runEvents{}
}

var errTaken = driver.ErrConflict.With("the id of an event has another payload", events.ErrTaken)

// add adds events that are not there, all or none, to those that wait or that are kept.
func (t *eventTable) add(recs []events.Record, keep bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range recs {
		there := t.run(keyOf(&recs[i])).ids[recs[i].ID]
		if there != nil && !events.SamePayload(there.Payload, recs[i].Payload) {
			return errTaken
		}
	}
	for i := range recs {
		key := keyOf(&recs[i])
		run := t.runs[key]
		if run == nil {
			run = &runEvents{ids: map[string]*event{}}
			t.runs[key] = run
		}
		if run.ids[recs[i].ID] != nil {
			continue
		}
		t.last++
		e := &event{t.last, recs[i].Clone()}
		run.ids[e.ID] = e
		if keep {
			run.kept = append(run.kept, e)
		} else {
			run.waiting = append(run.waiting, e)
		}
	}
	return nil
}

// Undelivered yields the events of committed mutations that were not marked as
// delivered, in commit order. Nothing is hidden: two relays on one store get the same
// events. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	waiting := func() []*event { return st.events.undelivered(runKey{tenant, runID}) }
	return each(ctx, waiting, func(e *event) (events.Record, bool) { return e.Clone(), true })
}

// undelivered returns the events of a run that wait, or of all if the key names none.
func (t *eventTable) undelivered(key runKey) (waiting []*event) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if key.run != "" {
		return slices.Clone(t.run(key).waiting)
	}
	for _, run := range t.runs {
		waiting = append(waiting, run.waiting...)
	}
	slices.SortFunc(waiting, func(a, b *event) int { return cmp.Compare(a.number, b.number) })
	return waiting
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return min(st.events.countWaiting(tenant), limit), nil
}

// countWaiting counts the events of a tenant that wait, or of all if it is empty.
func (t *eventTable) countWaiting(tenant string) (n int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for key, run := range t.runs {
		if tenant == "" || key.tenant == tenant {
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
	for i := range recs {
		run := t.run(keyOf(&recs[i]))
		if i := slices.Index(run.waiting, run.ids[recs[i].ID]); i >= 0 {
			t.remove(run, &run.waiting, i, i+1)
		}
	}
	return nil
}

// remove removes events from one of the lists of a run.
func (t *eventTable) remove(run *runEvents, list *[]*event, from, to int) {
	for _, e := range (*list)[from:to] {
		if delete(run.ids, e.ID); len(run.ids) == 0 {
			delete(t.runs, keyOf(&e.Record))
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
	kept := t.run(runKey{tenant, runID}).kept
	for n := max(from, 0); n < int64(len(kept)) && len(page) < events.PageSize(limit); n++ {
		page = append(page, events.RunEvent{Record: kept[n].Clone(), Sequence: n})
	}
	return page, nil
}

// PurgeEvents removes the kept events of runs whose first and last one are from before an instant,
// at most limit runs of them. It reads through all runs.
func (st *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t := &st.events
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, run := range t.runs {
		if n := len(run.kept); n > 0 && run.kept[0].Time.Before(before) && run.kept[n-1].Time.Before(before) {
			if limit--; limit < 0 {
				return true, nil
			}
			t.remove(run, &run.kept, 0, n)
		}
	}
	return false, nil
}

// drop removes events of a tenant, some limit of them, and returns how many it has removed and
// whether any is left. What a run has is removed at once.
func (t *eventTable) drop(tenant string, limit int) (n int, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, run := range t.runs {
		if key.tenant != tenant {
			continue
		}
		if n >= limit {
			return n, true
		}
		n += len(run.ids)
		delete(t.runs, key)
	}
	return n, false
}

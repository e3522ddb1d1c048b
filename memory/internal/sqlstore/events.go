package sqlstore

import (
	"context"
	"iter"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/pages"
)

// Events are the statements of a dialect that read events.
type Events struct {
	// Waiting reads PageSize events that wait behind a number, in the order of their numbers, and
	// WaitingOfRun those of one run: number; number, tenant, run.
	Waiting, WaitingOfRun string
	// Count and CountOfTenant count events that wait: limit; limit, tenant.
	Count, CountOfTenant string
	// Kept reads the log of a run from a sequence on: tenant, run, sequence, limit.
	Kept string
	// Claim, if it is set, claims the runs of a page from other processes, by the oldest event of
	// each, and returns the numbers of those that it has got.
	Claim func(ctx context.Context, page []Event) (heads map[int64]bool, err error)
}

// Event is an event with its row.
type Event struct {
	events.RunEvent
	Number int64 // by which events are in the order of commits
	Head   int64 // the number of the oldest event of its run that waits
	size   int   // of the payload
	ill    error // why it cannot be read
}

func (e *Event) bytes() int { return e.size }

// runName is a run of a tenant.
type runName struct{ tenant, id string }

// scanEvent reads the tenant, run, id, type, node, cause, engine, schema, instant, payload, number,
// sequence and head of an event.
func (d *Dialect) scanEvent(row Row) (e Event, err error) {
	var at int64
	var kind string
	var payload []byte
	err = row.Scan((*Name)(&e.Tenant), (*Name)(&e.RunID), (*Name)(&e.ID), &kind, (*Name)(&e.NodeID), (*Name)(&e.CausationID),
		(*Name)(&e.EngineVersion), &e.SchemaVersion, &at, &payload, &e.Number, &e.Sequence, &e.Head)
	if err != nil {
		return e, err
	}
	e.Time, e.size = Instant(at), len(payload)
	if e.Payload, err = events.Decode(events.Type(kind), payload); err != nil {
		e.ill = d.Damaged(err)
	}
	return e, nil
}

// Undelivered yields the events of committed mutations that were not marked as delivered, in commit
// order, a page at a time. What is behind an event that cannot be read waits in its run, as does
// what another process has claimed. The body of the loop may use the store.
func (st *Store) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		text, args := st.d.Events.WaitingOfRun, []any{int64(0), st.d.Name(tenant), st.d.Name(runID)}
		claims := runID == "" && st.d.Events.Claim != nil
		if runID == "" {
			tenant, text, args = "", st.d.Events.Waiting, args[:1]
		}
		var broken error
		ours := map[runName]bool{} // the runs that were met; one that was passed over once stays so
		pages.Of(func(*events.Record) (page []events.Record, more bool, err error) {
			found, more, err := readPage(ctx, st.d, tenant, Query{Text: text, Args: args}, PageSize, st.d.scanEvent, (*Event).bytes)
			var heads map[int64]bool
			if err == nil && claims && len(found) > 0 {
				heads, err = st.d.Events.Claim(ctx, found)
			}
			if err != nil {
				return nil, false, err
			}
			for i := range found {
				e := &found[i]
				run := runName{e.Tenant, e.RunID}
				is, met := ours[run]
				is = (is || !met) && (!claims || heads[e.Head] && (met || e.Head == e.Number))
				if is && e.ill != nil {
					broken, is = e.ill, false
				}
				if ours[run] = is; is {
					page = append(page, e.Record)
				}
				args[0] = e.Number
			}
			if !more {
				err = broken
			}
			return page, more, err
		})(yield)
	}
}

// Waiting counts the events that wait, up to limit.
func (st *Store) Waiting(ctx context.Context, tenant string, limit int) (n int, err error) {
	text, args := st.d.Events.Count, []any{max(0, limit)}
	if tenant != "" {
		text, args = st.d.Events.CountOfTenant, append(args, st.d.Name(tenant))
	}
	err = st.d.Read(ctx, tenant, func() []Query { return []Query{One(text, args, &n)} })
	return n, err
}

// Read returns kept events of a run from a sequence on, see [events.Reader].
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	q := Query{Text: st.d.Events.Kept, Args: []any{st.d.Name(tenant), st.d.Name(runID), from, events.PageSize(limit)}}
	found, _, err := readPage(ctx, st.d, tenant, q, -1, st.d.scanEvent, (*Event).bytes)
	var page []events.RunEvent
	for i := 0; i < len(found) && err == nil; i++ {
		page, err = append(page, found[i].RunEvent), found[i].ill
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

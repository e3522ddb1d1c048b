package memory

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/events"
)

// Relayed tells what a [Bank.Relay] did.
type Relayed struct {
	// Delivered events are in the sink's log.
	Delivered int
	// Stuck are the runs whose events the sink refused. Their order is kept: none
	// of a run's events overtakes another.
	Stuck []RunName
	// Waiting events are left in the outbox, counted up to one more than the
	// bank's MaxUndelivered.
	Waiting int
}

// relayBatch is how many events one call to the sink carries.
const relayBatch = 256

// Relay gives the events of committed mutations to the sink, of all tenants and
// all processes that share the store, each at least once and under one id (E3). A
// run whose events the sink refuses holds up no other run; Relay then returns
// what the sink said as [ErrInternal], with the count of what waits. A host calls
// it in a loop at whatever pace suits its readers; ending a run delivers that
// run's events by itself. It is safe to relay in several processes at once.
func (b *Bank) Relay(ctx context.Context) (Relayed, error) {
	var done Relayed
	if b.tx == nil || b.cfg.Sink == nil {
		return done, nil
	}
	var refused error
	for {
		recs, err := b.tx.Undelivered(ctx, OutboxQuery{Except: done.Stuck, Limit: relayBatch})
		if err != nil {
			return done, shape(err)
		}
		if len(recs) == 0 {
			break
		}
		err = b.deliver(ctx, recs)
		if err == nil {
			done.Delivered += len(recs)
			continue
		}
		if ctx.Err() != nil {
			return done, shape(err)
		}
		for _, run := range byRun(recs) {
			if err := b.deliver(ctx, run); err != nil {
				refused = err
				done.Stuck = append(done.Stuck, RunName{run[0].Tenant, run[0].RunID})
				continue
			}
			done.Delivered += len(run)
		}
	}
	left, err := b.tx.Undelivered(ctx, OutboxQuery{Limit: b.cfg.MaxUndelivered + 1})
	if err != nil {
		return done, shape(err)
	}
	done.Waiting = len(left)
	b.waiting.Store(int64(len(left)))
	return done, shape(refused)
}

// flush delivers what one run has in the outbox.
func (b *Bank) flush(ctx context.Context, tenant, runID string) error {
	if b.tx == nil || b.cfg.Sink == nil {
		return nil
	}
	for {
		recs, err := b.tx.Undelivered(ctx, OutboxQuery{Tenant: tenant, RunID: runID, Limit: relayBatch})
		if err != nil {
			return shape(err)
		}
		if len(recs) == 0 {
			return nil
		}
		if err := b.deliver(ctx, recs); err != nil {
			return shape(err)
		}
	}
}

func (b *Bank) deliver(ctx context.Context, recs []events.Record) error {
	if err := events.Emit(ctx, b.cfg.Sink, recs...); err != nil {
		return failWith(ErrInternal, "the sink failed", err)
	}
	if err := b.tx.Delivered(ctx, recs); err != nil {
		return shape(err)
	}
	b.waiting.Add(int64(-len(recs)))
	return nil
}

// byRun splits records by run, each run's in their order.
func byRun(recs []events.Record) [][]events.Record {
	var runs [][]events.Record
	at := map[RunName]int{}
	for _, r := range recs {
		name := RunName{r.Tenant, r.RunID}
		i, known := at[name]
		if !known {
			i, at[name] = len(runs), len(runs)
			runs = append(runs, nil)
		}
		runs[i] = append(runs[i], r)
	}
	return slices.Clip(runs)
}

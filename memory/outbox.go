package memory

import (
	"context"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/telemetry"
)

// runName is a run or a background pass of a tenant.
type runName struct{ tenant, id string }

// relayBatch is how many events one call to the sink carries.
const relayBatch = 256

// relay gives the events of committed mutations to the sink, of all tenants and all processes
// that share the store, each at least once and under one id (E3). A run whose events the sink
// refuses holds up no other run; the error then is what the sink said, as [ErrInternal], with the
// count of what waits; if the store failed too, errors.Is and errors.As reach both.
func (b *Bank) relay(ctx context.Context) (done Maintained, err error) {
	ctx, span := b.begin(ctx, telemetry.Relay)
	defer span.Done(&err)
	defer done.count(&span)
	if b.tx == nil || b.cfg.Sink == nil || b.traits.ReadOnly {
		return done, nil
	}
	r := relay{bank: b, stuck: map[runName]bool{}, done: &done}
	err = r.deliverAll(ctx, "", "")
	waiting, failed := b.tx.Waiting(ctx, "", b.cfg.MaxUndelivered+1)
	if failed == nil {
		done.Waiting = waiting
		span.Add(telemetry.Waiting.Of(waiting))
	}
	if err != nil && r.refused == nil {
		return done, err
	}
	if failed != nil {
		return done, shape(failed)
	}
	return done, joinErrors(r.refused, err)
}

// count counts what was delivered.
func (d *Maintained) count(span *telemetry.Span) {
	stuck := 0
	for _, runs := range d.Stuck {
		stuck += len(runs)
	}
	span.Add(telemetry.Events.Of(d.Delivered), telemetry.Stuck.Of(stuck))
	span.Oldest = d.Oldest
}

// flush delivers what one run has in the outbox.
func (b *Bank) flush(ctx context.Context, tenant, runID string) (err error) {
	if b.tx == nil || b.cfg.Sink == nil || b.traits.ReadOnly {
		return nil
	}
	ctx, span := b.begin(ctx, telemetry.Flush)
	defer span.Done(&err)
	r := relay{bank: b, stuck: map[runName]bool{}, done: new(Maintained)}
	defer r.done.count(&span)
	err = r.deliverAll(ctx, tenant, runID)
	if r.refused != nil {
		return r.refused
	}
	return err
}

// relay delivers what is in the outbox, once over all of it.
type relay struct {
	bank    *Bank
	stuck   map[runName]bool
	refused error // what the sink said last
	done    *Maintained
}

// deliverAll delivers what waits of a run, or of all, batch by batch.
func (r *relay) deliverAll(ctx context.Context, tenant, runID string) error {
	batch := make([]events.Record, 0, relayBatch)
	for rec, err := range r.bank.tx.Undelivered(ctx, tenant, runID) {
		if err != nil {
			return joinErrors(r.deliver(ctx, batch), shape(err))
		}
		if r.stuck[nameOf(&rec)] {
			continue
		}
		if batch = append(batch, rec); len(batch) == relayBatch {
			if err := r.deliver(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return r.deliver(ctx, batch)
}

// deliver gives a batch to the sink, run by run if the sink does not take it whole. Its
// error is one of the store or the context.
func (r *relay) deliver(ctx context.Context, batch []events.Record) error {
	if len(batch) == 0 {
		return ctx.Err()
	}
	refused, err := r.emit(ctx, batch)
	if err != nil {
		r.noteAge(batch)
	}
	if refused == nil || err != nil {
		return err
	}
	for _, run := range byRun(batch) {
		refused, err := r.emit(ctx, run)
		if refused != nil || err != nil {
			r.noteAge(run)
		}
		if err != nil {
			return err
		}
		if refused != nil {
			r.refused = refused
			r.stuck[nameOf(&run[0])] = true
			if r.done.Stuck == nil {
				r.done.Stuck = map[string][]string{}
			}
			r.done.Stuck[run[0].Tenant] = append(r.done.Stuck[run[0].Tenant], run[0].RunID)
		}
	}
	return nil
}

// noteAge notes the age of events that could not be delivered.
func (r *relay) noteAge(recs []events.Record) {
	for i := range recs {
		r.done.Oldest = max(r.done.Oldest, r.bank.Now().Sub(recs[i].Time))
	}
}

// emit gives records to the sink and takes them out of the outbox.
func (r *relay) emit(ctx context.Context, recs []events.Record) (refused, err error) {
	if err := r.bank.emitTo(ctx, r.bank.cfg.Sink, recs); err != nil {
		failed := hostFailed(ctx, "the sink", err)
		if err == ctx.Err() || hostcall.Late(err) {
			return nil, failed // it hangs: call it no more in this relay
		}
		return failed, nil
	}
	if err := r.bank.tx.Delivered(ctx, recs); err != nil {
		return nil, shape(err)
	}
	r.done.Delivered += len(recs)
	for i := range recs {
		r.bank.backlog.add(recs[i].Tenant, -1)
	}
	return nil, nil
}

// emitTo gives records to a sink, which gets copies: what it does with them, even too late,
// changes nothing that waits.
func (b *Bank) emitTo(ctx context.Context, sink events.Sink, recs []events.Record) error {
	own := make([]events.Record, len(recs))
	for i, rec := range recs {
		own[i] = rec.Clone()
	}
	_, err := hostcall.Call(ctx, "the sink", PluginTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, events.Emit(ctx, sink, own...)
	})
	return err
}

func nameOf(r *events.Record) runName { return runName{r.Tenant, r.RunID} }

// byRun splits records by run, each run's in their order.
func byRun(recs []events.Record) [][]events.Record {
	var runs [][]events.Record
	at := map[runName]int{}
	for i := range recs {
		name := nameOf(&recs[i])
		k, known := at[name]
		if !known {
			k, at[name] = len(runs), len(runs)
			runs = append(runs, nil)
		}
		runs[k] = append(runs[k], recs[i])
	}
	return runs
}

package memory

import (
	"context"

	"github.com/openwop/agentmemory/events"
)

// source is the scope that a pass reads from.
func (w writer) source(ctx context.Context, ref string) (Scope, error) {
	if err := ctx.Err(); err != nil {
		return Scope{}, shape(err)
	}
	return w.bank.resolve(ctx, w.tenant, ref)
}

// target is the scope that a write goes to.
func (w writer) target(ctx context.Context, ref string) (Scope, error) {
	if w.bank.traits.ReadOnly {
		return Scope{}, fail(ErrNotProvided, "the store is read-only")
	}
	s, err := w.source(ctx, ref)
	if err != nil {
		return Scope{}, err
	}
	for _, id := range []string{ref, w.runID, w.tenant} {
		if err := w.identifier(id); err != nil {
			return Scope{}, err
		}
	}
	return s, nil
}

// put writes one entry, with its event where the bank announces writes. A store
// without transactions has no version to return.
func (w writer) put(ctx context.Context, s Scope, e Entry, d Draft) (Version, error) {
	if w.bank.tx == nil {
		return "", shape(w.bank.store.Put(ctx, s, e))
	}
	m := Mutation{At: e.CreatedAt, Put: []Placed{{s, e}}}
	if w.bank.cfg.WriteEvents {
		rec := w.written(s, &e, d)
		if d.CreatedAt.IsZero() {
			rec.Time = e.CreatedAt // a replay takes the entry's instant from here
		}
		m.Events = []events.Record{rec}
	}
	return w.bank.apply(ctx, s.Tenant, m)
}

// written is the event that attributes a write (RFC 0057 §A).
func (w writer) written(s Scope, e *Entry, d Draft) events.Record {
	p := events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID, NodeID: d.NodeID, AgentID: d.AgentID}
	if w.bank.cfg.EventTags && len(e.Tags) > 0 {
		p.Tags = e.Tags
	}
	r := w.record(p)
	r.NodeID = d.NodeID
	return r
}

// record wraps a payload for the log of the run or pass.
func (w writer) record(p events.Payload) events.Record {
	now := w.bank.Now()
	return events.Record{
		ID:      w.bank.ids.next("evt_", now),
		Tenant:  w.tenant,
		RunID:   w.runID,
		Time:    now,
		Payload: p,
	}
}

// apply commits a mutation, unless its events would pile up.
func (b *Bank) apply(ctx context.Context, tenant string, m Mutation) (Version, error) {
	if len(m.Events) > 0 {
		if b.waiting.Load() >= int64(b.cfg.MaxUndelivered) {
			return "", fail(ErrBacklog, "")
		}
		for i := range m.Events {
			if err := m.Events[i].Validate(); err != nil {
				return "", failWith(ErrValidation, "an event breaks its schema", err)
			}
		}
	}
	v, err := b.tx.Apply(ctx, tenant, m)
	if err != nil {
		return "", shape(err)
	}
	b.waiting.Add(int64(len(m.Events)))
	return v, nil
}

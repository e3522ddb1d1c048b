package memory

import (
	"context"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory/driver"
)

// target is the scope that a write goes to. Every identifier that goes into the store
// with it is checked: see [writer.identifiers].
func (w writer) target(ctx context.Context, ref string) (Scope, error) {
	if w.bank.traits.ReadOnly {
		return w.tenantScope(ctx)
	}
	s, err := w.bank.resolve(ctx, w.tenant, ref)
	if err != nil {
		return Scope{}, err
	}
	return s, w.identifiers(ctx, w.run(), w.owner(), name{"the memoryRef", ref})
}

var errReadOnly = fail(ErrNotProvided, "the bank, or its store, is read-only: change memory by another bank")

// changeable refuses what a store cannot do that does not offer transactions or is read-only.
func (b *Bank) changeable(what string) error {
	switch {
	case b.tx == nil:
		return fail(ErrNotProvided, what+" needs a store that is a driver.Transactor")
	case b.traits.ReadOnly:
		return errReadOnly
	}
	return nil
}

// tenantScope returns the scope of the tenant's own documents, for a write to them.
func (w writer) tenantScope(ctx context.Context) (Scope, error) {
	if w.bank.traits.ReadOnly {
		return Scope{}, errReadOnly
	}
	if err := w.bank.checkClock(); err != nil {
		return Scope{}, err
	}
	return Scope{Tenant: w.tenant}, w.identifiers(ctx, w.run(), w.owner())
}

// store writes an entry, once under its key, and returns what is there.
func (w writer) store(ctx context.Context, s Scope, e Entry, d Draft) (Entry, error) {
	if d.Key != "" {
		return w.putKeyed(ctx, s, e, d)
	}
	if err := w.put(ctx, s, e, d); err != nil {
		return Entry{}, err
	}
	return ownCopy(e), nil
}

// put writes one entry, with its event where the bank announces writes. An entry that
// nothing goes with needs no mutation.
func (w writer) put(ctx context.Context, s Scope, e Entry, d Draft) error {
	if w.bank.tx == nil || !w.bank.cfg.WriteEvents && w.bank.cfg.Limits == nil && d.Key == "" {
		return shape(w.bank.store.Put(ctx, s, e))
	}
	_, err := w.bank.apply(ctx, s.Tenant, w.putting(s, e, d))
	return err
}

// putting is the mutation that writes one entry, with its event and its key.
func (w writer) putting(s Scope, e Entry, d Draft) driver.Mutation {
	m := driver.Mutation{At: e.CreatedAt, Put: []driver.Placed{{Scope: s, Entry: e}}}
	if w.bank.cfg.WriteEvents {
		rec := w.writeEvent(s, &e, d)
		if d.CreatedAt.IsZero() {
			rec.Time = e.CreatedAt // a replay takes the entry's instant from here
		}
		m.Events = []events.Record{rec}
	}
	if d.Key != "" {
		key := keyDocument(s, d.Key)
		key.Of = []string{e.ID}
		m.Documents = []driver.DocumentSwap{{Document: key}}
	}
	return m
}

// writeEvent is the event that attributes a write (RFC 0057 §A).
func (w writer) writeEvent(s Scope, e *Entry, d Draft) events.Record {
	r := w.record(events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID, NodeID: d.NodeID, AgentID: d.AgentID})
	r.NodeID = d.NodeID
	return r
}

// record wraps a payload for the log of the run or pass.
func (w writer) record(p events.Payload) events.Record {
	now := w.bank.Now()
	return events.Record{
		ID:      w.bank.ids.next(eventPrefix, now),
		Tenant:  w.tenant,
		RunID:   w.runID,
		Time:    now,
		Payload: p,
	}
}

// apply commits a mutation within the tenant's Config.Limits.
func (b *Bank) apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if b.cfg.Limits != nil && len(m.Put)+len(m.Restore)+len(m.Events) > 0 {
		var err error
		m.Limits, err = hostcall.Call(ctx, "the limits", PluginTimeout, func(ctx context.Context) (driver.Limits, error) { return b.cfg.Limits(ctx, tenant) })
		if err != nil {
			return driver.Applied{}, hostFailed(ctx, "the limits", err)
		}
	}
	return b.commit(ctx, tenant, m)
}

// commit commits a mutation, unless its events would pile up.
func (b *Bank) commit(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if b.traits.ReadOnly {
		return driver.Applied{}, errReadOnly
	}
	m.Keep = b.cfg.KeepEvents > 0 && len(m.Events) > 0
	for i := range m.Documents {
		m.Documents[i].Due = millisUp(m.Documents[i].Due)
	}
	if len(m.Events) > 0 {
		if !m.Keep {
			if err := b.checkBacklog(ctx, tenant); err != nil {
				return driver.Applied{}, err
			}
		}
		for i := range m.Events {
			if err := m.Events[i].Validate(); err != nil {
				return driver.Applied{}, invalidEvent(err)
			}
		}
	}
	made, err := b.tx.Apply(ctx, tenant, m)
	if err != nil {
		return driver.Applied{}, shape(err)
	}
	if !m.Keep {
		b.backlog.add(tenant, len(m.Events))
	}
	return made, nil
}

package crashload

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// expected is an event that must be there once.
type expected struct {
	op  *operation
	run runKey
	is  func(*delivered) bool
}

// expectedOfEntries are the events that go with entries that are there, and with passes
// that were acknowledged.
func (v *verifier) expectedOfEntries() []expected {
	var all []expected
	expect := func(op *operation, is func(*delivered) bool) {
		all = append(all, expected{op, runKey{op.Tenant, runOf(op.N)}, is})
	}
	for at, rec := range v.records {
		if op := v.authorOf(at, rec); op != nil {
			expect(op, func(d *delivered) bool {
				p, ok := d.payload.(events.MemoryWritten)
				return ok && p.MemoryRef == at.Ref && p.MemoryID == at.ID
			})
		}
	}
	for _, op := range v.ops {
		switch {
		case op.What == batch && len(v.ofRun[op.N]) > 0:
			expect(op, func(d *delivered) bool { return d.ID == batchEvent(op.N) })
		case op.What == consolidate && op.outcome == done:
			expect(op, func(d *delivered) bool { return d.Type == events.TypeMemoryConsolidated })
		case op.What == distil && (op.outcome == done || len(v.ofRun[op.N]) > 0):
			expect(op, func(d *delivered) bool { return d.Type == events.TypeMemoryCompacted })
		case op.What == write && op.outcome == done:
			expect(op, func(d *delivered) bool { return d.Type == events.TypeWorkspaceUpdated })
		}
	}
	return all
}

// checkEvents looks for every expected event in the sink, and for the cause of every
// event there.
func (v *verifier) checkEvents(ctx context.Context, all []expected) error {
	if err := v.readDeliveries(); err != nil {
		return err
	}
	// What was handed to a process that died may be hidden from a relay for a while,
	// but never from one run.
	missing := map[runKey]bool{}
	for _, x := range all {
		if v.count(x) == 0 {
			missing[x.run] = true
		}
	}
	for _, op := range v.ops {
		if run := (runKey{op.Tenant, runOf(op.N)}); op.unknown() && len(v.deliveries[run]) == 0 {
			missing[run] = true
		}
	}
	for run := range missing {
		if err := v.fetch(ctx, run); err != nil {
			return err
		}
	}
	if err := v.readDeliveries(); err != nil {
		return err
	}
	for _, x := range all {
		switch n := v.count(x); {
		case n == 0:
			v.wrong(x.op, "an event of it is lost")
		case n > 1:
			v.wrong(x.op, "an event of it came under %d ids", n)
		}
	}
	if v.impostors > 0 {
		v.astray("%d events came under the id of another", v.impostors)
	}
	for run, list := range v.deliveries {
		for _, d := range list {
			v.checkCause(run, d)
		}
	}
	return nil
}

func (v *verifier) count(x expected) int {
	n := 0
	for _, d := range v.deliveries[x.run] {
		if x.is(d) {
			n++
		}
	}
	return n
}

// fetch delivers what one run has in the outbox.
func (v *verifier) fetch(ctx context.Context, run runKey) error {
	var recs []events.Record
	for rec, err := range v.store.Undelivered(ctx, driver.OutboxQuery{Tenant: run.tenant, RunID: run.run}) {
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	if err := v.Emit(ctx, recs...); err != nil {
		return err
	}
	return v.store.Delivered(ctx, recs)
}

// checkCause looks for what an event tells of.
func (v *verifier) checkCause(run runKey, d *delivered) {
	op := v.byNumber[operationOf(run.run)]
	entry := func(ref, id string) {
		rec, there := v.records[memory.Located{Scope: memory.Scope{Tenant: run.tenant, Ref: ref}, ID: id}]
		switch {
		case op == nil:
			v.astray("an event tells of an entry that no operation wrote")
		case !there:
			v.wrong(op, "an event tells of an entry that is not there")
		case !rec.Erased && rec.Entry.RunID != run.run:
			v.wrong(op, "an event tells of an entry of another operation")
		}
	}
	switch p := d.payload.(type) {
	case events.MemoryWritten:
		entry(p.MemoryRef, p.MemoryID)
	case events.MemoryCompacted:
		entry(p.MemoryRef, p.OutputID)
	case events.MemoryConsolidated:
		if op == nil || (op.What != consolidate && len(v.ofRun[op.N]) == 0) {
			v.astray("an event tells of a pass that no operation made")
		}
	case events.CommitmentFired:
		starts := v.starts[place{run.tenant, run.run}]
		if !slices.ContainsFunc(starts, func(s start) bool { return s.Key == d.ID && s.Run == p.EnqueuedRunID }) {
			v.astray("an event tells of a run that was not started")
		}
	}
}

// checkFiles looks for one event for each version of a file: of those of the load, and of
// the index of archives.
func (v *verifier) checkFiles() {
	type edition struct {
		place
		version int64
	}
	told, due := map[edition]int{}, map[edition]*operation{}
	for _, op := range v.ops {
		if op.What == write && op.outcome == done {
			due[edition{place{op.Tenant, op.Ref}, int64(op.out.Size)}] = op
		}
	}
	kept := map[place]*operation{}
	for name, d := range v.documents {
		var f file
		if list := v.changes[name]; len(list) > 0 && (d.Kind == fileKind || d.Key == distill.IndexPath) && json.Unmarshal(d.Value, &f) == nil {
			at, op := place{name.Tenant, name.key}, list[len(list)-1].operation
			for kept[at] = op; f.Version > 0; f.Version-- {
				due[edition{at, f.Version}] = op
			}
		}
	}
	for run, list := range v.deliveries {
		for _, d := range list {
			if p, ok := d.payload.(events.WorkspaceUpdated); ok {
				told[edition{place{run.tenant, p.Path}, p.Version}]++
			}
		}
	}
	for e, op := range due {
		if told[e] != 1 {
			v.wrong(op, "version %d of the file has %d events instead of one", e.version, told[e])
		}
	}
	for e := range told {
		if op := kept[e.place]; op != nil && due[e] == nil {
			v.wrong(op, "an event tells of a version of the file that is not there")
		}
	}
}

package consolidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// undone are the groups that were taken back: each id with the names of those that it was part
// of. Two entries that share one are kept apart.
type undone map[string][]string

// readUndone reads all that was undone in a ref.
func readUndone(ctx context.Context, job *memory.Job, ref string) (undone, error) {
	u := undone{}
	for d, err := range job.Documents(ctx, ref, driver.DocumentQuery{Kind: undoneKind}) {
		if err != nil {
			return nil, err
		}
		var g Group
		if err := decode(d, &g); err != nil {
			return nil, err
		}
		for _, id := range g.ids() {
			u[id] = append(u[id], cmp.Or(g.Keep, d.Key)) // the same of all steps of a large group
		}
	}
	return u, nil
}

// without is the group without entries that are to be kept apart: from the one that stays, and
// unless it supersedes them from those before them too.
func (u undone) without(g Group) Group {
	taken := map[string]bool{}
	isTaken := func(name string) bool { return taken[name] }
	take := func(id string) {
		for _, name := range u[id] {
			taken[name] = true
		}
	}
	take(g.Keep)
	g.Retire = slices.DeleteFunc(slices.Clone(g.Retire), func(id string) bool {
		apart := slices.ContainsFunc(u[id], isTaken)
		if !apart && !g.Superseded {
			take(id)
		}
		return apart
	})
	return g
}

// Undo restores what a pass retired, as long as its journal is kept, see [Retention],
// by the rules of M10: what has expired or was erased is not restored, nor what was retired
// in favour of an entry that was deleted since, because deleting an entry deletes that too.
// A text that the pass wrote ends, if it is still live. What is restored is
// neither merged with the same entries again nor superseded by them.
//
// It returns how many entries are live again. A pass that the ref does not know, or
// that changed nothing, gives 0. It takes the scope's lease, so it fails with
// [memory.ErrConflict] while a pass is under way. After an error it can be called
// again.
func (c *Consolidator) Undo(ctx context.Context, job *memory.Job, ref, pass string) (restored int, err error) {
	p, err := c.newPass(job, ref, Options{})
	if err != nil {
		return 0, err
	}
	ctx, span := job.Begin(ctx, telemetry.Undo)
	defer span.Done(&err)
	defer func() { span.Add(telemetry.Restored.Of(restored)) }()
	if _, err := p.readLease(ctx); err != nil {
		return 0, err
	}
	if err := p.hold(ctx); err != nil {
		return 0, err
	}
	defer p.release(ctx)
	records := map[string]memory.Record{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return 0, err
		}
		records[rec.Entry.ID] = rec
	}
	for d, err := range job.Documents(ctx, ref, driver.DocumentQuery{Kind: memory.RemoveWhenDue, Group: hash(pass)}) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return restored, err
		}
		n, err := p.undoGroup(ctx, d, records)
		if err != nil {
			return restored, err
		}
		restored += n
	}
	return restored, nil
}

// undoGroup restores one group and records that its entries are to be kept apart.
func (p *pass) undoGroup(ctx context.Context, d driver.Document, records map[string]memory.Record) (int, error) {
	var g Group
	if err := decode(d, &g); err != nil {
		return 0, err
	}
	isLive := func(rec memory.Record) bool { return !rec.Erased && rec.Entry.LiveAt(p.job.Now()) }
	var rw memory.Rewrite
	for _, id := range g.Retire {
		rec := records[id]
		if rec.State != g.state() || !isLive(rec) || g.Keep != "" && rec.For != g.Keep || headDeleted(records, rec) {
			continue
		}
		rw.Restore = append(rw.Restore, id)
		if made := records[rec.For]; g.Keep == "" && made.State == memory.Live && isLive(made) && len(rw.Retire) == 0 {
			rw.Retire = append(rw.Retire, memory.Retire{ID: made.Entry.ID, State: memory.Deleted})
		}
	}
	if len(rw.Restore) == 0 {
		return 0, nil
	}
	mark := driver.Document{Scope: d.Scope, Kind: undoneKind, Key: fmt.Sprintf("%016x", p.lease.doc.Rev), Value: d.Value}
	_, err := p.commit(ctx, rw, p.held(), driver.DocumentSwap{Document: mark})
	if errors.Is(err, errStale) {
		return 0, nil
	}
	return len(rw.Restore), err
}

// headDeleted reports whether the lineage of a retired entry ends in one that was
// deleted.
func headDeleted(records map[string]memory.Record, rec memory.Record) bool {
	for rec.State == memory.Merged || rec.State == memory.Superseded {
		rec = records[rec.For]
	}
	return rec.State == memory.Deleted
}

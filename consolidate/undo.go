package consolidate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// group is what one mutation of a pass retired. The journal has a document for each, and
// so has the list of what was undone.
type group struct {
	To   driver.State `json:"to"`             // what the entries became
	Keep string       `json:"keep,omitempty"` // the entry that stayed; empty where a new text took their place
	IDs  []string     `json:"ids"`
}

// journal is the document of a group. The revision of the lease, which every mutation
// raises, makes its key.
func (p *pass) journal(g group) (driver.DocumentSwap, error) {
	value, err := json.Marshal(g)
	return driver.DocumentSwap{Document: driver.Document{
		Scope: p.lease.doc.Scope, Kind: memory.UntilDue, Key: fmt.Sprintf("%s%016x", journalKey, p.lease.doc.Rev),
		Group: hash(p.job.ID()), Value: value, Due: p.job.Now().Add(Retention),
	}}, err
}

// readGroup takes a group from its document.
func readGroup(d driver.Document) (g group, err error) {
	if json.Unmarshal(d.Value, &g) != nil {
		err = internal("a group of the journal cannot be read", nil)
	}
	return g, err
}

// undone are the merges and supersessions that were taken back: each id with the names of
// those that it was part of. Two entries that share one are kept apart.
type undone map[string][]string

func (u undone) add(g group, key string) {
	name := fmt.Sprint(g.To, " ", g.Keep)
	if g.Keep == "" {
		name = key
	}
	for _, id := range append(asList(g.Keep), g.IDs...) {
		if !slices.Contains(u[id], name) {
			u[id] = append(u[id], name)
		}
	}
}

// mergeable returns the first of some ids and those that need not be kept apart from any before
// them.
func (u undone) mergeable(ids []string) []string {
	if len(u) == 0 {
		return ids
	}
	taken := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		for _, name := range u[id] {
			if taken[name] {
				return true
			}
		}
		for _, name := range u[id] {
			taken[name] = true
		}
		return false
	})
}

// anyApart reports whether any two of some ids are kept apart.
func (u undone) anyApart(ids ...string) bool { return len(u.mergeable(ids)) < len(ids) }

// readUndone reads all that was undone in a ref.
func readUndone(ctx context.Context, job *memory.Job, ref string) (undone, error) {
	u := undone{}
	for d, err := range job.Documents(ctx, ref, driver.DocumentQuery{Kind: undoneKind}) {
		if err != nil {
			return nil, err
		}
		g, err := readGroup(d)
		if err != nil {
			return nil, err
		}
		u.add(g, d.Key)
	}
	return u, nil
}

// Undo brings back what a pass retired, as long as its journal is kept, see [Retention],
// by the rules of M10: what has expired or was erased stays away, and so does what went to
// an entry that was deleted since, because deleting takes along what was retired in its
// favour. A text that the pass wrote ends, if it is still live. What is brought back is
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
	if err := p.acquire(ctx); err != nil {
		return 0, err
	}
	n, err := p.undo(ctx, pass)
	p.release(ctx)
	return n, err
}

func (p *pass) undo(ctx context.Context, pass string) (restored int, err error) {
	records := map[string]memory.Record{}
	for rec, err := range p.job.History(ctx, p.ref) {
		if err != nil {
			return 0, err
		}
		records[rec.Entry.ID] = rec
	}
	for d, err := range p.job.Documents(ctx, p.ref, driver.DocumentQuery{Kind: memory.UntilDue, Group: hash(pass)}) {
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
	g, err := readGroup(d)
	if err != nil {
		return 0, err
	}
	var rw memory.Rewrite
	for _, id := range g.IDs {
		rec, known := records[id]
		now := p.job.Now()
		if !known || rec.State != g.To || rec.Erased || !rec.Entry.LiveAt(now) ||
			g.Keep != "" && rec.For != g.Keep || headDeleted(records, rec) {
			continue
		}
		rw.Restore = append(rw.Restore, id)
		if made := records[rec.For]; g.Keep == "" && made.State == memory.Live && !made.Erased && made.Entry.LiveAt(now) && len(rw.Retire) == 0 {
			rw.Retire = append(rw.Retire, memory.Retire{ID: made.Entry.ID, State: memory.Deleted})
		}
	}
	if len(rw.Restore) == 0 {
		return 0, nil
	}
	mark := driver.Document{Scope: d.Scope, Kind: undoneKind, Key: fmt.Sprintf("%016x", p.lease.doc.Rev), Value: d.Value}
	_, err = p.commit(ctx, rw, func(*state) {}, driver.DocumentSwap{Document: mark})
	if errors.Is(err, errStale) {
		return 0, nil
	}
	return len(rw.Restore), err
}

// headDeleted reports whether the lineage of a retired entry ends in one that was
// deleted.
func headDeleted(records map[string]memory.Record, rec memory.Record) bool {
	for rec.State == memory.Merged || rec.State == memory.Superseded {
		next, known := records[rec.For]
		if !known {
			return false
		}
		rec = next
	}
	return rec.State == memory.Deleted
}

// Weights tells how many distinct entries corroborate each live entry of a ref: those
// that were merged into it, or into one that was (M8). It reads the ref's history.
func Weights(ctx context.Context, job *memory.Job, ref string) (map[string]int, error) {
	into, live := map[string]string{}, map[string]bool{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return nil, err
		}
		switch {
		case rec.State == memory.Merged:
			into[rec.Entry.ID] = rec.For
		case rec.State == memory.Live && !rec.Erased && rec.Entry.LiveAt(job.Now()):
			live[rec.Entry.ID] = true
		}
	}
	weights := map[string]int{}
	for _, head := range into {
		for next, merged := into[head]; merged; next, merged = into[head] {
			head = next
		}
		if live[head] {
			weights[head]++
		}
	}
	return weights, nil
}

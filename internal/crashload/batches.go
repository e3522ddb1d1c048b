package crashload

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// batchWorker commits several entries at once: by rewrites, which also merge entries of
// the rewrite before, swap documents and announce themselves, and by mutations over two
// refs.
type batchWorker struct {
	ref     string
	last    []string // entries of the last batch, all live
	subject string   // of the first of them
}

// The documents of a batch's ref: machinery that counts the batches, machinery that every
// other batch removes, and for each batch content that is made of its first entry.
const (
	countKind   = "load/count"
	switchKind  = "load/switch"
	contentKind = "load/content"
	theKey      = "the" // of the machinery
)

func (b *batchWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, breath)
	if b.ref == "" {
		b.ref = w.ref("batch")
	}
	if w.rng.IntN(3) == 0 {
		return b.apply(w, ctx)
	}
	if b.subject != "" && w.rng.IntN(6) == 0 {
		subject := b.subject
		b.subject, b.last = "", nil
		return w.forget(ctx, subject)
	}
	n := note{
		What: batch, Ref: b.ref, Size: 2 + w.rng.IntN(4), Subject: w.ref("matter"),
		Retire: b.last[:min(len(b.last), w.rng.IntN(3))],
	}
	b.subject, b.last = "", nil
	out, err := w.do(n, func(n note) (note, error) { return w.rewrite(ctx, n) })
	if err == nil {
		b.subject, b.last = n.Subject, out.IDs
	}
	return err
}

// rewrite commits a batch.
func (w *worker) rewrite(ctx context.Context, n note) (note, error) {
	job, err := w.job(n)
	if err != nil {
		return note{}, err
	}
	count, err := job.Document(ctx, n.Ref, countKind, theKey)
	if err != nil {
		return note{}, err
	}
	toggle, err := job.Document(ctx, n.Ref, switchKind, theKey)
	if err != nil {
		return note{}, err
	}
	before, _ := strconv.Atoi(string(count.Value))
	count.Value = strconv.AppendInt(nil, int64(before)+1, 10)
	act := memory.Set
	if toggle.Rev != 0 {
		act = memory.Remove
	}
	long := 1
	if w.rng.IntN(32) == 0 {
		long = 2000 // so that the store has to keep it in pieces
	}
	rw := memory.Rewrite{
		Documents: func(stored []memory.Entry) []memory.DocumentSwap {
			return []memory.DocumentSwap{{Document: count}, {Document: toggle, Act: act}, {Document: memory.Document{
				Scope: count.Scope, Class: memory.Content, Kind: contentKind, Key: runOf(n.N),
				Value: []byte(strings.Repeat(w.text(n, 0), long)), Of: []string{stored[0].ID},
			}}}
		},
		Announce: func([]memory.Entry) []memory.Announcement {
			return []memory.Announcement{{ID: batchEvent(n.N), Payload: events.MemoryConsolidated{
				MemoryRef: n.Ref, InputCount: int64(n.Size), OutputCount: int64(n.Size), Trigger: events.ConsolidationOnDemand,
			}}}
		},
	}
	for i := range n.Size {
		d := memory.Derived{Draft: memory.Draft{Content: w.text(n, i), Tags: []string{fmt.Sprintf("member %d of %d", i+1, n.Size)}}}
		if i == 0 {
			d.Merges, d.Subjects = n.Retire, list(n.Subject)
		}
		rw.Derive = append(rw.Derive, d)
	}
	made, err := job.Rewrite(ctx, n.Ref, rw)
	return note{IDs: idsOf(made.Entries), Sum: sumOfEntries(made.Entries)}, err
}

func batchEvent(n int64) string { return "batch-" + strconv.FormatInt(n, 10) }

// apply puts entries into two refs at once, by the store's own primitive.
func (b *batchWorker) apply(w *worker, ctx context.Context) error {
	_, err := w.do(note{What: apply, Ref: b.ref, Size: 2 + w.rng.IntN(3)}, func(n note) (note, error) {
		now := w.bank.Now()
		m := driver.Mutation{At: now}
		var stored []memory.Entry
		for i := range n.Size {
			e := memory.Entry{
				ID: fmt.Sprintf("own_%d_%d", n.N, i), Content: w.text(n, i), Tags: []string{},
				CreatedAt: now.Add(time.Duration(i) * time.Millisecond), RunID: runOf(n.N),
			}
			s := memory.Scope{Tenant: n.Tenant, Ref: sideRef(n.Ref, i)}
			stored = append(stored, e)
			m.Put = append(m.Put, driver.Placed{Scope: s, Entry: e})
			m.Events = append(m.Events, events.Record{
				ID: fmt.Sprintf("evt_%d_%d", n.N, i), Tenant: n.Tenant, RunID: runOf(n.N), Time: now,
				Payload: events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID},
			})
		}
		_, err := w.store.Apply(ctx, n.Tenant, m)
		return note{IDs: idsOf(stored), Sum: sumOfEntries(stored)}, err
	})
	return err
}

// sideRef is where the i-th entry of an apply goes.
func sideRef(ref string, i int) string { return fmt.Sprintf("%s/%d", ref, i%2) }

func idsOf(entries []memory.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

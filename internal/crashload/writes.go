package crashload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// putOne writes one entry by a job of its own. Half of the jobs end, which delivers
// their events; those of the others are left to the relay.
func (w *worker) putOne(ctx context.Context, ref, subject, text string) (string, error) {
	var job *memory.Job
	out, err := w.do(note{What: put, Ref: ref, Subject: subject, Size: 1}, func(n note) (note, error) {
		var err error
		if job, err = w.job(n); err != nil {
			return note{}, err
		}
		d := memory.Draft{Content: cmp.Or(text, w.text(n, 0))}
		if subject != "" {
			d.Subjects = []string{subject}
		}
		e, err := job.Put(ctx, ref, d)
		return note{IDs: []string{e.ID}, Sum: sumOfEntries([]memory.Entry{e})}, err
	})
	if err != nil {
		return "", err
	}
	if w.rng.IntN(2) == 0 {
		err = job.End(ctx)
	}
	return out.IDs[0], err
}

// putWorker puts, deletes and forgets in one ref, and takes versions of it.
type putWorker struct {
	subject string
	mine    []owned // entries that are there as far as it knows
}

type owned struct{ id, subject string }

func (p *putWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, breath)
	const ref = "notes"
	switch p.subject = cmp.Or(p.subject, w.ref("subject")); {
	case w.rng.IntN(100) < 10 && len(p.mine) > 0:
		return p.deleteOne(w, ctx, ref)
	case w.rng.IntN(100) < 8:
		return p.forget(w, ctx)
	case w.rng.IntN(100) < 8:
		return p.version(w, ctx, ref)
	case w.rng.IntN(100) < 8:
		return w.writeFile(ctx)
	}
	id, err := w.putOne(ctx, ref, p.subject, "")
	if id != "" {
		p.mine = append(p.mine, owned{id, p.subject})
	}
	return err
}

func (p *putWorker) deleteOne(w *worker, ctx context.Context, ref string) error {
	i := w.rng.IntN(len(p.mine))
	id := p.mine[i].id
	p.mine = slices.Delete(p.mine, i, i+1)
	_, err := w.do(note{What: remove, Ref: ref, IDs: []string{id}}, func(n note) (note, error) {
		job, err := w.job(n)
		if err != nil {
			return note{}, err
		}
		hit, err := job.Delete(ctx, ref, id)
		return note{Hit: hit}, err
	})
	return err
}

// forget erases all that one subject has. No entry gets that subject again.
func (p *putWorker) forget(w *worker, ctx context.Context) error {
	subject := p.subject
	p.subject = ""
	p.mine = slices.DeleteFunc(p.mine, func(o owned) bool { return o.subject == subject })
	_, err := w.do(note{What: forget, Subject: subject}, func(note) (note, error) {
		_, err := w.bank.Forget(ctx, w.tenant, subject)
		return note{}, err
	})
	return err
}

// version writes down what a ref is at a version. It is read as of now, which is after
// the version, so that the list is that of a view that others have moved on from.
func (p *putWorker) version(w *worker, ctx context.Context, ref string) error {
	v, err := w.memory.Version(ctx, w.tenant)
	if err != nil {
		return err
	}
	entries, err := w.memory.ListAt(ctx, memory.Scope{Tenant: w.tenant, Ref: ref}, v, memory.Query{At: w.bank.Now(), Limit: versionLimit})
	if err != nil {
		return err
	}
	n := note{What: version, Tenant: w.tenant, Ref: ref, Version: string(v)}
	for _, e := range entries {
		n.IDs = append(n.IDs, e.ID)
	}
	if _, err := w.intend(n); err != nil {
		return brokenLoad{err}
	}
	return nil
}

const versionLimit = 20

// writeFile makes the next version of a file that nobody else writes.
func (w *worker) writeFile(ctx context.Context) error {
	path := fmt.Sprintf("notes/%s.txt", w.name)
	old, err := w.stores.Workspace.ReadFile(ctx, w.tenant, path)
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	w.files++
	content := fmt.Sprintf("Draft %d: %x", w.files, w.rng.Uint64())
	_, err = w.do(note{What: write, Ref: path, Size: int(old.Version) + 1, Sum: sum(content)}, func(n note) (note, error) {
		f, err := w.stores.Workspace.WriteFile(ctx, distill.Write{
			Tenant: w.tenant, RunID: runOf(n.N), Path: path, Content: content, ContentType: "text/plain",
			IfMatch: old.ETag, At: w.bank.Now(),
		})
		return note{Size: int(f.Version)}, err
	})
	return err
}

// batchWorker commits several entries at once: by rewrites, which also merge entries of
// the rewrite before, count in a cell and announce themselves, and by mutations over
// two refs.
type batchWorker struct {
	ref  string
	last []string // entries of the last batch, all live
}

const countCell = "count"

func (b *batchWorker) step(w *worker, ctx context.Context) error {
	defer pause(ctx, breath)
	if b.ref == "" {
		b.ref = w.ref("batch")
	}
	if w.rng.IntN(3) == 0 {
		return b.apply(w, ctx)
	}
	merges := b.last[:min(len(b.last), w.rng.IntN(3))]
	n := note{What: batch, Ref: b.ref, Size: 2 + w.rng.IntN(4), Retire: merges}
	b.last = nil
	out, err := w.do(n, func(n note) (note, error) {
		job, err := w.job(n)
		if err != nil {
			return note{}, err
		}
		before, err := job.Cell(ctx, b.ref, countCell)
		if err != nil {
			return note{}, err
		}
		count, _ := strconv.Atoi(string(before))
		rw := memory.Rewrite{
			Cells: []memory.Cell{{Name: countCell, Old: before, New: strconv.AppendInt(nil, int64(count)+1, 10)}},
			Announce: func([]memory.Entry) []memory.Announcement {
				return []memory.Announcement{{ID: batchEvent(n.N), Payload: events.MemoryConsolidated{
					MemoryRef: b.ref, InputCount: int64(n.Size), OutputCount: int64(n.Size), Trigger: events.ConsolidationOnDemand,
				}}}
			},
		}
		for i := range n.Size {
			d := memory.Derived{Draft: memory.Draft{Content: w.text(n, i), Tags: []string{fmt.Sprintf("member %d of %d", i+1, n.Size)}}}
			if i == 0 {
				d.Merges = merges
			}
			rw.Derive = append(rw.Derive, d)
		}
		stored, err := job.Rewrite(ctx, b.ref, rw)
		return note{IDs: idsOf(stored), Sum: sumOfEntries(stored)}, err
	})
	if err == nil {
		b.last = out.IDs
	}
	return err
}

func batchEvent(n int64) string { return "batch-" + strconv.FormatInt(n, 10) }

// apply puts entries into two refs at once, by the store's own primitive.
func (b *batchWorker) apply(w *worker, ctx context.Context) error {
	_, err := w.do(note{What: apply, Ref: b.ref, Size: 2 + w.rng.IntN(3)}, func(n note) (note, error) {
		now := w.bank.Now()
		m := memory.Mutation{At: now}
		var stored []memory.Entry
		for i := range n.Size {
			e := memory.Entry{
				ID: fmt.Sprintf("own_%d_%d", n.N, i), Content: w.text(n, i), Tags: []string{},
				CreatedAt: now.Add(time.Duration(i) * time.Millisecond), RunID: runOf(n.N),
			}
			s := memory.Scope{Tenant: n.Tenant, Ref: sideRef(n.Ref, i)}
			stored = append(stored, e)
			m.Put = append(m.Put, memory.Placed{Scope: s, Entry: e})
			m.Events = append(m.Events, events.Record{
				ID: fmt.Sprintf("evt_%d_%d", n.N, i), Tenant: n.Tenant, RunID: runOf(n.N), Time: now,
				Payload: events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID},
			})
		}
		_, err := w.memory.Apply(ctx, n.Tenant, m)
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

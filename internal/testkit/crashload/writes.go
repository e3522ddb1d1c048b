package crashload

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// putOne writes one entry by a job of its own. Half of the jobs end, which delivers
// their events; those of the others are left to the relay.
func (w *worker) putOne(ctx context.Context, ref, subject, text string) (string, error) {
	var e memory.Entry
	var end func(context.Context) error
	err := w.do(note{What: put}, func(job *memory.Job, n note) (err error) {
		n.Subject, end = subject, job.End
		e, err = job.Put(ctx, ref, memory.Draft{Content: cmp.Or(text, w.text(n, 0)), Subjects: list(subject)})
		return err
	})
	if err == nil && w.rng.IntN(2) == 0 {
		err = end(ctx)
	}
	return e.ID, err
}

// list is what is not empty of one label.
func list(label string) []string {
	if label == "" {
		return nil
	}
	return []string{label}
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
		return p.forgetAll(w, ctx)
	case w.rng.IntN(100) < 8:
		return p.version(w, ctx, ref)
	case w.rng.IntN(100) < 8:
		return w.writeFile(ctx, p.subject)
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
	return w.do(note{What: remove}, func(job *memory.Job, _ note) error {
		_, err := job.Delete(ctx, ref, id)
		return err
	})
}

// forgetAll erases all that its subject has.
func (p *putWorker) forgetAll(w *worker, ctx context.Context) error {
	subject := p.subject
	p.subject = ""
	p.mine = slices.DeleteFunc(p.mine, func(o owned) bool { return o.subject == subject })
	return w.forget(ctx, subject)
}

// forget erases all that one subject has. Nothing gets that subject again.
func (w *worker) forget(ctx context.Context, subject string) error {
	return w.do(note{What: forget, Subject: subject}, func(*memory.Job, note) error {
		_, err := w.bank.Forget(ctx, w.tenant, subject)
		return err
	})
}

// version writes down what a ref is at a version. It is read as of now, which is after
// the version, so that the list is that of a view that others have moved on from.
func (p *putWorker) version(w *worker, ctx context.Context, ref string) error {
	v, err := w.store.Version(ctx, w.tenant)
	if err != nil {
		return err
	}
	entries, err := w.store.List(ctx, memory.Scope{Tenant: w.tenant, Ref: ref}, driver.Query{Version: v, At: w.bank.Now(), Limit: versionLimit})
	if err != nil {
		return err
	}
	n := note{What: version, Tenant: w.tenant, Ref: ref, Version: string(v)}
	for _, e := range entries {
		n.IDs = append(n.IDs, e.ID)
	}
	if _, err := w.intend(w.journal, n); err != nil {
		return brokenLoad{err}
	}
	return nil
}

const versionLimit = 20

// file is the value of the document of a file.
type file struct {
	Version int64
	Content string
}

const fileKind = "load/file"

// writeFile makes the next version of a file about a subject, which no other worker writes.
func (w *worker) writeFile(ctx context.Context, subject string) error {
	return w.do(note{What: write, Ref: "notes/" + subject, Subject: subject}, func(job *memory.Job, n note) error {
		doc, err := job.Document(ctx, "", fileKind, n.Ref)
		if err != nil {
			return err
		}
		var f file
		if doc.Rev != 0 {
			err = json.Unmarshal(doc.Value, &f)
		}
		if err != nil {
			return err
		}
		f.Version, f.Content = f.Version+1, w.text(n, 0)
		doc.Class, doc.Subjects = driver.HostText, list(subject)
		if doc.Value, err = json.Marshal(f); err != nil {
			return err
		}
		_, err = job.Rewrite(ctx, "", memory.Rewrite{
			Documents: func([]memory.Entry) []driver.DocumentSwap { return []driver.DocumentSwap{{Document: doc}} },
			Announce: func([]memory.Entry) []events.Record {
				return []events.Record{{Payload: events.WorkspaceUpdated{Path: n.Ref, Version: f.Version}}}
			},
		})
		return err
	})
}

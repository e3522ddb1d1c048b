package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

const (
	tenant = "acme"
	ref    = "support"
)

// operation is what is measured, once. Prepare makes what it needs, and does not count.
type operation struct {
	name    string
	why     string // it grows, if it does
	prepare func(*world, context.Context) error
	anew    bool // prepare is called each time
	do      func(*world, context.Context) error
}

// operations are what a host calls.
var operations = []operation{
	{name: "put", do: func(w *world, ctx context.Context) error { return w.put(ctx, 1, "") }},
	{name: "get", do: func(w *world, ctx context.Context) error {
		_, err := w.bank.Reader(tenant).Get(ctx, ref, w.known)
		return err
	}},
	{name: "list the newest 100", do: func(w *world, ctx context.Context) error {
		return w.list(ctx, memory.ListOptions{})
	}},
	{name: "list by a tag that 10 carry", why: "the entries of the ref are read until the limit is reached, unless the store has an index of tags",
		do: func(w *world, ctx context.Context) error { return w.list(ctx, memory.ListOptions{Tag: "rare"}) }},
	{name: "list by a tag that nothing carries", why: "as above",
		do: func(w *world, ctx context.Context) error { return w.list(ctx, memory.ListOptions{Tag: "nothing"}) }},
	{name: "search by a subject that 10 have", why: "the store in memory has no index of subjects in the order of a list", do: func(w *world, ctx context.Context) error {
		_, err := w.bank.Search(ctx, tenant, ref, memory.Search{Subject: "customer:rare"})
		return err
	}},
	{name: "start a run, list 100, end", do: func(w *world, ctx context.Context) error {
		run, err := w.start(ctx)
		if err != nil {
			return err
		}
		if _, err = run.Memory().List(ctx, ref, memory.ListOptions{}); err == nil {
			_, err = run.Token(ctx)
		}
		return errors.Join(err, run.End(ctx))
	}},
	{name: "recall by words", why: "every entry that has a word of the question is ranked",
		prepare: func(w *world, ctx context.Context) (err error) {
			for range 20 { // an index can take longer to make than a question waits; its making goes on
				if err = w.recall(ctx); err == nil {
					break
				}
			}
			return err
		},
		do: func(w *world, ctx context.Context) error { return w.recall(ctx) }},
	forget(10), forget(200),
	{name: "a consolidation with nothing to do",
		prepare: func(w *world, ctx context.Context) error { return w.consolidate(ctx) },
		do:      func(w *world, ctx context.Context) error { return w.consolidate(ctx) }},
	{name: "a round of maintenance with nothing to do",
		prepare: func(w *world, ctx context.Context) error {
			for range w.tenants/16 + 2 { // a round notes the versions of 16 tenants
				if err := w.maintain(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		do: func(w *world, ctx context.Context) error { return w.maintain(ctx) }},
}

func forget(n int) operation {
	return operation{name: fmt.Sprintf("forget %d entries of a subject", n), anew: true,
		prepare: func(w *world, ctx context.Context) error { return w.put(ctx, n, "customer:lena") },
		do: func(w *world, ctx context.Context) error {
			_, err := w.bank.Forget(ctx, tenant, "customer:lena")
			return err
		}}
}

// world is a bank over a store that was filled.
type world struct {
	bank    *memory.Bank
	passes  *consolidate.Consolidator
	known   string // the id of an entry
	runs    int
	tenants int
}

func newWorld(store driver.Adapter, tenants int) (*world, error) {
	ranker, err := recall.New(recall.Config{})
	if err != nil {
		return nil, err
	}
	bank, err := memory.New(store, memory.Config{Ranker: ranker})
	if err != nil {
		return nil, err
	}
	passes, err := consolidate.New(consolidate.Config{})
	return &world{bank: bank, passes: passes, tenants: tenants}, err
}

func (w *world) pass(ctx context.Context, f func(*memory.Job) error) error {
	w.runs++
	return w.bank.Pass(ctx, memory.JobConfig{ID: fmt.Sprint("pass-", w.runs), Tenant: tenant, Redactor: redact.New(redact.Config{})}, f)
}

func (w *world) start(ctx context.Context) (*memory.Run, error) {
	w.runs++
	return w.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("run-", w.runs), Tenant: tenant, Redactor: redact.New(redact.Config{})})
}

func (w *world) put(ctx context.Context, n int, subject string) error {
	return w.pass(ctx, func(job *memory.Job) error {
		for i := range n {
			d := memory.Draft{Content: text(-w.runs - i)}
			if subject != "" {
				d.Subjects = []string{subject}
			}
			e, err := job.Put(ctx, ref, d)
			if err != nil {
				return err
			}
			if subject == "" {
				w.known = e.ID
			}
		}
		return nil
	})
}

func (w *world) list(ctx context.Context, o memory.ListOptions) error {
	_, err := w.bank.Reader(tenant).List(ctx, ref, o)
	return err
}

func (w *world) recall(ctx context.Context) error {
	_, err := w.bank.Search(ctx, tenant, ref, memory.Search{Text: "Which invoice is due for customer 77?", Limit: 10})
	return err
}

func (w *world) consolidate(ctx context.Context) error {
	return w.pass(ctx, func(job *memory.Job) error {
		_, err := w.passes.Run(ctx, job, ref, consolidate.Options{})
		return err
	})
}

func (w *world) maintain(ctx context.Context) error {
	_, err := w.bank.Maintain(ctx)
	return err
}

// text is what entry i says: no two say the same.
func text(i int) string {
	return fmt.Sprintf("Note %d: the invoice %d of customer %d is due on day %d, and was sent by %s.", i, i*7, i%1009, i%365, []string{"mail", "post", "courier"}[uint(i)%3])
}

// batch is how many entries one mutation of a filling has.
const batch = 500

// fill puts the entries from one number to before another into the ref, past the bank. Ten of
// them have the rare tag and subject.
func fill(ctx context.Context, store driver.Transactor, from, to int) error {
	began := time.Now().Add(-2_000_000 * time.Millisecond).Truncate(time.Millisecond).UTC()
	for ; from < to; from += batch {
		m := driver.Mutation{At: time.Now().Truncate(time.Millisecond).UTC()}
		for i := from; i < min(from+batch, to); i++ {
			e := driver.Entry{ID: fmt.Sprintf("mem_%026d", i), CreatedAt: began.Add(time.Duration(i) * time.Millisecond), Content: text(i), Tags: []string{"note"}, RunID: "fill"}
			if i < 10 {
				e.Tags, e.Subjects = append(e.Tags, "rare"), []string{"customer:rare"}
			}
			m.Put = append(m.Put, driver.Placed{Scope: driver.Scope{Tenant: tenant, Ref: ref}, Entry: e})
		}
		if _, err := store.Apply(ctx, tenant, m); err != nil {
			return err
		}
	}
	return nil
}

// crowd puts one entry each into so many other tenants.
func crowd(ctx context.Context, store driver.Adapter, n int) error {
	for i := range n {
		e := driver.Entry{ID: "mem_1", CreatedAt: time.Now().Truncate(time.Millisecond).UTC(), Content: text(i), RunID: "fill"}
		if err := store.Put(ctx, driver.Scope{Tenant: fmt.Sprintf("tenant-%07d", i), Ref: ref}, e); err != nil {
			return err
		}
	}
	return nil
}

// measureStore measures every operation at each size of the ref, beside the other tenants.
func measureStore(ctx context.Context, store string, tenants int, sizes []int) (figures []figure, err error) {
	db, err := newDatabase(ctx, store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.remove()) }()
	filled := 0
	for _, size := range sizes {
		st, done, err := db.open(true)
		if err != nil {
			return nil, err
		}
		if filled == 0 {
			err = crowd(ctx, st, tenants-1)
		}
		if err == nil {
			err = fill(ctx, st.(driver.Transactor), filled, size)
		}
		if err = errors.Join(err, done()); err != nil {
			return nil, err
		}
		filled = size
		if st, done, err = db.open(false); err != nil {
			return nil, err
		}
		w, err := newWorld(st, tenants)
		for i := range operations {
			f := figure{store, operations[i].name, size, tenants, 0}
			if err == nil {
				f.Nanoseconds, err = measure(ctx, w, &operations[i])
			}
			figures = append(figures, f)
		}
		if err = errors.Join(err, done()); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// measure returns the median of an operation: of at least 7, for a fifth of a second and more.
func measure(ctx context.Context, w *world, o *operation) (float64, error) {
	var took []time.Duration
	for began := time.Now(); len(took) < 7 || time.Since(began) < time.Second/5 && len(took) < 1000; {
		if o.prepare != nil && (o.anew || len(took) == 0) {
			if err := o.prepare(w, ctx); err != nil {
				return 0, fmt.Errorf("%s: %w", o.name, err)
			}
		}
		start := time.Now()
		if err := o.do(w, ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", o.name, err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return float64(took[len(took)/2]), nil
}

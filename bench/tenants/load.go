package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// zipf is the exponent of the load: the tenant of rank k is drawn in proportion to k^-zipf.
const zipf = 1.1

// work lets clients work for a while, each for so many steps at most, and maintenance
// beside them.
func (w *world) work(ctx context.Context, clients, steps int, span time.Duration, seed uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	var group sync.WaitGroup
	errs := make([]error, clients+1)
	for k := range clients {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(k)))
			z := rand.NewZipf(r, zipf, 1, uint64(w.tenants-1))
			for n := 0; n < steps && time.Since(start) < span && errs[k] == nil; n++ {
				if errs[k] = w.step(ctx, r, int(z.Uint64())); errs[k] != nil {
					cancel() // the others need not go on
				}
			}
		})
	}
	over := make(chan struct{})
	maintained := make(chan struct{})
	began := w.busy
	go func() {
		defer close(maintained)
		errs[clients] = w.keep(ctx, began, over)
	}()
	group.Wait()
	w.busy += time.Since(start)
	close(over)
	<-maintained
	return errors.Join(errs...)
}

// step is one thing that a client does for a tenant.
func (w *world) step(ctx context.Context, r *rand.Rand, tenant int) error {
	switch k := r.IntN(100); {
	case k < 60:
		return w.run(ctx, r, tenant)
	case k < 90:
		return w.recall(ctx, r, tenant)
	case k < 96:
		return w.promise(ctx, r, tenant)
	case k < 98:
		return w.latencies.time("sweep", func() error {
			_, err := w.engine.Sweep(ctx, tenantName(tenant))
			return err
		})
	default:
		return w.forget(ctx, r, tenant)
	}
}

// run is a run of a workflow: it lists what is new, reads an entry, writes one to three,
// deletes one now and then, and ends. One in four does not end, so that its events are left
// to the relay.
func (w *world) run(ctx context.Context, r *rand.Rand, tenant int) error {
	name, b := tenantName(tenant), &w.books[tenant]
	secrets, err := registry()
	if err != nil {
		return err
	}
	var run *memory.Run
	err = w.latencies.time("run start", func() (err error) {
		run, err = w.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("run-", w.runs.Add(1)), Tenant: name, Redactor: secrets})
		return err
	})
	if err != nil {
		return err
	}
	var listed []memory.Entry
	err = w.latencies.time("run list 20", func() (err error) {
		listed, err = run.Memory().List(ctx, ref, memory.ListOptions{Limit: 20})
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range listed {
		if err := check(e, name); err != nil {
			return err
		}
	}
	for range 1 + r.IntN(3) {
		if err := w.put(ctx, "run put", r, run, name, b); err != nil {
			return err
		}
	}
	if len(listed) > 0 {
		e := listed[r.IntN(len(listed))]
		err = w.latencies.time("run get", func() error {
			_, err := run.Memory().Get(ctx, ref, e.ID)
			if errors.Is(err, memory.ErrNotFound) {
				return nil // it was forgotten meanwhile
			}
			return err
		})
		if err == nil && len(listed) > 1 && r.IntN(10) == 0 {
			b.mu.Lock()
			err = w.latencies.time("run delete", func() error {
				_, err := run.Delete(ctx, ref, e.ID)
				return err
			})
			delete(b.live, e.ID)
			b.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}
	if r.IntN(4) == 0 {
		return nil
	}
	return w.latencies.time("run end", func() error { return run.End(ctx) })
}

// put writes an entry, timed as op, one in four of which has a secret before it is redacted, one in
// eight expires, and one in ten is about a person.
func (w *world) put(ctx context.Context, op string, r *rand.Rand, run *memory.Run, name string, b *book) error {
	d := memory.Draft{Content: text(r, name), Tags: []string{"note", words[r.IntN(len(words))]}, NodeID: "answer"}
	if r.IntN(4) == 0 {
		d.Content += " The key is " + secret + "."
	}
	if r.IntN(8) == 0 {
		d.TTL = shortLife
	}
	var k kept
	if r.IntN(10) == 0 {
		k.subject = fmt.Sprint("person-", r.IntN(5))
		d.Subjects = []string{k.subject}
	}
	// A forget of the same tenant does not come between the write and the note.
	b.mu.Lock()
	defer b.mu.Unlock()
	return w.latencies.time(op, func() error {
		e, err := run.Put(ctx, ref, d)
		if err != nil {
			return err
		}
		k.expires = e.ExpiresAt
		b.live[e.ID] = k
		b.put++
		return nil
	})
}

// check reports an entry that is another tenant's, or holds what should be redacted.
func check(e memory.Entry, tenant string) error {
	if !strings.HasPrefix(e.Content, "For "+tenant+":") {
		return errors.New("an entry of another tenant is listed")
	}
	if strings.Contains(e.Content, secret) {
		return errors.New("an entry holds a secret")
	}
	return nil
}

// recall finds five entries. The first question about a tenant reads all it has.
func (w *world) recall(ctx context.Context, r *rand.Rand, tenant int) error {
	name, b := tenantName(tenant), &w.books[tenant]
	b.mu.Lock()
	b.recalls++
	op := "recall"
	if b.recalls == 1 {
		op = "recall, first"
		w.recalled.Add(1)
	}
	b.mu.Unlock()
	var hits []memory.Hit
	err := w.latencies.time(op, func() (err error) {
		question := fmt.Sprintf("Which %s has the %s of the %s?", words[r.IntN(len(words))], words[r.IntN(len(words))], words[r.IntN(len(words))])
		hits, err = w.bank.Search(ctx, name, ref, memory.Search{Text: question, Limit: 5})
		return err
	})
	for _, h := range hits {
		err = errors.Join(err, check(h.Entry, name))
	}
	return err
}

// promise arms a commitment on the newest entry, due within three seconds.
func (w *world) promise(ctx context.Context, r *rand.Rand, tenant int) error {
	newest, err := w.bank.Reader(tenantName(tenant)).List(ctx, ref, memory.ListOptions{Limit: 1})
	if err != nil || len(newest) == 0 {
		return err
	}
	err = w.latencies.time("arm", func() error {
		return w.armFor(ctx, tenant, newest[0].ID, w.now().Add(time.Second+time.Duration(r.Int64N(2e9))))
	})
	if errors.Is(err, memory.ErrNotFound) {
		return nil // the entry is gone meanwhile
	}
	w.armed.Add(1)
	return err
}

// forget forgets a person.
func (w *world) forget(ctx context.Context, r *rand.Rand, tenant int) error {
	b, subject := &w.books[tenant], fmt.Sprint("person-", r.IntN(5))
	b.mu.Lock()
	defer b.mu.Unlock()
	return w.latencies.time("forget", func() error {
		if _, err := w.bank.Forget(ctx, tenantName(tenant), subject); err != nil {
			return err
		}
		for id, k := range b.live {
			if k.subject == subject {
				delete(b.live, id)
			}
		}
		return nil
	})
}

package adaptertest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

func commitmentLaw() law {
	needs := []Offer{Transactor, Scheduler}
	return law{name: "FIRE", number: "K1, K2, K6", says: "commitments on this store fire once, whoever else ticks, and what is settled does not", cases: []testCase{
		pass{"pass", "what is due fires once, though any call fails, what was merged fires for its head, and what was deleted lapses", needs,
			prepareFiring, runFiring, noneFiresTwice, allHaveFired}.testCase(),
		{"at-once", "of engines that tick and observe at the same time one claims each firing", needs, enginesAtOnce},
	}}
}

// runs is an Enqueuer that keeps its contract: one run for a key.
type runs struct {
	mu    sync.Mutex
	byKey map[string]string
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[f.Key] == "" {
		r.byKey[f.Key] = fmt.Sprint("run-", len(r.byKey)+1)
	}
	return r.byKey[f.Key], nil
}

// engine is one that a new process has over the host's bank.
func (h *host) engine() *commitment.Engine {
	e, err := commitment.New(h.bank, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) {
			return redact.New(redact.Config{}), nil
		},
		Enqueuer:  h.queue,
		Predicate: func(string, string) bool { return true },
	})
	h.w.must(err)
	return e
}

// arm writes an entry and arms it. The entry goes past the bank, which would give it a
// random id: the ids of commitments, and so their order, follow from those of entries.
func (h *host) arm(id string, a commitment.Arm) {
	h.w.puts(home, id)
	h.w.did("arm %s", id)
	_, err := h.engine().Arm(h.w.ctx, h.job(home.Tenant, nil), commitment.Source{Ref: home.Ref, MemoryID: id}, a)
	h.w.must(err)
}

// prepareFiring arms what fires four times in three hours: an instant, one of two
// entries that are merged, an interval, and a predicate. Another entry is deleted.
func prepareFiring(w *world, h *host) {
	in := func(d time.Duration) commitment.Arm { return commitment.Arm{At: w.now.Add(d)} }
	h.arm("alone", in(time.Hour))
	h.arm("merged", in(2*time.Hour))
	h.arm("head", in(2*time.Hour))
	h.arm("hourly", commitment.Arm{Every: time.Hour})
	h.arm("signed", commitment.Arm{Predicate: "signed"})
	h.arm("deleted", in(time.Hour))
	w.apply(retired(retire(home, "merged", driver.Merged, "head"), retire(home, "deleted", driver.Deleted, "")))
	w.now = w.now.Add(3 * time.Hour)
}

// runFiring is what a host does in a loop, some times. Leases of whoever went before
// have ended.
func runFiring(w *world, h *host) error {
	w.now = w.now.Add(2 * time.Minute)
	engine := h.engine()
	if _, err := engine.Observe(w.ctx, commitment.Observation{Tenant: home.Tenant, Predicate: "signed", Position: 1, State: []byte("yes"), Holds: true}); err != nil {
		return err
	}
	for range 4 {
		if _, err := engine.Tick(w.ctx); err != nil {
			return err
		}
		w.now = w.now.Add(30 * time.Second)
	}
	_, err := h.bank.Maintain(w.ctx)
	return err
}

// noneFiresTwice is what K2 promises at any time.
func noneFiresTwice(w *world, h *host) {
	w.check(len(h.queue.byKey) <= 4, "at most 4 runs", "%d", len(h.queue.byKey))
	w.swappedOnce()
}

// allHaveFired is what K2 and K3 promise once nothing is under way any more.
func allHaveFired(w *world, h *host) {
	settled(w, 4, h)
	for c, err := range h.engine().Commitments(w.ctx, home.Tenant) {
		w.must(err)
		if c.MemoryID == "deleted" || c.MemoryID == "merged" {
			w.check(c.State == commitment.Lapsed, "a commitment that lapsed with its entry", "one that is %s", c.State)
		}
	}
}

// settled expects so many firings, each with one run and one event in the logs, and
// nothing under way.
func settled(w *world, firings int, hosts ...*host) {
	w.swappedOnce()
	fired := map[string]string{}
	for _, h := range hosts {
		for _, e := range h.log.All() {
			if p, ok := e.Payload.(events.CommitmentFired); ok {
				fired[e.ID] = p.EnqueuedRunID
			}
		}
	}
	h := hosts[0]
	w.check(len(h.queue.byKey) == firings, fmt.Sprint(firings, " runs"), "%d", len(h.queue.byKey))
	w.check(len(fired) == firings, fmt.Sprint(firings, " events"), "%d", len(fired))
	for key, run := range sorted(h.queue.byKey) {
		w.check(fired[key] == run, "an event with the run of each firing", "%q for %s, whose run is %q", fired[key], key, run)
	}
	for c, err := range h.engine().Commitments(w.ctx, home.Tenant) {
		w.must(err)
		switch c.State {
		case commitment.Claimed, commitment.Delivered, commitment.Dead:
			w.fail("nothing under way and nothing given up", fmt.Sprintf("%s is %s", c.ID, c.State))
		}
	}
}

func enginesAtOnce(w *world) {
	first := w.host()
	const timed = 40
	w.quietly(fmt.Sprintf("arm %d instants and a predicate; from 4 engines, tick and observe 5 changes of it", timed), func() {
		for i := range timed {
			first.arm(fmt.Sprint("note-", i), commitment.Arm{At: w.now.Add(time.Hour + time.Duration(i)*time.Millisecond)})
		}
		first.arm("predicate", commitment.Arm{Predicate: "signed"})
		w.now = w.now.Add(2 * time.Hour)
		hosts := []*host{first, w.host(), w.host(), w.host()}
		engines := make([]*commitment.Engine, len(hosts))
		for i, h := range hosts {
			engines[i] = (&host{w: w, bank: h.bank, log: h.log, queue: first.queue}).engine()
		}
		w.parallel(len(hosts), func(i int) {
			for n := range int64(5) {
				_, err := engines[i].Tick(w.ctx)
				w.must(err)
				_, err = engines[i].Observe(w.ctx, commitment.Observation{Tenant: home.Tenant, Predicate: "signed", Position: n, State: []byte{byte(n)}, Holds: true})
				w.must(err)
			}
		})
		for range 8 {
			w.now = w.now.Add(2 * time.Minute)
			_, err := engines[0].Tick(w.ctx)
			w.must(err)
		}
		_, err := first.bank.Maintain(w.ctx)
		w.must(err)
		// A change may pass unseen if an engine was told of a later one first.
		n := len(first.queue.byKey)
		w.check(n > timed && n <= timed+5, fmt.Sprintf("%d to %d runs", timed+1, timed+5), "%d", n)
		settled(w, n, hosts...)
	})
}

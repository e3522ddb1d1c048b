package adaptertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// pass is something a bank does in several calls to the store. Each of the calls is
// made to fail in turn, and then to lose its acknowledgement; whatever happens, what
// whole expects holds, and the same pass again brings about what done expects.
type pass struct {
	name, says string
	needs      []Offer
	prepare    func(w *world, h *host)
	run        func(w *world, h *host) error
	whole      func(w *world, h *host)
	done       func(w *world, h *host)
}

var passes = []pass{
	{"forget-pass", "a forgetting that fails at any call loses nothing of others, and the same again completes it", []Offer{Transactor},
		prepareForget, runForget, othersAreThere, forgetIsDone},
	{"relay-pass", "a relay that fails at any call loses no event, and the same again completes it", []Offer{Transactor},
		prepareRelay, runRelay, nothingToCheck, relayIsDone},
	{"purge-pass", "a purge that fails at any call takes nothing that lives, and the same again completes it", []Offer{Transactor, Versioned},
		preparePurge, runPurge, keptAreThere, purgeIsDone},
}

func nothingToCheck(*world, *host) {}

// waysToFail are what becomes of the n-th call.
var waysToFail = []struct {
	says string
	make func(n int) Fault
}{
	{"fails before the store hears of it", func(n int) Fault { return At(n, Fail(errInjected)) }},
	{"succeeds, and its acknowledgement is lost", func(n int) Fault { return At(n, LoseAnswer(errInjected)) }},
	{"does not reach the store, as the process dies", func(n int) Fault { return From(n, Fail(errInjected)) }},
	{"is the last before the process dies", func(n int) Fault {
		last, after := At(n, LoseAnswer(errInjected)), From(n+1, Fail(errInjected))
		return func(ctx context.Context, c *Call, next func(context.Context) error) error {
			return after(ctx, c, func(ctx context.Context) error { return last(ctx, c, next) })
		}
	}},
}

func (p pass) testCase() testCase {
	return testCase{p.name, p.says, p.needs, func(w *world) { failEachCall(w, p) }}
}

// failEachCall goes on until the pass makes no further call. With -short each call fails in one of
// the ways, which alternate.
func failEachCall(w *world, p pass) {
	for n := 1; ; n++ {
		for k, how := range waysToFail {
			if w.config.Short && (n+k)%len(waysToFail) != 0 {
				continue
			}
			w.restart()
			faults := &injector{world: w}
			h := w.hostOn(faults.over(w.store))
			p.prepare(w, h)
			faults.begin(how.make(n))
			err := p.run(w, h)
			faults.fault = nil
			if len(faults.calls) < n { // the pass is complete without that call
				w.must(err)
				p.done(w, h)
				return
			}
			w.did("the pass runs, and its call %d (%s) %s", n, faults.calls[n-1], how.says)
			p.whole(w, h)
			w.did("the pass runs again")
			w.must(p.run(w, h))
			p.whole(w, h)
			p.done(w, h)
		}
	}
}

// restart begins the case anew on a fresh store.
func (w *world) restart() {
	w.begin()
	w.fresh()
}

func prepareForget(w *world, h *host) {
	w.did("a job puts a of customer 1, b, c, and merges a with b, and that with c")
	job := h.job(home.Tenant, nil)
	ab := h.merge(job, home.Ref, "(a)(b)", h.note(job, home.Ref, "(a)", "customer:1"), h.note(job, home.Ref, "(b)"))
	h.merge(job, home.Ref, "(a)(b)(c)", ab, h.note(job, home.Ref, "(c)"))
	h.note(job, "sales", "(d)", "customer:1")
}

func runForget(w *world, h *host) error {
	_, err := h.bank.Forget(w.ctx, home.Tenant, "customer:1")
	return err
}

func othersAreThere(w *world, h *host) {
	all := strings.Join(h.contents(home.Tenant, home.Ref), "")
	for _, fact := range []string{"(b)", "(c)"} {
		w.check(strings.Count(all, fact) == 1, "the fact "+fact+" once in live memory", "%d times, in %s", strings.Count(all, fact), short(all))
	}
}

func forgetIsDone(w *world, h *host) {
	w.sameTexts(h.contents(home.Tenant, home.Ref), "(b)", "(c)")
	w.sameTexts(h.contents(home.Tenant, "sales"))
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"})
}

func prepareRelay(w *world, h *host) {
	w.did("jobs of two tenants put three entries each, with their events")
	for _, tenant := range []string{home.Tenant, "globex"} {
		job := h.job(tenant, nil)
		for i := range 3 {
			h.note(job, home.Ref, fmt.Sprint(i))
		}
	}
}

func runRelay(w *world, h *host) error {
	_, err := h.bank.Maintain(w.ctx)
	return err
}

func relayIsDone(w *world, h *host) {
	for _, tenant := range []string{home.Tenant, "globex"} {
		n := len(h.log.Events(tenant, "pass"))
		w.check(n == 3, "3 events in the log of "+tenant, "%d", n)
		w.waiting(tenant, "pass")
	}
}

// preparePurge leaves a note of a version that has everything to be purged behind it.
func preparePurge(w *world, h *host) {
	w.did("a job puts three entries, deletes one, supersedes one; the bank notes the version; an hour passes")
	job := h.job(home.Tenant, nil)
	gone, old, kept := h.note(job, home.Ref, "gone"), h.note(job, home.Ref, "old"), h.note(job, home.Ref, "kept")
	_, err := job.Delete(w.ctx, home.Ref, gone.ID)
	w.must(err)
	_, err = job.Rewrite(w.ctx, home.Ref, memory.Rewrite{Retire: []memory.Retire{{ID: old.ID, State: driver.Superseded, For: kept.ID}}})
	w.must(err)
	_, err = h.bank.Purge(w.ctx, home.Tenant)
	w.must(err)
	w.now = w.now.Add(time.Hour)
}

func runPurge(w *world, h *host) error {
	_, err := h.bank.Purge(w.ctx, home.Tenant)
	return err
}

func keptAreThere(w *world, h *host) {
	w.sameTexts(h.contents(home.Tenant, home.Ref), "kept")
}

func purgeIsDone(w *world, h *host) {
	var texts []string
	for _, rec := range w.history(home.Tenant, driver.HistoryQuery{Ref: home.Ref}) {
		texts = append(texts, rec.Entry.Content)
	}
	w.sameTexts(texts, "old", "kept")
}

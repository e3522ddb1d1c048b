package adaptertest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

func commitmentTenantLaw() commitmentLaw {
	return commitmentLaw{name: "CTI-1", number: "K1", says: "a commitment of another tenant is absent", cases: []commitmentCase{
		{"absent", "what was never armed is not found", nil, func(w *commitmentWorld) {
			w.absent("acme", "cmt_1")
			w.texts(w.listed("acme", ""))
		}},
		{"lookalikes", "tenants are compared byte for byte", nil, func(w *commitmentWorld) {
			c := w.swap(whole("acme", "cmt_1"))
			for _, other := range []string{"Acme", "acme ", "acm", "", "acm%", "acme\x00", "globex"} {
				w.absent(other, "cmt_1")
				w.texts(w.listed(other, ""))
				w.texts(w.listed(other, "signed"))
			}
			w.absent("acme", "CMT_1")
			w.holds(c)
		}},
		{"same-id", "two tenants have an id each for itself", nil, func(w *commitmentWorld) {
			ours := w.swap(armed("acme", "cmt_1", epoch))
			theirs := w.swap(armed("globex", "cmt_1", epoch.Add(time.Millisecond)))
			ours.RunID = "run-2"
			ours = w.swap(ours)
			w.holds(ours)
			w.holds(theirs)
			w.texts(w.due(epoch.Add(time.Hour), 10), "acme/cmt_1", "globex/cmt_1")
		}},
	}}
}

func commitmentRecordLaw() commitmentLaw {
	return commitmentLaw{name: "RECORD", number: "K3", says: "a commitment comes back as it was swapped in", cases: []commitmentCase{
		{"whole", "every field comes back, instants equal and in UTC, in every read", nil, func(w *commitmentWorld) {
			c := w.swap(whole("acme", "cmt_1"))
			w.holds(c)
			due, err := w.store.Due(w.ctx, epoch.Add(time.Hour), 10)
			w.must(err)
			w.check(len(due) == 1, "one that is due", "%d", len(due))
			w.same(due[0], c)
			for _, predicate := range []string{"", "signed"} {
				for got, err := range w.store.OfTenant(w.ctx, "acme", predicate) {
					w.must(err)
					w.same(got, c)
				}
			}
		}},
		{"emptied", "a field that is emptied is empty", nil, func(w *commitmentWorld) {
			c := w.swap(whole("acme", "cmt_1"))
			w.holds(w.swap(commitment.Commitment{Tenant: c.Tenant, ID: c.ID, State: commitment.Lapsed, Rev: c.Rev}))
			w.texts(w.due(epoch.Add(time.Hour), 10))
		}},
		{"own", "what goes in and comes out is the caller's own", nil, func(w *commitmentWorld) {
			given := whole("acme", "cmt_1")
			c := w.swap(given)
			c.Waiting = slices.Clone(given.Waiting)
			given.Waiting[0] = 99
			w.holds(c)
			spoil := func(got commitment.Commitment) {
				for i := range got.Waiting {
					got.Waiting[i] = 99
				}
				w.holds(c)
			}
			got, err := w.store.Get(w.ctx, "acme", "cmt_1")
			w.must(err)
			spoil(got)
			due, err := w.store.Due(w.ctx, epoch.Add(time.Hour), 10)
			w.must(err)
			for _, got := range due {
				spoil(got)
			}
			for got, err := range w.store.OfTenant(w.ctx, "acme", "") {
				w.must(err)
				spoil(got)
			}
		}},
	}}
}

func commitmentClaimLaw() commitmentLaw {
	return commitmentLaw{name: "CLAIM", number: "K2", says: "a swap succeeds for one of those who saw the same revision", cases: []commitmentCase{
		{"revisions", "only the revision that is there can be swapped", nil, func(w *commitmentWorld) {
			c := whole("acme", "cmt_1")
			c.Rev = 1
			w.refused(c)
			w.absent("acme", "cmt_1")
			c.Rev = 0
			first := w.swap(c)
			w.refused(c)
			second := w.swap(first)
			late := first
			late.RunID = "late"
			w.refused(late)
			late.Rev = second.Rev + 1
			w.refused(late)
			w.holds(second)
		}},
		{"ended", "what has ended is swapped by its revision too", nil, func(w *commitmentWorld) {
			c := w.swap(armed("acme", "cmt_1", epoch))
			over := c
			over.State, over.Due = commitment.Acknowledged, time.Time{}
			over = w.swap(over)
			w.refused(c)
			c.Rev = 0
			w.refused(c)
			w.holds(over)
			w.texts(w.due(epoch.Add(time.Hour), 10))
		}},
		{"race", "of many who swap one revision at once, one succeeds", nil, func(w *commitmentWorld) {
			w.race(func(int) commitment.Store { return w.store })
		}},
		{"acknowledged", "a swap that was acknowledged is seen by every call after it", nil, func(w *commitmentWorld) {
			w.quietly("from 8 goroutines, swap commitments and read each back, 100 times", func() {
				w.parallel(8, func(i int) {
					c := armed("acme", fmt.Sprint("cmt_", i), epoch)
					for n := range 100 {
						c.Fired = n
						c = w.swap(c)
						w.holds(c)
					}
				})
			})
		}},
	}}
}

// race has 8 goroutines swap the same revision, again and again, at first of a
// commitment that is not there yet.
func (w *commitmentWorld) race(store func(i int) commitment.Store) {
	w.did("from 8 goroutines, swap the same revision of a commitment, 60 times")
	var c commitment.Commitment
	for round := range 60 {
		if round%3 == 0 {
			c = armed("acme", fmt.Sprint("cmt_", round), epoch)
		}
		var wins atomic.Int32
		var won [8]commitment.Commitment
		var ready sync.WaitGroup
		ready.Add(len(won))
		w.parallel(len(won), func(i int) {
			mine := c
			mine.Fence = int64(i)
			ready.Done()
			ready.Wait()
			rev, err := store(i).Swap(w.ctx, mine)
			if err == nil {
				mine.Rev = rev
				won[i] = mine
				wins.Add(1)
			} else {
				w.mustBe(err, memory.ErrConflict)
			}
		})
		w.check(wins.Load() == 1, "one success", "%d in round %d", wins.Load(), round+1)
		c = won[slices.IndexFunc(won[:], func(c commitment.Commitment) bool { return c.Rev > 0 })]
		got, err := w.store.Get(w.ctx, c.Tenant, c.ID)
		w.must(err)
		w.same(got, c)
	}
}

func commitmentDueLaw() commitmentLaw {
	return commitmentLaw{name: "DUE", number: "K3, K9", says: "what is due is found, in order, and nothing else", cases: []commitmentCase{
		{"exact", "due is what is due at the very millisecond, of all tenants", nil, func(w *commitmentWorld) {
			w.swap(armed("acme", "cmt_1", epoch.Add(time.Millisecond)))
			w.swap(armed("globex", "cmt_2", epoch))
			w.swap(armed("acme", "cmt_0", epoch.Add(2*time.Millisecond)))
			never := armed("acme", "cmt_3", epoch)
			never.Due = time.Time{}
			w.swap(never)
			w.texts(w.due(epoch.Add(-time.Millisecond), 10))
			w.texts(w.due(epoch, 10), "globex/cmt_2")
			w.texts(w.due(epoch.Add(time.Millisecond), 10), "globex/cmt_2", "acme/cmt_1")
			w.texts(w.due(epoch.Add(time.Hour), 2), "globex/cmt_2", "acme/cmt_1")
			list, err := w.store.Due(w.ctx, epoch.Add(-time.Hour), 10)
			w.must(err)
			w.check(list == nil, "nil if there are none", "an empty list")
		}},
		{"any-state", "due is by the instant, whatever the state", nil, func(w *commitmentWorld) {
			var want []string
			for i, state := range []commitment.State{commitment.Armed, commitment.Claimed, commitment.Delivered, commitment.Dead} {
				c := armed("acme", fmt.Sprint("cmt_", i), epoch.Add(time.Duration(i)*time.Millisecond))
				c.State = state
				w.swap(c)
				want = append(want, "acme/"+c.ID)
			}
			w.texts(w.due(epoch.Add(time.Hour), 10), want...)
		}},
		{"model", "random swaps and looks agree with a model", nil, dueModel},
	}}
}

func dueModel(w *commitmentWorld) {
	model := map[string]commitment.Commitment{}
	for range 400 {
		id, tenant := fmt.Sprint("cmt_", w.rng.IntN(60)), fmt.Sprint("tenant-", w.rng.IntN(3))
		c, known := model[tenant+id]
		if !known {
			c = whole(tenant, id)
		}
		if c.Due = epoch.Add(time.Duration(w.rng.IntN(1000)) * time.Millisecond); w.rng.IntN(4) == 0 {
			c.Due = time.Time{}
		}
		model[tenant+id] = w.swap(c)
		now, limit := epoch.Add(time.Duration(w.rng.IntN(1200)-100)*time.Millisecond), 1+w.rng.IntN(60)
		want := []time.Time{}
		for _, c := range model {
			if !c.Due.IsZero() && !c.Due.After(now) {
				want = append(want, c.Due)
			}
		}
		slices.SortFunc(want, time.Time.Compare)
		want = want[:min(limit, len(want))]
		w.did("ask what is due at %s, at most %d", describeTime(now), limit)
		due, err := w.store.Due(w.ctx, now, limit)
		w.must(err)
		w.check(len(due) == len(want), fmt.Sprint(len(want), " of them"), "%d", len(due))
		seen := map[string]bool{}
		for i, c := range due {
			w.check(c.Due.Equal(want[i]), describeTime(want[i]), "%s at place %d", describeTime(c.Due), i+1)
			w.same(c, model[c.Tenant+c.ID])
			w.check(!seen[c.Tenant+c.ID], "each once", "%s twice", short(c.ID))
			seen[c.Tenant+c.ID] = true
		}
	}
}

func commitmentListLaw() commitmentLaw {
	return commitmentLaw{name: "LIST", number: "K5", says: "a list has what a tenant has, or what waits for a predicate", cases: []commitmentCase{
		{"ids", "a tenant's commitments come by the bytes of their ids, whatever their state", nil, func(w *commitmentWorld) {
			for i, id := range []string{"b", "a", "B", "ab", "a\u00e9", "_"} {
				c := whole("acme", id)
				c.State = []commitment.State{commitment.Armed, commitment.Lapsed, commitment.Dead}[i%3]
				w.swap(c)
			}
			w.swap(whole("globex", "c"))
			w.texts(w.listed("acme", ""), "B", "_", "a", "ab", "a\u00e9", "b")
			for range w.store.OfTenant(w.ctx, "acme", "") {
				break
			}
		}},
		{"predicate", "what waits for a predicate is in its list until it has ended", nil, waitingFor},
		{"while-changing", "the loop may swap", nil, func(w *commitmentWorld) {
			for i := range 10 {
				c := armed("acme", fmt.Sprint("cmt_", i), epoch)
				c.Arm = commitment.Arm{Predicate: "signed"}
				w.swap(c)
			}
			n := 0
			for c, err := range w.store.OfTenant(w.ctx, "acme", "signed") {
				w.must(err)
				c.State = commitment.Lapsed
				w.swap(c)
				n++
			}
			w.check(n == 10, "10 in the list", "%d", n)
			w.texts(w.listed("acme", "signed"))
		}},
	}}
}

func waitingFor(w *commitmentWorld) {
	for i := range 12 {
		c := armed("acme", fmt.Sprintf("cmt_%02d", 11-i), epoch)
		if c.Arm = (commitment.Arm{Predicate: []string{"a", "b"}[i%2]}); i >= 6 {
			c.State = []commitment.State{commitment.Acknowledged, commitment.Lapsed, commitment.Dead}[i%3]
		}
		w.swap(c)
	}
	w.swap(whole("globex", "cmt_05"))
	w.texts(w.listed("acme", "a"), "cmt_07", "cmt_09", "cmt_11")
	for _, none := range []string{"A", "a ", "ab", "signed", "%"} {
		w.texts(w.listed("acme", none))
	}
	w.texts(w.listed("globex", "a"))
	got, err := w.store.Get(w.ctx, "acme", "cmt_09")
	w.must(err)
	got.State = commitment.Claimed
	got = w.swap(got)
	w.texts(w.listed("acme", "a"), "cmt_07", "cmt_09", "cmt_11")
	got.State = commitment.Lapsed
	w.swap(got)
	w.texts(w.listed("acme", "a"), "cmt_07", "cmt_11")
}

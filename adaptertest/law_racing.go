package adaptertest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func racingLaw() law {
	return law{name: "RACING", number: "M1, M8, E3", says: "writers of different scopes do not touch each other, whatever they do at once", cases: []testCase{
		{"scopes", "what writers of several tenants and refs do at once is all there, and each version shows what its scope had then", nil, racingScopes},
		{"first", "what writers put at once as the first of a tenant and ref is all there", nil, racingFirst},
	}}
}

// racingFirst has four writers meet at one new tenant after the other.
func racingFirst(w *world) {
	tenants := w.size(50, 300, 1000)
	var arrived atomic.Int64
	w.quietly(fmt.Sprintf("four put an entry each in a ref of %d tenants", tenants), func() {
		w.parallel(4, func(i int) {
			defer arrived.Add(int64(4 * tenants)) // who fails keeps nobody waiting
			for k := range tenants {
				s, e := at(fmt.Sprint("tenant ", k), "ref"), w.entry(fmt.Sprint("e", i))
				for arrived.Add(1); arrived.Load() < int64(4*(k+1)); {
					runtime.Gosched()
				}
				w.must(w.store.Put(w.ctx, s, e))
			}
		})
		for k := range tenants {
			w.lists(at(fmt.Sprint("tenant ", k), "ref"), "e3", "e2", "e1", "e0")
		}
	})
}

// racingScopes lets writers work at once, each in a scope of its own: two tenants with
// three refs each. What they leave does not depend on who came first, so that it is taken
// on the reference when all are done.
func racingScopes(w *world) {
	const writers = 6
	rounds := w.size(15, 40, 200)
	ref := w.ref
	var mu sync.Mutex
	then := func(step func(r *reference)) {
		mu.Lock()
		defer mu.Unlock()
		step(ref)
	}
	made := map[driver.Version]bool{}
	w.quietly(fmt.Sprintf("six writers at once, each with a tenant and ref of its own, change their memories %d times", rounds), func() {
		w.parallel(writers, func(i int) {
			s := at([]string{"acme", "globex"}[i%2], fmt.Sprint("ref ", i/2))
			for k := range rounds {
				w.raceOne(s, k, then, func(v driver.Version) {
					mu.Lock()
					defer mu.Unlock()
					w.check(!made[v], "a version of its own for each mutation", "the same for two")
					made[v] = true
				})
			}
		})
	})
	w.ref = ref
	w.lent = true // the order among the writers is open
	w.audit()
	w.unmirrored()
}

// raceOne is one round of a writer in its scope.
func (w *world) raceOne(s driver.Scope, k int, then func(func(r *reference)), made func(v driver.Version)) {
	e := w.entry(fmt.Sprintf("e%03d", k))
	e.Content = "of " + s.Tenant + " " + s.Ref
	last := fmt.Sprintf("e%03d", k-1)
	if w.level == LevelAdapter {
		w.must(w.store.Put(w.ctx, s, e))
		then(func(r *reference) { r.put(s, e) })
		if k%3 == 2 {
			deleted, err := w.store.Delete(w.ctx, s, last, w.now)
			w.must(err)
			w.check(deleted, "true", "false")
			then(func(r *reference) { r.delete(s, last, w.now) })
		}
		return
	}
	event := w.event("run "+s.Ref, fmt.Sprintf("ev%03d", k))
	event.Tenant = s.Tenant
	m := driver.Mutation{At: w.now, Put: []driver.Placed{{Scope: s, Entry: e}}, Events: []events.Record{event}}
	m.Documents = acts(driver.Set, note(s, e.ID, e.Content), digest(s, e.ID, e.ID)).Documents
	if k%3 == 2 {
		m.Retire = []driver.Retirement{retire(s, last, driver.Merged, e.ID)}
	}
	applied, err := w.tx.Apply(w.ctx, s.Tenant, m)
	w.must(err)
	w.check(len(applied.Revs) == 2, "2 revisions", "%d", len(applied.Revs))
	var want []string
	then(func(r *reference) {
		r.apply(s.Tenant, &m, applied.Revs, false)
		want = ids(r.list(s, -1, driver.Query{At: w.now}))
	})
	if w.level == LevelVersioned {
		made(applied.Version)
		got, err := w.versions.List(w.ctx, s, driver.Query{At: w.now, Version: applied.Version})
		w.must(err)
		w.check(slices.Equal(ids(got), want), "as of the version of a mutation, what its scope had then: "+describeTexts(want), "%s", describeTexts(ids(got)))
	}
	if k%2 == 1 { // each writer delivers for itself, some as a relay that reads all tenants does
		for _, of := range [][2]string{{s.Tenant, event.RunID}, {}}[:1+k%4/3] {
			for rec, err := range w.tx.Undelivered(w.ctx, of[0], of[1]) {
				w.must(err)
				if rec.Tenant == s.Tenant && rec.RunID == event.RunID && rec.ID != event.ID {
					w.must(w.tx.Delivered(w.ctx, []events.Record{rec}))
					then(func(r *reference) { r.delivered([]events.Record{rec}) })
				}
			}
		}
	}
}

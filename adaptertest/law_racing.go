package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// race is a mutation that eight callers make at once, each its own, time and again.
type race struct {
	law, name, says string
	needs           []Offer
	wins            int   // so many of them succeed
	lost            error // and this is the error of the others
	prepare         func(w *world, round int)
	mutation        func(w *world, round, i int) driver.Mutation
}

var races = []race{
	{"RECORD", "puts", "of different entries that race for one id exactly one is stored", nil, 1, driver.ErrConflict, nil, func(w *world, round, i int) driver.Mutation {
		return driver.Mutation{Put: w.racer(home, fmt.Sprint("e", round), i)}
	}},
	{"RECORD", "deletes", "of deletes that race exactly one reports true", nil, 1, errNothing, func(w *world, round int) {
		w.puts(home, fmt.Sprint("e", round))
	}, func(w *world, round, i int) driver.Mutation {
		return retired(retire(home, fmt.Sprint("e", round), driver.Deleted, ""))
	}},
	{"RECORD", "writers", "no write is lost when many write at once", nil, 8, nil, nil, func(w *world, round, i int) driver.Mutation {
		return driver.Mutation{Put: w.racer(home, fmt.Sprint("e", round, "-", i), i)}
	}},
	{"RACING", "first", "what writers put at once as the first of a tenant and ref is all there", nil, 8, nil, nil, func(w *world, round, i int) driver.Mutation {
		return driver.Mutation{Put: w.racer(at(fmt.Sprint("tenant ", round), "ref"), fmt.Sprint("e", i), i)}
	}},
	{"BATCH", "batches", "a batch that loses a race for an id leaves nothing behind", transactor, 1, driver.ErrConflict, nil, func(w *world, round, i int) driver.Mutation {
		id := fmt.Sprint("e", round)
		m := driver.Mutation{Put: w.racer(home, id, i)}
		if i%2 == 1 {
			own := fmt.Sprint(id, "-", i)
			m.Put = append(w.placed(at(home.Tenant, "sales"), own), m.Put...)
			m.Events = []events.Record{w.event("run-1", own)}
		}
		return m
	}},
	{"BATCH", "merges", "of merges that race for an entry exactly one happens", transactor, 1, driver.ErrConflict, func(w *world, round int) {
		w.puts(home, fmt.Sprint("old", round))
	}, func(w *world, round, i int) driver.Mutation {
		old := fmt.Sprint("old", round)
		m := retired(retire(home, old, driver.Merged, fmt.Sprint(old, "-into-", i)))
		m.Put = w.placed(home, m.Retire[0].For)
		return m
	}},
	{"BATCH", "heirs", "of mutations that race to be the first for whose entry another is retired exactly one happens", transactor, 1, driver.ErrConflict, func(w *world, round int) {
		w.puts(home, fmt.Sprint("heir", round))
		for i := range racers {
			w.puts(home, fmt.Sprint("heir", round, "-of-", i))
		}
	}, func(w *world, round, i int) driver.Mutation {
		heir := fmt.Sprint("heir", round)
		m := retired(retire(home, fmt.Sprint(heir, "-of-", i), driver.Merged, heir))
		m.MergedInto = map[driver.Located][]string{{Scope: home, ID: heir}: nil}
		return m
	}},
	{"DOCUMENT", "swaps", "of swaps that race exactly one succeeds", transactor, 1, driver.ErrConflict, nil, func(w *world, round, i int) driver.Mutation {
		d := []driver.Document{note(home, "count", ""), file(home, "count")}[round%2]
		d.Rev, d.Value = w.ref.tenant(home.Tenant).documents[nameOf(&d)].Rev, []byte(fmt.Sprint("of writer ", i))
		return acts(driver.Set, d)
	}},
	{"LIMIT", "limits", "of mutations that race for what is left no more succeed than there is room for", transactor, 5, driver.ErrStorageLimit, nil, func(w *world, round, i int) driver.Mutation {
		return driver.Mutation{Put: w.placed(home, fmt.Sprint("e", round, "-", i)), Limits: driver.Limits{Entries: int64(5 * (round + 1))}}
	}},
}

const racers = 8

// errNothing is what a delete that has nothing to delete is taken for.
var errNothing = errors.New("nothing to delete")

// raceCases are the races of a law over one store, those of DURABLE all over two stores.
func raceCases(law string) (cases []testCase) {
	for _, r := range races {
		switch law {
		case r.law:
			cases = append(cases, testCase{"racing-" + r.name, r.says, r.needs, func(w *world) { w.race(&r, w.store, w.store) }})
		case "DURABLE":
			cases = append(cases, testCase{"shared-" + r.name, "by two open stores: " + r.says, append(slices.Clone(r.needs), Shared), func(w *world) { w.race(&r, w.store, w.second()) }})
		}
	}
	return cases
}

func (w *world) racer(s driver.Scope, id string, i int) []driver.Placed {
	placed := w.placed(s, id)
	placed[0].Entry.Content = fmt.Sprint("of writer ", i)
	return placed
}

// race runs a race, and takes what has succeeded on the reference when all are done: what it leaves is
// the same in any order.
func (w *world) race(r *race, stores ...driver.Adapter) {
	for round := range w.size(5, 20) {
		if r.prepare != nil {
			r.prepare(w, round)
		}
		var made [racers]driver.Mutation
		for i := range made {
			made[i] = r.mutation(w, round, i)
		}
		ref := w.ref
		var applied [racers]driver.Applied
		var errs [racers]error
		w.quietly(fmt.Sprintf("eight callers at once, each with its own: %s", describe(made[racers-1])), func() {
			w.parallel(racers, func(i int) { applied[i], errs[i] = w.makeOn(w.ctx, stores[i%2], made[i]) })
		})
		w.ref = ref
		won := 0
		for i, err := range errs {
			if err != nil {
				w.mustBe(err, r.lost)
				continue
			}
			won++
			_, err = ref.apply(tenantOf(&made[i]), &made[i], applied[i].Revs, len(applied[i].Revs)+len(made[i].Events) == 0)
			w.must(err)
		}
		w.check(won == r.wins, fmt.Sprintf("%d of them to succeed", r.wins), "%d", won)
	}
}

// makeOn makes a mutation on a store, by one of the four operations if it is nothing else.
func (w *world) makeOn(ctx context.Context, store driver.Adapter, m driver.Mutation) (made driver.Applied, err error) {
	m.At = w.now
	plain := len(m.MergedInto)+len(m.Documents)+len(m.Events) == 0 && m.Limits == driver.Limits{}
	switch {
	case plain && len(m.Put) == 1 && len(m.Retire) == 0:
		return made, store.Put(ctx, m.Put[0].Scope, m.Put[0].Entry)
	case plain && len(m.Put) == 0 && m.Retire[0].State == driver.Deleted:
		deleted, err := store.Delete(ctx, m.Retire[0].Scope, m.Retire[0].ID, w.now)
		if err == nil && !deleted {
			err = errNothing
		}
		return made, err
	}
	tx, _ := driver.As[driver.Transactor](store)
	return tx.Apply(ctx, tenantOf(&m), m)
}

// during lets readers read, each from its own number on, while a writer writes.
func (w *world) during(what string, write func(), readers int, read func(i int)) {
	w.quietly(what, func() {
		var done atomic.Bool
		w.parallel(1+readers, func(i int) {
			if i == 0 {
				defer done.Store(true)
				write()
				return
			}
			for !done.Load() {
				read(i - 1)
				runtime.Gosched()
			}
		})
	})
}

// racingScopes lets writers work at once, each in a scope of its own: two tenants with
// three refs each. Each takes its steps on a reference of its own, and all are taken on one
// afterwards: what they leave does not depend on who came first. A store that makes a version
// before all that it holds is there shows more of it later.
func racingScopes(w *world) {
	const writers = 6
	type view struct {
		driver.Scope
		version driver.Version
		entries []driver.Entry
	}
	scope := func(i int) driver.Scope { return at([]string{"acme", "globex"}[i%2], fmt.Sprint("ref ", i/2%3)) }
	ref, rounds := w.ref, w.size(15, 40)
	var steps [writers][]func(r *reference)
	var beside [writers][]view
	w.quietly(fmt.Sprintf("six writers at once, each with a tenant and ref of its own, change their memories %d times", rounds), func() {
		w.parallel(writers, func(i int) {
			s, own, next := scope(i), newReference(), scope(i+2)
			for k := range rounds {
				m := w.roundOf(s, k)
				applied, err := w.makeOn(w.ctx, w.store, m)
				w.must(err)
				step := func(r *reference) { r.apply(s.Tenant, &m, applied.Revs, false) }
				step(own)
				steps[i] = append(steps[i], step)
				if w.level == LevelVersioned {
					v := w.version(s.Tenant)
					w.sameEntries(w.list(s, driver.Query{At: w.now, Version: v}), own.list(s, live.number, driver.Query{At: w.now}))
					beside[i] = append(beside[i], view{next, v, w.list(next, driver.Query{At: w.now, Version: v})})
				}
			}
		})
	})
	for _, x := range slices.Concat(beside[:]...) {
		w.sameEntries(w.list(x.Scope, driver.Query{At: w.now, Version: x.version}), x.entries)
	}
	for _, step := range slices.Concat(steps[:]...) {
		step(ref)
	}
	w.ref = ref
	w.lent = true // the order among the writers is open
	w.audit()
	w.unmirrored()
}

// roundOf is what a writer does in a round.
func (w *world) roundOf(s driver.Scope, k int) driver.Mutation {
	id, last := manyID("e", k), manyID("e", k-1)
	m := driver.Mutation{At: w.now, Put: w.racer(s, id, k)}
	switch {
	case k%4 == 3:
		return driver.Mutation{At: w.now, Retire: []driver.Retirement{retire(s, last, driver.Deleted, "")}}
	case k%4 == 2 || w.level == LevelAdapter:
		return m
	case k%4 == 1:
		m.Retire = []driver.Retirement{retire(s, last, driver.Merged, id)}
	}
	event := w.event("run "+s.Ref, manyID("ev", k))
	event.Tenant = s.Tenant
	m.Documents, m.Events = acts(driver.Set, note(s, id, "x"), digest(s, id, id)).Documents, []events.Record{event}
	return m
}

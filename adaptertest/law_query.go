package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func queryLaw() law {
	return law{name: "QUERY", number: "M4, M5", says: "a list holds what its query asks for, whatever the query says together", cases: []testCase{
		{"fields", "each field of a query narrows, alone and with each other one", nil, queryFields},
		{"random", "random queries over random entries find what a filter finds, now and at versions", nil, queryRandom},
	}}
}

// randomEntries puts entries with few tags, subjects, instants and expiries, and deletes some.
func (w *world) randomEntries(n int) {
	words := []string{"red", "green", "Green", "re", "greenish"}
	w.quietly(fmt.Sprintf("put %d entries of random tags, subjects, instants and expiries, and delete some", n), func() {
		for i := range n {
			e := w.entry(fmt.Sprintf("e%02d", i))
			e.Tags = []string{words[w.rng.IntN(5)], words[w.rng.IntN(5)]}
			e.Subjects = []string{words[w.rng.IntN(5)], words[w.rng.IntN(5)]}
			e.CreatedAt = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
			if w.rng.IntN(3) == 0 {
				e.ExpiresAt = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Minute)
			}
			w.put(home, e)
			if w.rng.IntN(5) == 0 {
				w.as(time.Time{}, func() { w.delete(home, e.ID, true) })
			}
		}
	})
}

func queryFields(w *world) {
	w.randomEntries(60)
	all := w.ref.list(home, -1, driver.Query{At: w.now})
	one, other := all[len(all)/3], all[len(all)/2]
	narrow := []func(q *driver.Query){
		func(q *driver.Query) { q.IDs = []string{one.ID, "never", other.ID, one.ID} },
		func(q *driver.Query) { q.Tags = []string{one.Tags[1], one.Tags[0]} },
		func(q *driver.Query) { q.Subject = one.Subjects[1] },
		func(q *driver.Query) { q.Since = other.CreatedAt },
		func(q *driver.Query) { q.Until = one.CreatedAt.Add(time.Millisecond) },
		func(q *driver.Query) { q.After = one.Cursor() },
		func(q *driver.Query) { q.Limit = 2 },
	}
	for i, first := range narrow {
		for _, second := range narrow[i:] {
			q := driver.Query{At: w.now}
			first(&q)
			second(&q)
			w.samePages(home, q)
		}
	}
}

func queryRandom(w *world) {
	start := w.now
	for range 3 {
		w.restart()
		w.randomEntries(20)
		w.throwDice(home.Tenant)
		for range 20 {
			w.now = start.Add(time.Duration(w.rng.IntN(3)) * time.Minute)
			w.samePages(home, w.anyQuery(home))
		}
		w.now = start
	}
}

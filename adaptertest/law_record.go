package adaptertest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func recordLaw() law {
	byIDs := []Offer{Transactor}
	return law{name: "RECORD", number: "M8", says: "an entry comes back as it was put, and a call sees every write that was acknowledged before it began", cases: []testCase{
		{"round-trip", "an entry comes back whole by every way to read, what the protocol does not show included", nil, roundTrip},
		{"texts", "whatever text is kept comes back byte for byte, and is found by itself only", nil, sweepTexts},
		{"one-state-lookup", "many ids are looked up as they are at one moment", byIDs, func(w *world) {
			readOneState(w, func(asked []string) (got []string) {
				for _, rec := range w.lookUp(home, asked...) {
					if !rec.Erased {
						got = append(got, rec.Entry.ID)
					}
				}
				return got
			})
		}},
		{"one-state-list", "many ids are listed at a version as they are at one moment", append(byIDs, Versioned), func(w *world) {
			readOneState(w, func(asked []string) []string {
				got, err := w.tryGetAt(home, w.version(home.Tenant), asked...)
				w.must(err)
				return ids(got)
			})
		}},
		{"racing-puts", "of different entries that race for one id exactly one is stored", nil, func(w *world) { w.racePuts(w.store, w.store) }},
		{"racing-deletes", "of deletes that race exactly one reports true", nil, racingDeletes},
		{"racing-writers", "no write is lost when many write at once", nil, racingWriters},
	}}
}

// whole is an entry with something in every field.
func (w *world) whole(id string) driver.Entry {
	return driver.Entry{
		ID: id, Content: "text of\n" + id, Tags: []string{"t2", "t1"}, CreatedAt: w.now.Add(7 * time.Millisecond), ExpiresAt: w.now.Add(time.Hour),
		RunID: "run 7", Subjects: []string{"customer:2", "customer:1"}, Sources: []string{"s2", "s1"},
	}
}

func roundTrip(w *world) {
	e := w.put(home, w.whole("e1"))
	for _, r := range readers {
		if len(w.found.missing(r.needs)) == 0 {
			got := r.read(w, home, []string{e.ID})
			w.sameIDs(got, []string{e.ID})
			w.sameEntry(&got[0], &e)
		}
	}
	w.unmirrored() // what its expiry means is another law
}

// readOneState erases two entries by one mutation, time and again: a read by ids has both
// or neither.
func readOneState(w *world, read func(asked []string) []string) {
	const rounds = 60
	pair := func(i int) []string { return []string{fmt.Sprint("x", i), fmt.Sprint("y", i)} }
	others := manyTexts("other", 50)
	w.quietly("put two entries and erase both by one mutation 60 times, while three readers read them by ids", func() {
		w.puts(home, others...)
		w.puts(home, pair(0)...)
		var done, round atomic.Int64
		w.parallel(4, func(i int) {
			if i > 0 {
				for done.Load() == 0 {
					p := pair(int(round.Load()))
					got := read(slices.Concat(p[:1], others, p[1:]))
					w.check(slices.Contains(got, p[0]) == slices.Contains(got, p[1]), "both entries or neither", "one of them")
				}
				return
			}
			defer done.Store(1)
			for k := range rounds {
				w.apply(driver.Mutation{Put: w.placed(home, pair(k+1)...), Erase: located(home, pair(k)...)})
				round.Store(int64(k + 1))
			}
		})
	})
}

// racePuts lets two stores, or one, put different entries under one id at once.
func (w *world) racePuts(stores ...driver.Adapter) {
	for round := range 5 {
		e := w.entry(fmt.Sprint("e", round))
		of := func(i int) driver.Entry {
			mine := e
			mine.Content = fmt.Sprint("of writer ", i)
			return mine
		}
		winner := w.oneWins(8, fmt.Sprintf("eight writers put different entries under %q at once", e.ID), func(i int) error {
			return stores[i%2].Put(w.ctx, home, of(i))
		})
		w.get(home, of(winner))
	}
}

func racingDeletes(w *world) {
	for round := range 5 {
		id := fmt.Sprint("e", round)
		w.puts(home, id)
		var won atomic.Int64
		w.quietly(fmt.Sprintf("eight callers delete %q at once", id), func() {
			w.parallel(8, func(int) {
				deleted, err := w.store.Delete(w.ctx, home, id, w.now)
				w.must(err)
				if deleted {
					won.Add(1)
				}
			})
		})
		w.check(won.Load() == 1, "one true", "%d", won.Load())
	}
}

func racingWriters(w *world) {
	const writers, each = 8, 20
	w.quietly("eight writers put 20 entries each, read them back, and delete every second", func() {
		w.parallel(writers, func(i int) {
			for k := range each {
				e := w.entry(fmt.Sprintf("e-%d-%02d", i, k))
				w.put(home, e)
				w.get(home, e)
				w.list(home, driver.Query{At: w.now, Limit: 5})
				if k%2 == 1 {
					w.delete(home, e.ID, true)
				}
			}
		})
	})
	got := w.list(home, driver.Query{At: w.now})
	w.check(len(got) == writers*each/2, fmt.Sprint(writers*each/2, " entries"), "%d", len(got))
}

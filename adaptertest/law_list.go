package adaptertest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The laws of what a list holds, and in which order. What a case leaves is read by all ways
// when it ends: at instants around each expiry, by pages and by each field of a query.

func orderLaw() law {
	return law{name: "ORDER", number: "M5", says: "newest first by createdAt, ties by the bytes of the id, descending", cases: []testCase{
		{"newest-first", "newest first, in whatever order they were written, and if by a millisecond", nil, listNewestFirst},
		{"limit-one", "limit 1 is the newest", nil, limitOne},
		{"limit-huge", "the largest limit means all", nil, limitHuge},
	}}
}

// tied are ids in the order of their bytes, which a collation would not give.
var tied = []string{"A", "B", "Z", "_", "a", "a0", "a1", "a10", "a2", "aa", "b", "z", "z\u00e9", "\u00e9", "\uffee", "\U00010000"}

func listNewestFirst(w *world) {
	for _, i := range w.rng.Perm(3 * len(tied)) {
		e := w.entry(tied[i/3])
		e.CreatedAt = w.now.Add(time.Duration(i%3) * time.Millisecond)
		if i%3 > 0 {
			e.ID = fmt.Sprint("e", i)
		}
		w.put(home, e)
	}
	w.lists(home, ids(w.ref.list(home, -1, driver.Query{At: w.now}))...)
}

func limitOne(w *world) {
	want := w.putMany(home, 3, nil)
	w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: 1}), want[:1])
}

func limitHuge(w *world) {
	want := w.putMany(home, 3, nil)
	for _, limit := range []int{math.MaxInt32, math.MaxInt} {
		w.sameIDs(w.list(home, driver.Query{At: w.now, Limit: limit}), want)
	}
}

func expiryLaw() law {
	return law{name: "TTL", number: "M4", says: "an entry is live iff now < expiresAt, to the millisecond, at the instant that the call carries", cases: []testCase{
		{"expired", "an entry is live until the millisecond before its expiresAt, and gone from then on, whatever a clock of the store says", nil, readExpired},
		{"instants", "every instant that is kept comes back, in UTC, and is judged to the millisecond", nil, sweepInstants},
	}}
}

// readExpired does the same long before, and long after, the time of any real clock.
func readExpired(w *world) {
	for _, year := range []int{1987, 2001, 2387} {
		w.now = time.Date(year, 5, 17, 12, 30, 45, 0, time.UTC)
		w.put(home, w.mortal(fmt.Sprint("short", year), 5*time.Millisecond))
		w.put(home, w.mortal(fmt.Sprint("long", year), time.Minute))
		for _, d := range []time.Duration{4 * time.Millisecond, time.Millisecond, time.Minute - 6*time.Millisecond, time.Millisecond} {
			w.advance(d)
			w.auditTenant(home.Tenant, []time.Time{w.now})
		}
	}
	w.unmirrored() // it was read at each of those instants
}

func queryLaw() law {
	return law{name: "QUERY", number: "M4, M5", says: "a list holds what its query asks for, whatever the query says together", cases: []testCase{
		{"fields", "each field of a query narrows, alone and with each other one, now and at versions", nil, queryFields},
	}}
}

func queryFields(w *world) {
	words := []string{"red", "green", "Green", "re", "greenish"}
	w.quietly("put 60 entries of random tags, subjects, instants and expiries, and delete some", func() {
		for i := range 60 {
			e := w.entry(fmt.Sprintf("e%02d", i))
			e.Tags = []string{words[w.rng.IntN(5)], words[w.rng.IntN(5)]}
			e.Subjects = []string{words[w.rng.IntN(5)], words[w.rng.IntN(5)]}
			e.CreatedAt = w.now.Add(time.Duration(w.rng.IntN(20)) * time.Millisecond)
			if i%3 == 0 {
				e.ExpiresAt = w.now.Add(time.Duration(w.rng.IntN(3)) * time.Minute)
			}
			w.put(home, e)
			if i%5 == 0 {
				w.as(time.Time{}, func() { w.delete(home, e.ID, true) })
			}
		}
	})
	all := w.ref.list(home, -1, driver.Query{At: w.now})
	one, other := all[len(all)/3], all[len(all)/2]
	narrow := []func(q *driver.Query){
		func(q *driver.Query) { q.IDs = []string{one.ID, "never", other.ID, one.ID} },
		func(q *driver.Query) { q.Tags = slices.Clone(one.Tags) },
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

// samePages expects a list, and one at the latest version, to be what the reference lists.
func (w *world) samePages(s driver.Scope, q driver.Query) {
	want := w.ref.list(s, -1, q)
	w.sameEntries(w.list(s, q), want)
	if w.versions != nil {
		w.sameEntries(w.listAt(s, w.version(s.Tenant), q), want)
	}
}

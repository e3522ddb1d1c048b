package adaptertest

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func batchLaw() law {
	tx := []Offer{Transactor}
	return law{name: "BATCH", number: "M8", says: "a mutation happens whole or not at all", cases: []testCase{
		{"parts", "a mutation of parts of each kind happens whole, and if one of them fails, nothing of it happens", tx, func(w *world) { failsAtTheLast(w, 2) }},
		{"racing-put", "a batch that loses a race for an id leaves nothing behind", tx, racingBatches},
		{"racing-merges", "of merges that race for an entry exactly one happens", tx, racingMerges},
		{"racing-heirs", "of mutations that race to be the first for whose entry another is retired exactly one happens", tx, racingHeirs},
		{"readers-see-whole", "a reader sees all of a mutation or nothing of it", tx, readersSeeWhole},
		{"versions-see-whole", "a version that was read while writers of its tenant were at work shows the same ever after", []Offer{Transactor, Versioned}, versionsSeeWhole},
	}}
}

func racingBatches(w *world) {
	sales := at(home.Tenant, "sales")
	for round := range 5 {
		id := fmt.Sprint("e", round)
		of := func(i int) driver.Entry {
			e := w.entry(id)
			e.Content = fmt.Sprint("of writer ", i)
			return e
		}
		own := func(i int) string { return fmt.Sprint(id, "-", i) }
		winner := w.oneWins(8, fmt.Sprintf("four batches and four puts of different entries race for %q", id), func(i int) error {
			if i%2 == 0 {
				return w.tryPut(home, of(i))
			}
			_, err := w.tryApply(home.Tenant, driver.Mutation{
				Put:    append(w.placed(sales, own(i)), driver.Placed{Scope: home, Entry: of(i)}),
				Events: []events.Record{w.event("run-1", own(i))},
			})
			return err
		})
		w.get(home, of(winner))
		for i := 1; i < 8; i += 2 {
			if i != winner {
				w.purged(sales, own(i))
			}
		}
		var want []string
		if winner%2 == 1 {
			want = []string{own(winner)}
		}
		w.waiting(home.Tenant, "run-1", want...)
		w.delivered(w.event("run-1", own(winner)))
	}
}

func racingMerges(w *world) {
	for round := range 5 {
		old := fmt.Sprint("old", round)
		w.puts(home, old)
		w.oneWins(8, fmt.Sprintf("eight batches at once merge %q into an entry of their own", old), func(i int) error {
			id := fmt.Sprint(old, "-into-", i)
			m := retired(retire(home, old, driver.Merged, id))
			m.Put = w.placed(home, id)
			_, err := w.tryApply(home.Tenant, m)
			return err
		})
		got := w.list(home, driver.Query{At: w.now})
		w.check(len(got) == round+1, fmt.Sprint(round+1, " entries"), "%s", describeTexts(ids(got)))
	}
}

func racingHeirs(w *world) {
	for round := range 5 {
		heir := fmt.Sprint("heir", round)
		own := func(i int) string { return fmt.Sprint(heir, "-of-", i) }
		w.puts(home, heir)
		for i := range 8 {
			w.puts(home, own(i))
		}
		w.oneWins(8, fmt.Sprintf("eight batches at once expect that %q is heir of none, and merge an entry of their own into it", heir), func(i int) error {
			m := retired(retire(home, own(i), driver.Merged, heir))
			m.MergedInto = map[driver.Located][]string{{Scope: home, ID: heir}: nil}
			_, err := w.tryApply(home.Tenant, m)
			return err
		})
	}
}

// readersSeeWhole moves a window of entries over and over, the oldest one out and a newer one in
// by one mutation, and lets readers count. A read of two moments misses both.
func readersSeeWhole(w *world) {
	const window = 10
	id := func(i int) string { return fmt.Sprintf("e%05d", i) }
	for i := range window {
		w.puts(home, id(i))
	}
	times := w.size(100, 400, 2000)
	w.quietly(fmt.Sprintf("replace the last entry by a new first one %d times, while readers list, search and scan", times), func() {
		var done atomic.Bool
		w.parallel(1+len(readers), func(i int) {
			if i < len(readers) {
				r := readers[i]
				for r.lists && len(w.found.missing(r.needs)) == 0 && !done.Load() {
					got := r.read(w, home, nil)
					w.check(len(got) == window, fmt.Sprint(window, " entries in each ", r.name), "%s", describeTexts(ids(got)))
					runtime.Gosched()
				}
				return
			}
			defer done.Store(true)
			for k := range times {
				m := retired(retire(home, id(k), driver.Superseded, id(k+window)))
				m.Put = w.placed(home, id(k+window))
				w.apply(m)
				runtime.Gosched()
			}
		})
	})
}

// versionsSeeWhole lets three writers of one tenant put, merge and delete, and readers list
// the version that there is. A store that makes a version before all that it holds is there,
// because the statements of a write are no transaction, shows more of it later.
func versionsSeeWhole(w *world) {
	writes := w.size(15, 30, 200)
	sales := at(home.Tenant, "sales")
	w.puts(home, "other")
	w.quietly(fmt.Sprintf("three writers put, merge and delete %d times each, while two readers list versions of the tenant", writes), func() {
		var writing atomic.Int64
		writing.Store(3)
		w.parallel(5, func(i int) {
			if i < 3 {
				defer writing.Add(-1)
				w.writeParts(i, writes, sales)
				return
			}
			seen := map[driver.Version][2]string{}
			read := func(v driver.Version) (texts [2]string) {
				for k, s := range []driver.Scope{home, sales} {
					got, err := w.versions.List(w.ctx, s, driver.Query{At: w.now, Version: v})
					w.must(err)
					texts[k] = describeTexts(ids(got))
				}
				return texts
			}
			for last := false; !last; {
				last = writing.Load() == 0
				v, err := w.versions.Version(w.ctx, home.Tenant)
				w.must(err)
				if _, known := seen[v]; !known {
					seen[v] = read(v)
				}
			}
			for v, before := range seen {
				after := read(v)
				w.check(after == before, fmt.Sprint("as of that version what it had at first: ", before), "%s", after)
			}
		})
	})
}

// writeParts is one of the writers: each write of it is several parts of a store.
func (w *world) writeParts(i, writes int, sales driver.Scope) {
	for k := range writes {
		id := fmt.Sprintf("w%d-%03d", i, k)
		switch k % 3 {
		case 0:
			w.must(w.tryPut(home, w.entry(id)))
		case 1:
			m := retired(retire(home, fmt.Sprintf("w%d-%03d", i, k-1), driver.Merged, id))
			m.Put = append(w.placed(home, id), w.placed(sales, id)...)
			_, err := w.tryApply(home.Tenant, m)
			w.must(err)
		default:
			_, err := w.store.Delete(w.ctx, home, fmt.Sprintf("w%d-%03d", i, k-1), w.now)
			w.must(err)
		}
	}
}

package adaptertest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

// Cases of reads of many ids at once, which Lookup and GetAt are: both see all ids as they
// are at one moment.

// batch is one of the ways to read by ids.
type batch struct {
	name  string
	needs []Offer
	// read returns the ids that came and are not erased, in their order.
	read func(w *world, s driver.Scope, ids []string) []string
}

var batches = []batch{
	{"lookup", []Offer{Transactor}, func(w *world, s driver.Scope, ids []string) []string {
		var got []string
		for _, rec := range w.lookUp(s, ids...) {
			w.check(rec.Scope == s, "records of "+describeScope(s), "one of %s", describeScope(rec.Scope))
			if !rec.Erased {
				got = append(got, rec.Entry.ID)
			}
		}
		return got
	}},
	{"get-at", []Offer{Transactor, Versioned}, func(w *world, s driver.Scope, wanted []string) []string {
		return ids(w.getAt(s, w.version(s.Tenant), wanted...))
	}},
}

// throughBatches makes a case for each of the ways to read by ids.
func throughBatches(name, proves string, run func(w *world, b batch)) []testCase {
	var cases []testCase
	for _, b := range batches {
		cases = append(cases, testCase{name + "-" + b.name, proves, b.needs, func(w *world) { run(w, b) }})
	}
	return cases
}

func batchReadCases() []testCase {
	return slices.Concat(
		throughBatches("in-order-of-ids", "many ids come in the order in which they are asked for, as often as they are, and missing ones are left out", readInOrderOfIDs),
		throughBatches("many-ids", "thousands of ids can be read at once", readManyIDs),
		throughBatches("one-state", "many ids are read as they are at one moment", readOneState),
	)
}

func readInOrderOfIDs(w *world, b batch) {
	w.puts(home, "a", "b", "c", "B")
	w.puts(at("acme", "sales"), "there")
	w.puts(at("globex", "support"), "foreign")
	w.came(b.read(w, home, []string{"c", "a", "b"}), "c", "a", "b")
	w.came(b.read(w, home, []string{"b", "never", "a", "there", "b", "foreign", "B", "b", ""}), "b", "a", "b", "B", "b")
	w.came(b.read(w, home, []string{"never"}))
	w.came(b.read(w, home, nil))
	w.came(b.read(w, at("acme", "nothing"), []string{"a"}))
	w.came(b.read(w, at("nobody", "support"), []string{"a", "b"}))
}

func readManyIDs(w *world, b batch) {
	all := w.putMany(home, 1100, nil)
	var asked, want []string
	for i, id := range all {
		asked = append(asked, id, fmt.Sprint("never", i), id)
		want = append(want, id, id)
	}
	w.came(b.read(w, home, asked), want...)
}

// readOneState erases two entries by one mutation, time and again: a read by ids has both
// or neither.
func readOneState(w *world, b batch) {
	const rounds = 60
	pair := func(i int) []string { return []string{fmt.Sprint("x", i), fmt.Sprint("y", i)} }
	var asked []string
	for i := range 50 {
		asked = append(asked, fmt.Sprint("other", i))
	}
	w.quietly("put two entries and erase both by one mutation 60 times, while three readers read them by ids", func() {
		w.puts(home, asked...)
		w.puts(home, pair(0)...)
		var done, round atomic.Int64
		w.parallel(4, func(i int) {
			if i > 0 {
				for done.Load() == 0 {
					p := pair(int(round.Load()))
					wanted := slices.Concat(p[:1], asked, p[1:])
					n := 0
					for _, id := range b.read(w, home, wanted) {
						if slices.Contains(p, id) {
							n++
						}
					}
					w.check(n != 1, "both entries or neither", "one of them")
				}
				return
			}
			defer done.Store(1)
			for k := range rounds {
				m := driver.Mutation{Put: w.placed(home, pair(k+1)...), Erase: located(home, pair(k)...)}
				w.apply(m)
				round.Store(int64(k + 1))
			}
		})
	})
}

package adaptertest

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func batchLaw() law {
	return law{name: "BATCH", number: "M8", says: "a mutation happens whole or not at all", cases: slices.Concat(generate(
		generation{name: "parts", says: "a mutation of parts of each kind happens whole, and if one of them fails, nothing of it happens", needs: transactor,
			topics: []topic{entries, documents, outgoing}, plans: alone, sequences: [3]int{80, 400, 4000}, steps: 8, shared: true},
	), []testCase{
		{"readers-see-whole", "a reader sees all of a mutation or nothing of it", transactor, readersSeeWhole},
		{"versions-see-whole", "a version that was read while writers of its tenant were at work shows the same ever after", []Offer{Transactor, Versioned}, versionsSeeWhole},
	}, raceCases("BATCH"))}
}

// readersSeeWhole moves a window of entries over and over, the oldest one out and a newer one in
// by one mutation, and lets readers count. A read of two moments misses both.
func readersSeeWhole(w *world) {
	const window = 10
	id := func(i int) string { return manyID("e", i) }
	for i := range window {
		w.puts(home, id(i))
	}
	times := w.size(100, 400, 2000)
	w.during(fmt.Sprintf("replace the last entry by a new first one %d times, while readers list, now and at versions", times), func() {
		for k := range times {
			m := retired(retire(home, id(k), driver.Superseded, id(k+window)))
			m.Put = w.placed(home, id(k+window))
			w.apply(m)
			runtime.Gosched()
		}
	}, 2, func(i int) {
		q := driver.Query{At: w.now}
		if i == 1 && w.versions != nil {
			q.Version = w.version(home.Tenant)
		}
		got := w.list(home, q)
		w.check(len(got) == window, fmt.Sprint(window, " entries in each list"), "%s", describe(ids(got)))
	})
}

// versionsSeeWhole lets three writers of one tenant put, merge and delete, and readers list
// the version that there is. A store that makes a version before all that it holds is there,
// because the statements of a write are no transaction, shows more of it later.
func versionsSeeWhole(w *world) {
	writes := w.size(15, 30, 200)
	sales := at(home.Tenant, "sales")
	w.puts(home, "other")
	var seen [2]map[driver.Version]string
	read := func(v driver.Version) (texts string) {
		for _, s := range []driver.Scope{home, sales} {
			got, err := w.versions.List(w.ctx, s, driver.Query{At: w.now, Version: v})
			w.must(err)
			texts += describe(ids(got)) + "; "
		}
		return texts
	}
	w.during(fmt.Sprintf("three writers put, merge and delete %d times each, while two readers list versions of the tenant", writes), func() {
		w.parallel(3, func(i int) { w.writeParts(i, writes, sales) })
	}, len(seen), func(i int) {
		if seen[i] == nil {
			seen[i] = map[driver.Version]string{}
		}
		v, err := w.versions.Version(w.ctx, home.Tenant)
		w.must(err)
		if _, known := seen[i][v]; !known {
			seen[i][v] = read(v)
		}
	})
	for _, versions := range seen {
		for v, before := range versions {
			after := read(v)
			w.check(after == before, fmt.Sprint("as of that version what it had at first: ", before), "%s", after)
		}
	}
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

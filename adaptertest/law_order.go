package adaptertest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func orderLaw() law {
	l := law{name: "ORDER", number: "M5", says: "newest first by createdAt, ties by the bytes of the id, descending"}
	l.cases = slices.Concat(
		throughLists("newest-first", "newest first, in whatever order they were written, and if by a millisecond", listNewestFirst),
		throughLists("ties", "entries of one instant go by the bytes of their ids, descending", listTies),
		[]testCase{
			{"limit-one", "limit 1 is the newest", nil, limitOne},
			{"limit-huge", "the largest limit means all", nil, limitHuge},
			{"pages-of-expiring", "the limit counts what is live, and a page is full if there is enough", nil, pagesOfExpiring},
			{"cursor-deleted", "a cursor is a position: the entry there may be gone", nil, cursorOfDeleted},
			{"cursor-ties", "a cursor among entries of one instant goes on by the bytes of their ids, up to the last one", nil, cursorInTies},
			{"cursor-between", "a cursor need not be the position of any entry", nil, cursorBetween},
		})
	return l
}

func listNewestFirst(w *world, r reader) {
	order := []string{"e5", "e4", "e3", "e2", "e1", "e0"}
	for _, i := range w.rng.Perm(len(order)) {
		e := w.entry(fmt.Sprint("e", i))
		e.CreatedAt = w.now.Add(time.Duration(i) * time.Hour)
		w.put(home, e)
	}
	w.sameIDs(r.read(w, home, nil), order)
	close := at("globex", "close")
	for i, id := range []string{"c", "a", "b"} { // not the order of the ids
		e := w.entry(id)
		e.CreatedAt = w.now.Add(time.Duration(i) * time.Millisecond)
		w.put(close, e)
	}
	w.sameIDs(r.read(w, close, nil), []string{"b", "a", "c"})
}

// tied are ids in the order of their bytes, which a collation would not give.
var tied = []string{"A", "B", "Z", "_", "a", "a0", "a1", "a10", "a2", "aa", "b", "z", "z\u00e9", "\u00e9", "\uffee", "\U00010000"}

func listTies(w *world, r reader) {
	for _, i := range w.rng.Perm(len(tied)) {
		w.puts(home, tied[i])
	}
	want := slices.Clone(tied)
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(b, a) })
	w.sameIDs(r.read(w, home, nil), want)
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

func pagesOfExpiring(w *world) {
	all := w.putMany(home, 20, func(i int, e *driver.Entry) {
		if i%2 == 0 {
			e.ExpiresAt = w.now.Add(time.Hour)
		}
	})
	var want []string
	for i, id := range all {
		if i%2 == 0 { // newest first, the one with index 19 does not expire
			want = append(want, id)
		}
	}
	w.advance(time.Hour)
	for _, size := range []int{1, 3, 10} {
		w.walk(size, want, func(q driver.Query) []driver.Entry { return w.list(home, q) })
	}
}

func cursorOfDeleted(w *world) {
	want := w.putMany(home, 5, nil)
	page := w.list(home, driver.Query{At: w.now, Limit: 2})
	w.sameIDs(page, want[:2])
	w.delete(home, want[1], true)
	w.sameIDs(w.list(home, driver.Query{At: w.now, After: page[1].Cursor()}), want[2:])
}

// cursorInTies also has ids that begin with numbers, and long ones that are the same up to the end.
func cursorInTies(w *world) {
	long := strings.Repeat("n", driver.MaxIDBytes-1)
	w.puts(home, append([]string{"9", "10", "09", long + "1", long + "2", long}, tied...)...)
	all := w.ref.list(home, -1, driver.Query{At: w.now})
	for i := range all {
		w.samePages(home, driver.Query{At: w.now, After: all[i].Cursor()})
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

func cursorBetween(w *world) {
	w.puts(home, "b", "d", "f")
	for id, want := range sorted(map[string][]string{"e": {"d", "b"}, "d": {"b"}, "a": nil, "g": {"f", "d", "b"}}) {
		w.sameIDs(w.list(home, driver.Query{At: w.now, After: driver.Cursor{CreatedAt: w.now, ID: id}}), want)
	}
	later := driver.Cursor{CreatedAt: w.now.Add(time.Millisecond), ID: "a"}
	w.sameIDs(w.list(home, driver.Query{At: w.now, After: later}), []string{"f", "d", "b"})
	earlier := driver.Cursor{CreatedAt: w.now.Add(-time.Millisecond), ID: "z"}
	w.sameIDs(w.list(home, driver.Query{At: w.now, After: earlier}), nil)
}

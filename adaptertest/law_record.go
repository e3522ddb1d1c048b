package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func recordLaw() law {
	l := law{name: "RECORD", number: "M8", says: "an entry comes back as it was put, and a call sees every write that was acknowledged before it began"}
	l.cases = slices.Concat(
		throughReaders("round-trip", "an entry comes back whole, what the protocol does not show included", readRoundTrip),
		throughReaders("deleted", "what was deleted is gone from the next read on", readDeleted),
		batchReadCases(),
		throughReaders("written", "what was written is there from the next read on", readWritten),
		[]testCase{
			{"texts", "whatever text is kept comes back byte for byte, and is found by itself only", nil, sweepTexts},
			{"tags", "tags come back as the list that they were: order, repetition and separators", nil, keptTags},
			{"subjects-and-sources", "subjects and sources come back as the lists that they were", nil, keptLists},
			{"delete-once", "deleting reports true once, then false", nil, deleteOnce},
			{"racing-puts", "of different entries that race for one id exactly one is stored", nil, racingPuts},
			{"racing-deletes", "of deletes that race exactly one reports true", nil, racingDeletes},
			{"racing-writers", "no write is lost when many write at once", nil, racingWriters},
			{"deleted-record", "what was deleted is a deleted record, whole but for its life", []Offer{Transactor}, deletedRecord},
		})
	return l
}

// whole is an entry with something in every field.
func (w *world) whole(id string) driver.Entry {
	return driver.Entry{
		ID: id, Content: "text of\n" + id, Tags: []string{"t2", "t1"}, CreatedAt: w.now.Add(7 * time.Millisecond), ExpiresAt: w.now.Add(time.Hour),
		RunID: "run 7", Subjects: []string{"customer:2", "customer:1"}, Sources: []string{"s2", "s1"},
	}
}

func readRoundTrip(w *world, r reader) {
	e := w.whole("e1")
	w.put(home, e)
	got := r.read(w, home, []string{"e1"})
	w.sameIDs(got, []string{"e1"})
	w.sameEntry(&got[0], &e)
}

func readDeleted(w *world, r reader) {
	all := []string{"c", "b", "a"}
	w.puts(home, "a", "b", "c")
	w.sameIDs(r.read(w, home, all), all)
	w.delete(home, "b", true)
	w.sameIDs(r.read(w, home, all), []string{"c", "a"})
}

func readWritten(w *world, r reader) {
	var all []string
	for i := range 5 {
		id := fmt.Sprint("e", i)
		w.puts(home, id)
		all = append([]string{id}, all...)
		w.sameIDs(r.read(w, home, all), all)
	}
}

func keptTags(w *world) {
	for i, tags := range [][]string{
		nil, {"b", "a"}, {"a", "a"}, {"a,b"}, {"a", "b"}, {"a b", "c"}, {`a","b`}, {"[]"}, {"a\nb"}, {"é", "e\u0301"}, {" a "}, {"null"}, {"{a}"}, {strings.Repeat("é", 256)},
	} {
		e := w.entry(fmt.Sprintf("e%02d", i))
		e.Tags = tags
		w.put(home, e)
		w.get(home, e)
	}
}

func keptLists(w *world) {
	for i, list := range [][]string{nil, {"b", "a"}, {"a", "a", "b", "a"}, {"a,b"}, {"a", "b"}, {"a\u241fb"}, {`"a"`, "b"}, {"a:b", "a"}} {
		e := w.entry(fmt.Sprintf("e%02d", i))
		e.Subjects, e.Sources = list, slices.Clone(list)
		w.put(home, e)
		w.get(home, e)
	}
}

func deleteOnce(w *world) {
	w.puts(home, "a", "b")
	w.delete(home, "a", true)
	w.delete(home, "a", false)
	w.delete(home, "never", false)
	w.lists(home, "b")
}

func racingPuts(w *world) { w.racePuts(w.store, w.store) }

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

func deletedRecord(w *world) {
	e := w.whole("e1")
	w.put(home, e)
	w.delete(home, "e1", true)
	w.looksUp(home, e, driver.Deleted, "")
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"}, "e1")
	w.conflicts(driver.Mutation{Restore: located(home, "e1")})
}

package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

func recordLaw() law {
	tx, versioned := []Offer{Transactor}, []Offer{Transactor, Versioned}
	return law{name: "RECORD", number: "M8", says: "an entry comes back as it was put, and a call sees every write that was acknowledged before it began", cases: []testCase{
		{"values", "an entry comes back whole and byte for byte, what the protocol does not show included", nil, keptValues},
		{"delete-once", "deleting reports true once, then false", nil, deleteOnce},
		{"racing-puts", "of different entries that race for one id exactly one is stored", nil, func(w *world) { w.racePuts(w.store, w.store) }},
		{"racing-deletes", "of deletes that race exactly one reports true", nil, racingDeletes},
		{"racing-writers", "no write is lost when many write at once", nil, racingWriters},
		{"one-state-lookup", "many ids are looked up as they are at one moment", tx, func(w *world) {
			w.readOneState(func(ids []string) (n int) {
				for _, rec := range w.lookUp(home, ids...) {
					if !rec.Erased && strings.Contains(rec.Entry.ID, "pair") {
						n++
					}
				}
				return n
			})
		}},
		{"one-state-get-at", "many ids are got at a version as they are at one moment", versioned, func(w *world) {
			w.readOneState(func(wanted []string) (n int) {
				for _, id := range ids(w.getAt(home, w.version(home.Tenant), wanted...)) {
					if strings.Contains(id, "pair") {
						n++
					}
				}
				return n
			})
		}},
	}}
}

// oddTexts are texts that a careless store changes, or takes for something else.
var oddTexts = []string{
	"", " ", "  two  spaces ", "line\nline\r\nline\r", "tab\t", "null", "NULL", "0", "1e3", "true", `{"a":1}`, `\`, `\n`, `''`, `"`, "%s %d", "\x01\x1f\x7f",
	"é", "e\u0301", "\u212b", "\u2028\u2029", "\ufeffbom", "\U0001F9E0", "日本語", "a\u200bb", "<b>&amp;</b>", "--; DROP TABLE entries", "\ufffd",
	"a,b", `a","b`, "[]", "{a}", "a\u241fb", "a:b|c;d/e", strings.Repeat("é", 128),
}

// keptValues puts every text in every place of an entry and of a document, alone and in
// lists of several, with repetitions and out of order. The audit reads it all.
func keptValues(w *world) {
	for i, text := range oddTexts {
		for k, list := range [][]string{{text}, {"z", text, "a", text}, {text + "b", "b" + text}, nil, {}} {
			e := w.entry(fmt.Sprintf("e%02d-%d", i, k))
			e.Content = text
			if text != "" {
				e.Tags, e.Subjects, e.Sources = list, slices.Clone(list), slices.Clone(list)
			}
			w.put(home, e)
			if k == 4 {
				e.Tags, e.Subjects, e.Sources = nil, nil, nil // the same
			}
			w.put(home, e)
			w.get(home, e)
			if w.tx != nil && text != "" && !strings.ContainsAny(text, "\n\r\t\x01\x7f") { // those are no labels
				d := file(home, e.ID, list...)
				d.Value = []byte(text + "\x00\xff")
				d = w.set(d)
				copy(d.Value, "given away") // a store does not keep the slice
			}
		}
	}
	if w.tx == nil {
		return
	}
	d := note(home, "n", "")
	for _, value := range [][]byte{nil, {}, []byte("\x00\xff\x00"), []byte("null"), []byte("a\r\nb "), {}, nil, {0}} {
		d.Value = value
		d = w.set(d)
		w.holds(d)
	}
	got := w.documents(exactly(&d))
	w.did("overwrite the value that was read")
	got[0].Value[0] = 'x'
	w.holds(d)
}

func deleteOnce(w *world) {
	w.puts(home, "a", "b")
	w.delete(home, "a", true)
	w.delete(home, "a", false)
	w.delete(home, "never", false)
	w.lists(home, "b")
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

// readOneState erases two entries by one mutation, time and again: a read by ids has both
// or neither. It counts those of the pair that came.
func (w *world) readOneState(read func(ids []string) int) {
	const rounds = 60
	pair := func(i int64) []string { return []string{fmt.Sprint("pair x", i), fmt.Sprint("pair y", i)} }
	var asked []string
	for i := range 50 {
		asked = append(asked, fmt.Sprint("other", i))
	}
	w.quietly("put two entries and erase both by one mutation 60 times, while three readers read them by ids", func() {
		w.puts(home, asked...)
		w.puts(home, pair(0)...)
		var done, round atomic.Int64
		w.parallel(4, func(i int) {
			for i > 0 && done.Load() == 0 {
				p := pair(round.Load())
				w.check(read(slices.Concat(p[:1], asked, p[1:])) != 1, "both entries or neither", "one of them")
			}
			if i == 0 {
				defer done.Store(1)
				for k := range int64(rounds) {
					w.apply(driver.Mutation{Put: w.placed(home, pair(k+1)...), Erase: located(home, pair(k)...)})
					round.Store(k + 1)
				}
			}
		})
	})
}

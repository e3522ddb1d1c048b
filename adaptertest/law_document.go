package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func documentLaw() law {
	tx := []Offer{Transactor}
	return law{name: "DOCUMENT", number: "M8, M10, K2", says: "a document changes by compare-and-swap, together with its mutation, and goes with the entries that it is made of", cases: slices.Concat(
		[]testCase{
			{"revision", "a swap holds only for the revision that is there, whatever it does", tx, swapByRevision},
			{"class", "a swap holds only for the class that the document has, whatever it does", tx, swapByClass},
			{"labels", "the labels of host text come back as they are, whatever separates others", tx, documentLabels},
			{"remove", "what is removed is not there, and what was not there can be removed", tx, removeDocument},
			{"revisions-ascend", "revisions ascend and are never used again, after a removal neither", tx, revisionsAscend},
			{"several", "the swaps of a mutation happen together, and its revisions come in its order", tx, severalSwaps},
			{"apart", "documents are in no list, get, history, search or scan, and their keys are no ids", tx, documentsApart},
			{"racing-swaps", "of swaps that race exactly one succeeds", tx, racingSwaps},
		},
		documentQueryCases(), contentCases(), malformedCases(),
	)}
}

func documentLabels(w *world) {
	d := w.set(driver.Document{
		Scope: home, Class: driver.HostText, Kind: "file", Key: "f", Value: []byte("text"),
		Subjects: []string{"a", "a,b", `b, "c"; d|e/f {g} [h] 'i'`, " a "},
	})
	w.sameDocuments(w.documents(exactly(&d)), []driver.Document{d})
}

// everyAct makes a swap of each kind with a document.
func everyAct(d driver.Document) []driver.Mutation {
	return []driver.Mutation{acts(driver.Set, d), acts(driver.Retain, d), acts(driver.Check, d), acts(driver.Remove, d)}
}

func swapByRevision(w *world) {
	absent := note(home, "absent", "x")
	for _, rev := range []int64{1, 1 << 40} {
		absent.Rev = rev
		for _, m := range everyAct(absent) {
			w.conflicts(m)
		}
	}
	w.lacks(absent)
	first := w.set(note(home, "n", "one"))
	second := first
	second.Value = []byte("two")
	second = w.set(second)
	for _, rev := range []int64{0, first.Rev, second.Rev + 1} {
		late := second
		late.Value, late.Rev = []byte("late"), rev
		for i, m := range everyAct(late) {
			if rev > 0 || i != 1 { // nobody retains what is not there
				w.conflicts(m)
			}
		}
	}
	w.holds(second)
}

// ofEveryClass are documents that differ in their classes and what goes with those, in
// a scope that has the entry "a".
func ofEveryClass() []driver.Document {
	return []driver.Document{note(home, "n", "text"), digest(home, "n", "a"), file(home, "n", "customer:1")}
}

func swapByClass(w *world) {
	w.puts(home, "a")
	for i, d := range ofEveryClass() {
		d = w.set(d)
		for k, other := range ofEveryClass() {
			other.Kind, other.Rev = d.Kind, d.Rev
			if i != k {
				for _, m := range everyAct(other) {
					w.conflicts(m)
				}
			}
		}
		w.holds(d)
	}
}

func removeDocument(w *world) {
	w.puts(home, "a")
	all := w.sets(note(home, "n", "x"), digest(home, "d", "a"), file(home, "f", "customer:1"), note(home, "stays", "y"))
	for _, d := range all[:3] {
		w.removes(d)
		w.lacks(d)
		d.Rev = 0
		w.removes(d)
	}
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, "support/note/stays")
	w.apply(driver.Mutation{Erase: located(home, "a")})
	w.lists(home)
}

func revisionsAscend(w *world) {
	last := int64(0)
	newest := func(d driver.Document) driver.Document {
		w.check(d.Rev > last, fmt.Sprintf("a revision above %d", last), "%d", d.Rev)
		last = d.Rev
		return d
	}
	for range 3 {
		for _, s := range []driver.Scope{home, at("acme", ""), at("globex", "support")} {
			d := newest(w.set(note(s, "n", "x")))
			d = newest(w.retains(d))
			w.removes(d)
			d.Rev = 0
			d = newest(w.set(d))
			w.removes(d)
		}
	}
}

func severalSwaps(w *world) {
	docs := w.sets(note(home, "b", "1"), note(home, "a", "2"), note(at("acme", ""), "c", "3"), note(at("acme", "sales"), "a", "4"))
	for _, d := range docs {
		w.holds(d)
	}
	docs[0].Value = []byte("5")
	m := acts(driver.Check, docs[3])
	m.Documents = slices.Concat(m.Documents, acts(driver.Set, docs[0]).Documents, acts(driver.Remove, docs[1]).Documents, acts(driver.Check, note(home, "d", "")).Documents)
	now := w.commits(m)
	w.holds(docs[3])
	w.holds(now[1])
	w.lacks(docs[1])
	m = acts(driver.Set, note(home, "e", "6"), note(home, "f", "7"), docs[0]) // the last is not as expected
	w.conflicts(m)
	w.yields(driver.DocumentQuery{Tenant: "acme", EveryRef: true}, "/note/c", "sales/note/a", "support/note/b")
}

func documentsApart(w *world) {
	w.puts(home, "a")
	d := file(home, "n", "customer:1")
	d.Group = "group"
	w.sets(note(home, "n", "text"), digest(home, "n", "a"), d)
	for _, r := range readers {
		if len(w.found.missing(r.needs)) == 0 {
			w.sameIDs(r.read(w, home, []string{"n", "a"}), []string{"a"})
		}
	}
	w.remembers(home.Tenant, driver.HistoryQuery{}, "a")
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"})
	w.purged(home, "n")
	w.apply(driver.Mutation{Put: w.placed(home, "n")})
	w.lists(home, "n", "a")
	w.delete(home, "n", true)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref, Key: "n"}, "support/digest/n", "support/file/n", "support/note/n")
}

func racingSwaps(w *world) {
	for _, d := range []driver.Document{note(home, "count", ""), file(home, "count")} {
		d.Value = nil
		var won atomic.Int64
		w.quietly("eight callers at once raise "+describeName(&d)+" from what they read, 20 times each", func() {
			w.parallel(8, func(int) {
				for range 20 {
					mine := d
					for _, now := range w.documents(exactly(&d)) {
						mine = now
					}
					mine.Value = append(slices.Clone(mine.Value), 'i')
					if _, err := w.tryApply(home.Tenant, acts(driver.Set, mine)); err == nil {
						won.Add(1)
					} else if !errors.Is(err, driver.ErrConflict) {
						w.must(err)
					}
				}
			})
		})
		docs := w.documents(exactly(&d))
		want := strings.Repeat("i", int(won.Load()))
		w.check(len(docs) == 1 && string(docs[0].Value) == want, "the value "+short(want), "%s", describeDocuments(docs))
	}
}

// forgetDocuments lets a bank forget a subject whose words are in documents.
func forgetDocuments(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	w.did("a job puts an entry of customer 1 and one of customer 2, and documents made of each, of both and of none")
	a, b := h.note(job, home.Ref, "a", "customer:1"), h.note(job, home.Ref, "b", "customer:2")
	_, err := job.Rewrite(w.ctx, home.Ref, memory.Rewrite{Documents: func([]driver.Entry) []driver.DocumentSwap {
		return acts(driver.Set, digest(home, "a", a.ID), digest(home, "b", b.ID), digest(home, "both", b.ID, a.ID), note(home, "n", "x"),
			file(home, "of 1", "customer:2", "customer:1"), file(home, "of 2", "customer:2")).Documents
	}})
	w.must(err)
	h.forget()
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref}, "support/digest/b", "support/file/of 2", "support/note/n")
}

package adaptertest

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func documentLaw() law {
	tx := []Offer{Transactor}
	return law{name: "DOCUMENT", number: "M8, M10, K2", says: "a document changes by compare-and-swap, together with its mutation, and goes with the entries that it is made of", cases: append([]testCase{
		{"values", "values are bytes, nil and empty are the same, and a store has a value of its own", tx, documentValues},
		{"steps", "a swap holds only for the revision and the class that are there, and content goes with its entries", tx, func(w *world) {
			p := &plan{world: w, Scope: home}
			for _, id := range []string{"a", "b", "c"} {
				w.put(home, p.member(id))
			}
			for _, x := range documentMoves {
				x.make(p)
			}
		}},
		{"racing-swaps", "of swaps that race exactly one succeeds", tx, racingSwaps},
	}, malformedCases()...)}
}

func documentValues(w *world) {
	d := note(home, "n", "")
	for _, value := range [][]byte{nil, {}, []byte("\x00\xff\x00"), []byte(`{"a":1.0}`), []byte("a\r\nb "), {}, {0}} {
		d.Value = value
		d = w.set(d)
		w.holds(d)
	}
	given := []byte("mine")
	d.Value = given
	d = w.set(d)
	w.did("overwrite the value that was given, and that which was read")
	w.watch.forget()
	given[0] = 'x'
	d.Value = []byte("mine")
	got := w.documents(exactly(&d))
	w.check(len(got) == 1 && string(got[0].Value) == "mine", "the value as it was given", "%s", describeDocuments(got))
	w.watch.forget()
	got[0].Value[0] = 'x'
	w.holds(d)
	w.unmirrored()
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

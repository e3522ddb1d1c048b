package adaptertest

import (
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func documentLaw() law {
	return law{name: "DOCUMENT", number: "M8, M10, K2", says: "a document changes by compare-and-swap, together with its mutation, and goes with the entries that it is made of", cases: slices.Concat(generate(
		generation{name: "steps", says: "a swap holds only for the revision and the class that are there, and content goes with its entries", needs: transactor,
			topics: []topic{basic, entries, documents}, plans: alone, sequences: [3]int{40, 300, 3000}, steps: 12, shared: true},
	), []testCase{
		{"values", "a store has a value of its own", transactor, documentValues},
	}, malformedCases(), raceCases("DOCUMENT"))}
}

// documentValues overwrites a value that was given, and that which was read.
func documentValues(w *world) {
	d := note(home, "n", "mine")
	given := d.Value
	d = w.set(d)
	w.watch.forget()
	given[0] = 'x'
	d.Value = []byte("mine")
	for range 2 {
		got := w.documents(exactly(&d))
		w.check(len(got) == 1 && string(got[0].Value) == "mine", "the value as it was given", "%s", describe(got))
		w.watch.forget()
		got[0].Value[0] = 'x'
	}
	w.unmirrored()
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

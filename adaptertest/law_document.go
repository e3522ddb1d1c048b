package adaptertest

import "slices"

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

package adaptertest

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openwop/agentmemory/memory/driver"
)

func documentLaw() law {
	return law{name: "DOCUMENT", number: "M8, M10, K2", says: "a document changes by compare-and-swap, together with its mutation, and goes with the entries that it is made of", cases: append(refusedCases(),
		testCase{"racing-swaps", "of swaps that race exactly one succeeds", []Offer{Transactor}, racingSwaps})}
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

package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func durableLaw() law {
	l := law{name: "DURABLE", number: "M7, M8", says: "a store that is opened again has everything that it had, and processes that share it see each other's writes"}
	sequences := func(w *world) int { return w.size(4, 8, 60) }
	l.cases = []testCase{
		{"reopened", "whatever was done is there in a store that is closed and opened again, now and then", []Offer{Durable}, func(w *world) {
			w.explore(sequences(w), w.reopen)
		}},
		{"killed", "whatever was acknowledged is there in a store whose process is killed, now and then", []Offer{Killed}, func(w *world) {
			w.explore(sequences(w), w.crash)
		}},
		{"shared", "whatever one of two open stores has done the other one shows at once", []Offer{Shared}, func(w *world) {
			var handles []driver.Adapter
			w.explore(sequences(w), func() {
				closed := func(s driver.Adapter) bool {
					return !slices.ContainsFunc(w.opened, func(o driver.Adapter) bool { return same(s, o) })
				}
				if len(handles) == 0 || slices.ContainsFunc(handles, closed) {
					handles = []driver.Adapter{w.store, w.second()}
				}
				slices.Reverse(handles)
				w.did("go on with the other handle")
				w.use(handles[0])
			})
		}},
		{"shared-ids", "of puts by two open stores that race for an id one wins", []Offer{Shared}, sharedIDs},
		{"shared-swaps", "of swaps by two open stores that race one succeeds", []Offer{Transactor, Shared}, sharedSwaps},
		{"shared-limits", "two open stores that race for what is left of a limit do not go beyond it", []Offer{Transactor, Shared}, sharedLimits},
	}
	return l
}

func sharedIDs(w *world) { w.racePuts(w.store, w.second()) }

func sharedSwaps(w *world) {
	second, _ := driver.As[driver.Transactor](w.second())
	stores := []driver.Transactor{w.tx, second}
	for round := range 5 {
		d := note(home, fmt.Sprint("lease", round), "")
		w.oneWins(8, fmt.Sprintf("eight callers, four by each store, set the document %q at once", d.Key), func(i int) error {
			mine := d
			mine.Value = []byte(fmt.Sprint("owner ", i))
			_, err := stores[i%2].Apply(w.ctx, home.Tenant, acts(driver.Set, mine))
			return err
		})
	}
}

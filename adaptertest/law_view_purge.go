package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The cases of VIEW about purging.

func purgeToFirst(w *world) {
	first, sales := w.version(home.Tenant), at(home.Tenant, "sales")
	w.puts(home, "kept", "erased", "deleted")
	w.puts(sales, "erased")
	w.put(home, w.mortal("expired", time.Millisecond))
	w.delete(home, "deleted", true)
	w.apply(driver.Mutation{Erase: append(located(home, "erased"), located(sales, "erased")...)})
	w.advance(time.Millisecond)
	n := w.purge(home.Tenant, first)
	w.check(n == 3, "3 records removed", "%d", n)
	w.remembers(home.Tenant, driver.HistoryQuery{}, "kept", "deleted")
	w.listsAt(home, first)
}

func purgeRemoves(w *world) {
	w.puts(home, "kept", "deleted", "erased")
	w.put(home, w.mortal("expired", 5*time.Millisecond))
	w.put(home, w.mortal("expiring", 6*time.Millisecond))
	w.put(home, w.mortal("restored", 5*time.Millisecond))
	w.apply(retired(retire(home, "restored", driver.Merged, "kept")))
	w.apply(driver.Mutation{Restore: located(home, "restored")})
	w.puts(at(home.Tenant, "sales"), "deleted")
	w.put(at(home.Tenant, "sales"), w.mortal("expired", 5*time.Millisecond))
	w.delete(home, "deleted", true)
	w.delete(at(home.Tenant, "sales"), "deleted", true)
	w.apply(driver.Mutation{Erase: located(home, "erased")})
	w.advance(5 * time.Millisecond)
	n := w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 6, "6 records removed", "%d", n)
	w.purged(home, "deleted")
	w.purged(home, "expired")
	w.purged(home, "restored")
	w.purged(home, "erased")
	w.purged(at(home.Tenant, "sales"), "deleted")
	w.remembers(home.Tenant, driver.HistoryQuery{}, "kept", "expiring")
	w.lists(home, "kept", "expiring")
}

func purgeEndsHeirs(w *world) {
	w.puts(home, "late")
	w.put(home, w.mortal("old", time.Millisecond))
	w.put(home, w.mortal("heir", time.Millisecond))
	w.apply(retired(retire(home, "old", driver.Merged, "heir")))
	v := w.version(home.Tenant)
	w.apply(retired(retire(home, "late", driver.Merged, "heir")))
	w.advance(time.Millisecond)
	w.purge(home.Tenant, v)
	w.purged(home, "old")
	w.apply(driver.Mutation{MergedInto: map[driver.Located][]string{{Scope: home, ID: "heir"}: {"late"}}})
}

// purgeKeepsMergedOfEnded purges ends of chains: what was merged into one that has expired or
// was erased may be restored still.
func purgeKeepsMergedOfEnded(w *world) {
	for _, id := range []string{"expired", "m1", "m2", "s1", "s3"} {
		w.put(home, w.mortal(id, time.Millisecond))
	}
	w.put(home, w.mortal("short", 2*time.Millisecond))
	w.puts(home, "erased", "m3", "m4", "m5", "s2", "kept")
	w.apply(retired(
		retire(home, "m3", driver.Merged, "m2"), retire(home, "m2", driver.Merged, "m1"), // over what has expired
		retire(home, "m1", driver.Merged, "expired"), retire(home, "short", driver.Merged, "expired"),
		retire(home, "m4", driver.Merged, "erased"), retire(home, "s3", driver.Superseded, "erased"),
		retire(home, "m5", driver.Merged, "s2"), retire(home, "s2", driver.Superseded, "s1"), // over what was superseded
	))
	w.apply(driver.Mutation{Erase: located(home, "erased", "m2")})
	w.advance(time.Millisecond)
	n := w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 4, "4 records removed", "%d", n)
	w.remembers(home.Tenant, driver.HistoryQuery{}, "expired", "m1", "m2", "m3", "short", "erased", "m4", "kept")
	w.advance(time.Millisecond)
	n = w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 1, "1 record removed", "%d", n)
	w.apply(driver.Mutation{
		MergedInto: map[driver.Located][]string{{Scope: home, ID: "expired"}: {"m1"}, {Scope: home, ID: "erased"}: {"m4"}},
		Erase:      located(home, "expired"), Restore: located(home, "m3", "m4"),
	})
	w.lists(home, "m4", "m3", "kept")
	n = w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 4, "4 records removed", "%d", n)
	w.remembers(home.Tenant, driver.HistoryQuery{}, "m3", "m4", "kept")
}

// livesAgain merges an entry with another one and restores it, so that it has two lives.
func (w *world) livesAgain(s driver.Scope, id, successor string) {
	w.apply(retired(retire(s, id, driver.Merged, successor)))
	w.apply(driver.Mutation{Restore: located(s, id)})
}

// purgeEndsLives purges an entry that has expired, whose lives were at versions that can be
// read still. A store may give its place to the next one.
func purgeEndsLives(w *world) {
	w.puts(home, "head")
	w.put(home, w.mortal("restored", time.Millisecond))
	kept := w.version(home.Tenant)
	w.livesAgain(home, "restored", "head")
	later := w.version(home.Tenant)
	w.advance(time.Millisecond)
	w.purge(home.Tenant, kept)
	w.puts(home, "new")
	w.listsAt(home, kept, "head")
	w.listsAt(home, later, "head")
	w.livesAgain(home, "new", "head")
	w.listsAt(home, kept, "head")
	w.intact(home, kept, true)
}

// purgeAtOnce lets two purge what many refs have ended, while others read what stays.
func purgeAtOnce(w *world) {
	want := w.putMany(home, w.size(300, 1000, 5000), nil)
	refs, rounds := w.size(60, 200, 1000), w.size(10, 60, 200)
	end := func(ref, id string) {
		w.puts(at(home.Tenant, ref), id)
		w.delete(at(home.Tenant, ref), id, true)
	}
	w.quietly(fmt.Sprintf("put an entry in each of %d refs and delete it", refs), func() {
		for i := range refs {
			end(fmt.Sprint("ref ", i), "e")
		}
	})
	var removed, purging atomic.Int64
	purging.Store(2)
	w.quietly("two put, delete and purge, while two read what stays", func() {
		w.parallel(4, func(i int) {
			if i > 1 {
				for purging.Load() > 0 {
					w.sameIDs(w.list(home, driver.Query{At: w.now}), want)
				}
				return
			}
			defer purging.Add(-1)
			for k := range rounds {
				v, err := w.versions.Version(w.ctx, home.Tenant)
				w.must(err)
				n, err := w.versions.Purge(w.ctx, home.Tenant, v, w.now)
				if !errors.Is(err, driver.ErrSnapshotUnavailable) { // the other was first
					w.must(err)
				}
				removed.Add(int64(n))
				end(fmt.Sprint("own ", i), fmt.Sprint("e", k))
			}
		})
		removed.Add(int64(w.purge(home.Tenant, w.version(home.Tenant))))
	})
	w.check(removed.Load() == int64(refs+2*rounds), fmt.Sprintf("%d records removed", refs+2*rounds), "%d", removed.Load())
}

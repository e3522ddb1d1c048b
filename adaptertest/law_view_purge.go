package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The cases of VIEW about purging.

func purgeHorizon(w *world) {
	empty := w.version(home.Tenant)
	w.puts(home, "a")
	before := w.version(home.Tenant)
	w.puts(home, "b")
	horizon := w.version(home.Tenant)
	w.puts(home, "c")
	after := w.version(home.Tenant)
	w.purge(home.Tenant, horizon)
	w.refused(home, empty)
	w.refused(home, before)
	w.listsAt(home, horizon, "b", "a")
	w.listsAt(home, after, "c", "b", "a")
	w.intact(home, horizon, true)
}

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

func purgeKeepsView(w *world) {
	w.puts(home, "a", "b", "c")
	w.apply(retired(retire(home, "a", driver.Merged, "b")))
	v := w.version(home.Tenant)
	w.delete(home, "b", true)
	w.apply(retired(retire(home, "c", driver.Deleted, "")))
	w.purge(home.Tenant, v)
	w.listsAt(home, v, "c", "b")
	w.getsAt(home, v, w.entry("b"))
	w.lists(home)
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

func purgeKeepsLater(w *world) {
	w.put(home, w.mortal("over", time.Millisecond))
	w.puts(home, "a", "b")
	v := w.version(home.Tenant)
	w.delete(home, "a", true)
	w.delete(home, "over", true)
	a := w.entry("a")
	w.advance(time.Millisecond)
	w.purge(home.Tenant, v)
	w.looksUp(home, a, driver.Deleted, "")
	w.purged(home, "over") // an expiry counts whatever became of the entry
	w.listsAt(home, v, "b", "a")
}

func purgeKeepsMerged(w *world) {
	w.puts(home, "m", "s", "new")
	w.apply(retired(retire(home, "m", driver.Merged, "new"), retire(home, "s", driver.Superseded, "new")))
	n := w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 0, "nothing removed", "%d", n)
	w.looksUp(home, w.entry("m"), driver.Merged, "new")
	w.looksUp(home, w.entry("s"), driver.Superseded, "new")
	w.apply(driver.Mutation{Restore: located(home, "m")})
	w.lists(home, "new", "m")
}

func purgeKeepsChain(w *world) {
	w.puts(home, "a", "b", "c")
	w.apply(retired(retire(home, "a", driver.Merged, "b")))
	w.apply(retired(retire(home, "b", driver.Superseded, "c")))
	w.apply(driver.Mutation{Erase: located(home, "b")}) // a stub, but it leads to a live entry
	v := w.version(home.Tenant)
	w.apply(retired(retire(home, "c", driver.Deleted, "")))
	w.purge(home.Tenant, v)
	w.looksUp(home, w.entry("a"), driver.Merged, "b")
	w.stub(home, "b", driver.Superseded, "c")
	w.looksUp(home, w.entry("c"), driver.Deleted, "")
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

func purgeRemovesChain(w *world) {
	w.puts(home, "a", "b", "c", "kept")
	w.apply(retired(retire(home, "a", driver.Merged, "b")))
	w.apply(retired(retire(home, "b", driver.Superseded, "c")))
	w.delete(home, "c", true)
	n := w.purge(home.Tenant, w.version(home.Tenant))
	w.check(n == 3, "3 records removed", "%d", n)
	w.remembers(home.Tenant, driver.HistoryQuery{}, "kept")
}

// purgeKeepsScar: a token that could have seen what was erased stays refused, though
// the purge removes the stub that says so.
func purgeKeepsScar(w *world) {
	w.puts(home, "a", "b")
	v := w.version(home.Tenant)
	w.apply(driver.Mutation{Erase: located(home, "a")})
	later := w.version(home.Tenant)
	w.purge(home.Tenant, v)
	w.intact(home, v, false)
	w.intact(home, later, true)
	w.absentAt(home, v, "a")
}

func purgeTwice(w *world) {
	for i := range 5 {
		w.puts(home, fmt.Sprint("e", i))
	}
	w.delete(home, "e1", true)
	w.delete(home, "e3", true)
	v := w.version(home.Tenant)
	n := w.purge(home.Tenant, v)
	w.check(n == 2, "2 records removed", "%d", n)
	n = w.purge(home.Tenant, v)
	w.check(n == 0, "nothing removed", "%d", n)
	w.lists(home, "e4", "e2", "e0")
	w.purge("nobody", w.version("nobody"))
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

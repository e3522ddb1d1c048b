package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func viewLaw() law {
	v := []Offer{Transactor, Versioned}
	return law{name: "VIEW", number: "M6, M7", says: "reading at a version gives the same entries for ever, or is refused; it is never live memory", cases: []testCase{
		{"of-mutation", "the version that a mutation returns shows exactly what it made", v, versionOfMutation},
		{"restored-at-once", "an entry that one mutation puts, merges and restores lives on as any other, and again", v, viewRestoredAtOnce},
		{"unknown-version", "a version that the store never gave is refused", v, unknownVersion},
		{"other-incarnation", "a version of another store is refused", v, otherIncarnation},
		{"intact-apart", "an erasure leaves a gap in its own scope, and in no other one", v, intactApart},
		{"purge-first", "a purge to the version before the first mutation removes what has expired or was erased, and nothing else", v, purgeToFirst},
		{"purge-removes", "a purge removes what was deleted, has expired or was erased, and says how much", v, purgeRemoves},
		{"purge-merged-later", "a purge keeps what was merged until it has expired or was erased itself, also if its successor has", v, purgeKeepsMergedOfEnded},
		{"purge-named", "a purge keeps what is over while a record that stays names it as its successor", v, purgeKeepsNamed},
		{"purge-heirs", "what a purge removed is no longer retired in favour of an entry that stays", v, purgeEndsHeirs},
		{"purge-lives", "what is put after a purge has none of the lives of what the purge removed", v, purgeEndsLives},
		{"run", "a run sees what was there when it started, and its own writes, whatever others do", v, runView},
		{"run-token", "reading as of a token shows what the run saw, and a token that could have seen what was forgotten is refused", v, runToken},
		{"purging-at-once", "of purges at once each removes something else, and what is read meanwhile is whole", v, purgeAtOnce},
		{"reading-while-writing", "a view that is read while others write does not move", v, readWhileWriting},
	}}
}

func versionOfMutation(w *world) {
	var versions []driver.Version
	for i := range 4 {
		m := driver.Mutation{Put: w.placed(home, fmt.Sprint("e", i))}
		if i > 0 {
			m.Retire = []driver.Retirement{retire(home, fmt.Sprint("e", i-1), driver.Superseded, fmt.Sprint("e", i))}
		}
		v := w.apply(m).Version
		w.did("the mutation made %s", w.name(v))
		versions = append(versions, v)
	}
	for i, v := range versions {
		w.listsAt(home, v, fmt.Sprint("e", i))
		w.getsAt(home, v, w.entry(fmt.Sprint("e", i)))
	}
}

func viewRestoredAtOnce(w *world) {
	w.puts(home, "b")
	m := retired(retire(home, "a", driver.Merged, "b"))
	m.Put, m.Restore = w.placed(home, "a"), located(home, "a")
	v := w.apply(m).Version
	for range 2 {
		w.livesAgain(home, "a", "b")
		w.listsAt(home, v, "b", "a")
	}
}

// refused expects that a version cannot be read in any way by a tenant.
func (w *world) refused(s driver.Scope, v driver.Version) {
	_, err := w.tryListAt(s, v, driver.Query{At: w.now})
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	_, err = w.tryGetAt(s, v, "a")
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	w.did("ask whether it is intact")
	_, err = w.versions.Intact(w.ctx, s, v)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	if w.changes != nil {
		w.did("ask what has changed since, and until then")
		for _, pair := range [][2]driver.Version{{v, v}, {v, w.version(s.Tenant)}, {w.version(s.Tenant), v}} {
			_, err = w.changes.Changes(w.ctx, s, pair[0], pair[1])
			w.mustBe(err, driver.ErrSnapshotUnavailable)
		}
	}
	w.did("purge up to it")
	_, err = w.versions.Purge(w.ctx, s.Tenant, v, w.now)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
}

func unknownVersion(w *world) {
	w.puts(home, "a")
	v := w.version(home.Tenant)
	for _, forged := range []driver.Version{"0", "1", "-1", "x", "é", "18446744073709551616", "';"} {
		w.did("make up a version: %q", forged)
		w.refused(home, forged)
	}
	if n, mark, err := v.Parse(); err == nil {
		mark[0]++
		w.did("give the version another mark")
		w.refused(home, mark.Version(n))
		w.refused(home, mark.Version(0))
		w.refused(home, mark.Version(n+1))
	}
	for _, more := range []driver.Version{"0", " "} {
		w.did("write %q behind a version", more)
		w.refused(home, v+more)
	}
	w.listsAt(home, v, "a")
}

func otherIncarnation(w *world) {
	empty := w.version(home.Tenant)
	w.puts(home, "a")
	v := w.version(home.Tenant)
	w.did("take another fresh store")
	w.fresh()
	w.refused(home, empty)
	w.did("write the same to it")
	w.puts(home, "a")
	w.refused(home, empty)
	w.refused(home, v)
}

// intactApart erases in three refs and of two tenants what was put by versions of the same
// numbers.
func intactApart(w *world) {
	sales, legal, other := at(home.Tenant, "sales"), at(home.Tenant, "legal"), at("globex", home.Ref)
	var versions []driver.Version
	does := func(m driver.Mutation) { versions = append(versions, w.apply(m).Version) }
	does(driver.Mutation{Put: append(w.placed(home, "first"), w.placed(legal, "gone")...)})
	does(driver.Mutation{Put: append(w.placed(home, "a", "b"), w.placed(sales, "gone")...)})
	does(driver.Mutation{Put: w.placed(home, "c")})
	w.puts(other, "first", "gone")
	seen := w.version(other.Tenant)
	w.puts(other, "c", "d", "e", "f", "g")
	w.apply(driver.Mutation{Erase: located(other, "gone")})
	does(driver.Mutation{Erase: append(located(sales, "gone"), located(legal, "gone")...)})
	does(driver.Mutation{Erase: located(home, "a")})
	does(driver.Mutation{Erase: located(home, "b")})
	for i, v := range versions {
		w.intact(home, v, i == 0 || i == 5)
		w.intact(sales, v, i == 0 || i > 2)
		w.intact(legal, v, i > 2)
	}
	w.intact(other, seen, false)
}

func readWhileWriting(w *world) {
	want := w.putMany(home, 50, nil)
	v := w.version(home.Tenant)
	w.quietly("read the view over and over while others write and delete", func() {
		var done atomic.Bool
		w.parallel(4, func(i int) {
			if i > 0 {
				for !done.Load() {
					w.sameIDs(w.listAt(home, v, driver.Query{At: w.now}), want)
					w.getsAt(home, v, driver.Entry{ID: want[0], Content: "content of " + want[0], CreatedAt: w.now.Add(49 * time.Millisecond), RunID: "run-1"})
				}
				return
			}
			defer done.Store(true)
			for k, id := range want {
				w.delete(home, id, true)
				w.puts(home, fmt.Sprint("new", k))
			}
		})
	})
}

func runView(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	one := h.note(job, home.Ref, "one")
	two := h.note(job, home.Ref, "two")
	three := h.note(job, home.Ref, "three", "customer:1")
	run := h.run(home.Tenant, "run-1", "")
	w.did("three entries are there, a run starts and writes one and deletes another")
	own := h.note(run, home.Ref, "own")
	_, err := run.Delete(w.ctx, home.Ref, one.ID)
	w.must(err)
	w.did("others write, merge, delete and purge")
	h.note(job, home.Ref, "later")
	h.merge(job, home.Ref, "merged", own, two)
	_, err = job.Delete(w.ctx, home.Ref, three.ID)
	w.must(err)
	_, err = h.bank.Purge(w.ctx, home.Tenant)
	w.must(err)
	w.sameTexts(w.contents(run.Memory(), home.Ref), "one", "two", "three", "own")
	w.sameTexts(h.contents(home.Tenant, home.Ref), "merged", "later")
	w.did("the customer of the third is forgotten")
	_, err = h.bank.Forget(w.ctx, home.Tenant, "customer:1")
	w.must(err)
	w.sameTexts(w.contents(run.Memory(), home.Ref), "one", "two", "own")
}

func runToken(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	one := h.note(job, home.Ref, "one")
	h.note(job, home.Ref, "two", "customer:1")
	h.note(job, "sales", "elsewhere")
	run := h.run(home.Tenant, "run-1", "")
	h.note(run, home.Ref, "own")
	token, err := run.Token(w.ctx)
	w.must(err)
	w.did("two entries are there, a run writes a third and takes a token; then the first is deleted")
	h.note(run, home.Ref, "more")
	_, err = job.Delete(w.ctx, home.Ref, one.ID)
	w.must(err)
	as, err := h.bank.AsOf(w.ctx, home.Tenant, token)
	w.must(err)
	w.sameTexts(w.contents(as, home.Ref), "one", "two", "own")
	w.did("the run is resumed from the token")
	w.sameTexts(w.contents(h.run(home.Tenant, "run-1", token).Memory(), home.Ref), "one", "two", "own")
	w.did("the customer of the second is forgotten")
	_, err = h.bank.Forget(w.ctx, home.Tenant, "customer:1")
	w.must(err)
	_, err = as.List(w.ctx, home.Ref, memory.ListOptions{})
	w.check(errors.Is(err, driver.ErrSnapshotUnavailable), describeError(driver.ErrSnapshotUnavailable), "%s", describeError(err))
	w.sameTexts(w.contents(as, "sales"), "elsewhere")
	w.did("the run is resumed from the token")
	w.sameTexts(w.contents(h.run(home.Tenant, "run-1", token).Memory(), home.Ref), "one", "own")
}

// purgeKeepsNamed merges, after the version, an entry with one that has expired by the
// time of the purge.
func purgeKeepsNamed(w *world) {
	w.puts(home, "a", "b", "c")
	w.put(home, w.mortal("short", time.Second))
	w.put(home, w.mortal("shorter", time.Millisecond))
	w.apply(retired(retire(home, "c", driver.Superseded, "shorter")))
	v := w.version(home.Tenant)
	w.apply(retired(retire(home, "b", driver.Merged, "a"), retire(home, "a", driver.Superseded, "short")))
	w.advance(time.Second)
	n := w.purge(home.Tenant, v)
	w.check(n == 2, "2 records removed: c and what it gave way to", "%d", n)
}

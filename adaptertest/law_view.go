package adaptertest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// What each version shows, and which are refused after a purge, is in every audit.
func viewLaw() law {
	v := []Offer{Transactor, Versioned}
	return law{name: "VIEW", number: "M6, M7", says: "reading at a version gives the same entries for ever, or is refused; it is never live memory", cases: []testCase{
		{"of-empty", "a tenant that was never written has a version, and it stays empty", v, versionOfEmpty},
		{"unknown-version", "a version that the store never gave is refused", v, unknownVersion},
		{"other-incarnation", "a version of another store is refused", v, otherIncarnation},
		{"run", "a run sees what was there when it started, and its own writes, whatever others do", v, runView},
		{"run-token", "reading as of a token shows what the run saw, and a token that could have seen what was forgotten is refused", v, runToken},
		{"reading-while-writing", "a view that is read while others write does not move", v, readWhileWriting},
	}}
}

func versionOfEmpty(w *world) {
	v := w.version(home.Tenant)
	w.listsAt(home, v)
	w.intact(home, v, true)
	w.absentAt(home, v, "a")
	w.purge(home.Tenant, v)
	if w.changes != nil {
		w.changed(home, v, v, driver.ChangeSet{})
	}
	w.remembers(home.Tenant, driver.HistoryQuery{})
	w.puts(home, "a")
	w.listsAt(home, v)
	w.absentAt(home, v, "a")
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
	w.did("purge up to it")
	_, err = w.versions.Purge(w.ctx, s.Tenant, v, w.now)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	if w.changes != nil {
		w.did("ask what has changed since, and until then")
		for _, pair := range [][2]driver.Version{{v, w.version(s.Tenant)}, {w.version(s.Tenant), v}} {
			_, err = w.changes.Changes(w.ctx, s, pair[0], pair[1])
			w.mustBe(err, driver.ErrSnapshotUnavailable)
		}
	}
}

func unknownVersion(w *world) {
	w.puts(home, "a")
	v := w.version(home.Tenant)
	for _, forged := range []driver.Version{"", "0", "1", "-1", "x", "é", "18446744073709551616", "';"} {
		w.did("make up a version: %q", forged)
		w.refused(home, forged)
	}
	if n, mark, err := v.Parse(); err == nil {
		w.did("make up the version that would come next, and one of a tenant that was never written")
		w.refused(home, mark.Version(n+1))
		if first, mark, err := w.version("nobody").Parse(); err == nil {
			w.refused(at("nobody", "support"), mark.Version(first+1))
		}
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
	token, err := run.Token()
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

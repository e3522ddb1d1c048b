package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Steps of the four operations. Those called try… give the error to the case; the
// others expect success.

func at(tenant, ref string) driver.Scope { return driver.Scope{Tenant: tenant, Ref: ref} }

// home is the scope of cases for which any will do.
var home = at("acme", "support")

// entry is an entry as a bank would make it now.
func (w *world) entry(id string) driver.Entry {
	return driver.Entry{ID: id, Content: "content of " + id, Tags: []string{}, CreatedAt: w.now.Truncate(time.Millisecond), RunID: "run-1"}
}

func (w *world) tryPut(s driver.Scope, e driver.Entry) error {
	w.did("put %s in %s", e, s)
	err := w.store.Put(w.ctx, s, e)
	w.mirrored(err, func(r *reference) error { return r.put(s, e) })
	return err
}

func (w *world) put(s driver.Scope, e driver.Entry) driver.Entry {
	w.must(w.tryPut(s, e))
	return e
}

// puts writes entries that differ in their ids only.
func (w *world) puts(s driver.Scope, ids ...string) {
	for _, id := range ids {
		w.put(s, w.entry(id))
	}
}

// putMany writes n entries, a millisecond apart, and returns their ids, newest
// first.
func (w *world) putMany(s driver.Scope, n int) []string {
	ids := make([]string, n)
	w.quietly(fmt.Sprintf("put %d entries in %s", n, describeScope(s)), func() {
		for i := range n {
			e := w.entry(fmt.Sprintf("e%05d", i))
			e.CreatedAt = w.now.Add(time.Duration(i) * time.Millisecond)
			w.put(s, e)
			ids[n-1-i] = e.ID
		}
	})
	return ids
}

func (w *world) tryGet(s driver.Scope, id string) (driver.Entry, error) {
	w.did("get %s from %s at %s", named(id), s, w.now)
	return w.store.Get(w.ctx, s, id, w.now)
}

func (w *world) sameEntry(got, want *driver.Entry) {
	if diff := differences(got, want); diff != "" {
		w.fail("the entry as it was put", diff)
	}
}

// notFound expects the error of an absent entry, in the words of every other absent one: an id
// that another scope holds cannot be told from one that none does.
func (w *world) notFound(err error) {
	w.mustBe(err, driver.ErrNotFound)
	if w.absence == "" {
		w.absence = err.Error()
	}
	w.check(err.Error() == w.absence, fmt.Sprintf("the error %q, as of each absent entry", w.absence), "%s", describeError(err))
}

func (w *world) tryList(s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	asked := q
	asked.Version = "" // it has a name of its own
	if q.Version == "" {
		w.did("list %s %s", s, asked)
	} else {
		w.did("list %s as of %s %s", s, w.name(q.Version), asked)
	}
	return w.store.List(w.ctx, s, q)
}

func (w *world) list(s driver.Scope, q driver.Query) []driver.Entry {
	entries, err := w.tryList(s, q)
	w.must(err)
	return entries
}

func (w *world) sameIDs(got []driver.Entry, want []string) { w.came(ids(got), want...) }

// came expects these texts, in this order.
func (w *world) came(got []string, want ...string) {
	if !slices.Equal(got, want) {
		w.fail(describe(want), describe(got))
	}
}

// delete expects the answer want.
func (w *world) delete(s driver.Scope, id string, want bool) {
	w.did("delete %s from %s at %s", named(id), s, w.now)
	deleted, err := w.store.Delete(w.ctx, s, id, w.now)
	w.must(err)
	if w.ref != nil {
		want = w.ref.delete(s, id, w.now)
	}
	w.check(deleted == want, fmt.Sprint(want), "%v", deleted)
}

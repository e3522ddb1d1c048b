package inmem

import (
	"cmp"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// compare reads everything of a tenant that can be read, in the ways that chance
// chooses.
func (w *world) compare(tenant string) error {
	t, ref := w.model.tenant(tenant), pick(w, refs)
	s := driver.Scope{Tenant: tenant, Ref: ref}
	v := t.now()
	if w.chance(70) {
		v = w.rand.IntN(v + 1)
	}
	return cmp.Or(
		w.compareLists(t, s, v),
		w.compareEntries(t, s, v),
		w.compareHistory(tenant, t, ref),
		w.compareRest(tenant, t, ref),
		w.compareChanges(t, s),
		w.compareDocuments(tenant, t),
	)
}

func (w *world) compareLists(t *modelTenant, s driver.Scope, v int) error {
	all := func(*driver.Entry) bool { return true }
	q := driver.Query{At: w.instant()}
	if w.chance(50) {
		q.Limit = 1 + w.rand.IntN(w.size)
	}
	if w.chance(30) {
		q.Tag = pick(w, []string{"x", "y", "none"})
	}
	if w.chance(40) {
		q.After = driver.Cursor{CreatedAt: w.instant(), ID: w.id()}
	}
	want := t.list(t.now(), s.Ref, q, all)
	got, err := w.store.List(bg, s, q)
	if err := cmp.Or(err, same2("List", got, want)); err != nil {
		return err
	}
	if got, err = collect(w.store.Scan(bg, s, q)); err != nil {
		return err
	}
	if err := same2("Scan", got, want); err != nil {
		return err
	}

	got, err = w.store.ListAt(bg, s, w.versions[s.Tenant][v], q)
	if v < t.horizon {
		return same2("ListAt behind the horizon", err, error(driver.ErrSnapshotUnavailable))
	}
	if err := cmp.Or(err, same2("ListAt", got, t.list(v, s.Ref, q, all))); err != nil {
		return err
	}

	f := driver.Search{At: q.At, Limit: q.Limit}
	if w.chance(60) {
		f.Text = pick(w, []string{"ALPHA", "bet", "STRASSE", "straße", "gamma"})
	}
	if w.chance(40) {
		f.Tags = []string{"z", pick(w, []string{"x", "y"})}
	}
	if w.chance(40) {
		f.Since = w.instant()
	}
	if w.chance(40) {
		f.Until = w.instant()
	}
	got, err = w.store.Search(bg, s, f)
	want = t.list(t.now(), s.Ref, driver.Query{At: f.At, Limit: f.Limit}, f.Matches)
	return cmp.Or(err, same2("Search", got, want))
}

func (w *world) compareEntries(t *modelTenant, s driver.Scope, v int) error {
	id, at := w.held(t, anyRecord).id, w.instant()
	k := modelKey{s.Ref, id}
	found := func(v int) answer {
		if e, ok := t.versions[v][k]; ok && e.LiveAt(at) {
			return answer{*e, nil}
		}
		return answer{driver.Entry{}, error(driver.ErrNotFound)}
	}
	e, err := w.store.Get(bg, s, id, at)
	if err := same2("Get", answer{e, err}, found(t.now())); err != nil {
		return err
	}
	ids := []string{id}
	for range w.rand.IntN(5) {
		ids = append(ids, w.held(t, anyRecord).id, pick(w, ids), "never held")
	}
	var entries []driver.Entry
	var recs []driver.Record
	for _, id := range ids {
		k := modelKey{s.Ref, id}
		if e, ok := t.versions[v][k]; ok && e.LiveAt(at) {
			entries = append(entries, *e)
		}
		if rec, ok := t.record(s.Tenant, k); ok {
			recs = append(recs, rec)
		}
	}
	gotAt, err := w.store.GetAt(bg, s, w.versions[s.Tenant][v], ids, at)
	if v < t.horizon {
		return same2("GetAt behind the horizon", err, error(driver.ErrSnapshotUnavailable))
	}
	if err := cmp.Or(err, same2("GetAt", gotAt, entries)); err != nil {
		return err
	}
	got, err := w.store.Lookup(bg, s, ids)
	return cmp.Or(err, same2("Lookup", got, recs))
}

// compareChanges compares what was touched between two versions.
func (w *world) compareChanges(t *modelTenant, s driver.Scope) error {
	from, to := w.rand.IntN(t.now()+1), w.rand.IntN(t.now()+1)
	got, err := w.store.Changes(bg, s, w.versions[s.Tenant][from], w.versions[s.Tenant][to])
	if min(from, to) < t.horizon {
		return same2("Changes behind the horizon", err, error(driver.ErrSnapshotUnavailable))
	}
	want := t.changes(s.Ref, from, to)
	return cmp.Or(err, same2("put", sets(got.Put), want.Put), same2("retired", sets(got.Retired), want.Retired),
		same2("restored", sets(got.Restored), want.Restored), same2("erased", sets(got.Erased), want.Erased))
}

func sets(ids []string) []string { slices.Sort(ids); return ids }

func (w *world) compareHistory(tenant string, t *modelTenant, ref string) error {
	q := driver.HistoryQuery{}
	switch w.rand.IntN(4) {
	case 0:
		q.Ref = ref
	case 1:
		q.Subject = pick(w, []string{"ann", "bob"})
	case 2:
		q.Ref, q.For = ref, []string{w.heir(t), w.heir(t)}
	}
	if q.Ref == "" && w.chance(30) {
		q.Ref = ref
	}
	recs, err := collect(w.store.History(bg, tenant, q))
	return cmp.Or(err, same2("History", sorted(recs), t.history(tenant, q)))
}

// heir returns an id that is most likely of a successor.
func (w *world) heir(t *modelTenant) string {
	k := w.held(t, func(_ modelKey, r modelRecord) bool { return r.heir != "" })
	return cmp.Or(t.recs[k].heir, k.id)
}

func (w *world) compareRest(tenant string, t *modelTenant, ref string) error {
	for v, version := range w.versions[tenant] {
		intact, err := w.store.Intact(bg, driver.Scope{Tenant: tenant, Ref: ref}, version)
		want := answer{!t.broken[v][ref], nil}
		if v < t.horizon {
			want = answer{false, error(driver.ErrSnapshotUnavailable)}
		}
		if err := same2("Intact", answer{intact, err}, want); err != nil {
			return err
		}
	}
	q := driver.OutboxQuery{}
	if w.chance(50) {
		q.Tenant, q.RunID = tenant, pick(w, []string{"", "run1"})
	}
	got, err := collect(w.store.Undelivered(bg, q))
	if err := cmp.Or(err, same2("Undelivered", got, w.model.undelivered(q))); err != nil {
		return err
	}
	limit := w.rand.IntN(6)
	n, err := w.store.Waiting(bg, q.Tenant, limit)
	return cmp.Or(err, same2("Waiting", n, min(limit, len(w.model.undelivered(driver.OutboxQuery{Tenant: q.Tenant})))))
}

func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var xs []T
	for x, err := range seq {
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

// shrink returns the shortest sequence it finds for which failing still holds, by
// leaving out ever smaller parts.
func shrink(seeds []uint64, failing func([]uint64) bool) []uint64 {
	for size := len(seeds) / 2; size > 0; {
		shorter := false
		for i := 0; i+size <= len(seeds); {
			rest := slices.Concat(seeds[:i], seeds[i+size:])
			if failing(rest) {
				seeds, shorter = rest, true
			} else {
				i += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return seeds
}

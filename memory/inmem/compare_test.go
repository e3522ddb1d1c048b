package inmem

import (
	"cmp"
	"iter"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// compare reads everything of a tenant that can be read, in the ways that chance
// chooses.
func (w *world) compare(tenant string) error {
	t, ref := w.model.tenant(tenant), pick(w, refs)
	s := memory.Scope{Tenant: tenant, Ref: ref}
	v := t.now()
	if w.chance(70) {
		v = w.rand.IntN(v + 1)
	}
	return cmp.Or(
		w.compareLists(t, s, v),
		w.compareEntries(t, s, v),
		w.compareHistory(tenant, t, ref),
		w.compareRest(tenant, t),
	)
}

func (w *world) compareLists(t *modelTenant, s memory.Scope, v int) error {
	all := func(*memory.Entry) bool { return true }
	q := memory.Query{At: w.instant()}
	if w.chance(50) {
		q.Limit = 1 + w.rand.IntN(w.size)
	}
	if w.chance(30) {
		q.Tag = pick(w, []string{"x", "y", "none"})
	}
	if w.chance(40) {
		q.After = memory.Cursor{CreatedAt: w.instant(), ID: w.id()}
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
		return same2("ListAt behind the horizon", err, error(memory.ErrSnapshotUnavailable))
	}
	if err := cmp.Or(err, same2("ListAt", got, t.list(v, s.Ref, q, all))); err != nil {
		return err
	}

	f := memory.Search{At: q.At, Limit: q.Limit}
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
	want = t.list(t.now(), s.Ref, memory.Query{At: f.At, Limit: f.Limit}, f.Matches)
	return cmp.Or(err, same2("Search", got, want))
}

func (w *world) compareEntries(t *modelTenant, s memory.Scope, v int) error {
	id, at := w.held(t, anyRecord).id, w.instant()
	k := modelKey{s.Ref, id}
	found := func(v int) answer {
		if e, ok := t.versions[v][k]; ok && e.LiveAt(at) {
			return answer{*e, nil}
		}
		return answer{memory.Entry{}, error(memory.ErrNotFound)}
	}
	e, err := w.store.Get(bg, s, id, at)
	if err := same2("Get", answer{e, err}, found(t.now())); err != nil {
		return err
	}
	want := answer{memory.Entry{}, error(memory.ErrSnapshotUnavailable)}
	if v >= t.horizon {
		want = found(v)
	}
	e, err = w.store.GetAt(bg, s, w.versions[s.Tenant][v], id, at)
	if err := same2("GetAt", answer{e, err}, want); err != nil {
		return err
	}

	rec, ok := t.record(s.Tenant, k)
	got, err := w.store.Lookup(bg, s, id)
	if !ok {
		return same2("Lookup", err, error(memory.ErrNotFound))
	}
	return cmp.Or(err, same2("Lookup", got, rec))
}

func (w *world) compareHistory(tenant string, t *modelTenant, ref string) error {
	q := memory.HistoryQuery{}
	switch w.rand.IntN(4) {
	case 0:
		q.Ref = ref
	case 1:
		q.Subject = pick(w, []string{"ann", "bob"})
	case 2:
		q.Ref, q.For = ref, w.held(t, func(_ modelKey, r modelRecord) bool { return r.heir != "" }).id
	}
	if q.Ref == "" && w.chance(30) {
		q.Ref = ref
	}
	recs, err := collect(w.store.History(bg, tenant, q))
	return cmp.Or(err, same2("History", sorted(recs), t.history(tenant, q)))
}

func (w *world) compareRest(tenant string, t *modelTenant) error {
	for v, version := range w.versions[tenant] {
		intact, err := w.store.Intact(bg, tenant, version)
		want := answer{!t.broken[v], nil}
		if v < t.horizon {
			want = answer{false, error(memory.ErrSnapshotUnavailable)}
		}
		if err := same2("Intact", answer{intact, err}, want); err != nil {
			return err
		}
	}
	for _, k := range []modelKey{{"", "a"}, {"", "b"}, {"r", "a"}, {"r", "b"}} {
		got, err := w.store.Cell(bg, memory.Scope{Tenant: tenant, Ref: k.ref}, k.id)
		if err := cmp.Or(err, same2("Cell", answer{got, got == nil}, answer{t.cells[k], t.cells[k] == nil})); err != nil {
			return err
		}
	}
	q := memory.OutboxQuery{Limit: w.rand.IntN(4)}
	if w.chance(50) {
		q.Tenant, q.RunID = tenant, pick(w, []string{"", "run1"})
	}
	if w.chance(30) {
		q.Except = []memory.RunName{{Tenant: tenant, RunID: "run2"}}
	}
	got, err := w.store.Undelivered(bg, q)
	return cmp.Or(err, same2("Undelivered", got, w.model.undelivered(q)))
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

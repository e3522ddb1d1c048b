package inmem

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Lookup returns the records of those ids that the scope holds, in every state and in
// the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return view(ctx, st, s.Tenant, func(t *tenant) (recs []driver.Record, err error) {
		for _, id := range ids {
			if r := t.find(s.Ref, id); r != nil {
				recs = append(recs, r.record())
			}
		}
		return recs, nil
	})
}

// History yields the records that q asks for, each as it is when it is yielded. The body
// of the loop may use the store. The loop holds a pointer to each record that it may yield.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	candidates := func() []*record { return st.tenant(tenant).candidates(&q) }
	return each(ctx, candidates, func(r *record) (driver.Record, bool) { return r.scope.tenant.describe(r, &q) })
}

func (t *tenant) refs() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.scopes))
}

// candidates returns records among which are all that q asks for.
func (t *tenant) candidates(q *driver.HistoryQuery) (recs []*record) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if q.Subject != "" && len(q.For) == 0 {
		return slices.Collect(maps.Keys(t.subjects[q.Subject]))
	}
	scopes := t.scopes
	if q.Ref != "" {
		scopes = map[string]*scope{}
		if sc := t.scopes[q.Ref]; sc != nil {
			scopes[q.Ref] = sc
		}
	}
	for _, sc := range scopes {
		if len(q.For) == 0 {
			recs = slices.AppendSeq(recs, maps.Values(sc.recs))
		}
		for _, id := range distinct(q.For) {
			recs = slices.AppendSeq(recs, maps.Keys(sc.retiredFor[id]))
		}
	}
	return recs
}

// describe returns the record if it is still there and q asks for it.
func (t *tenant) describe(r *record, q *driver.HistoryQuery) (driver.Record, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rec := r.record()
	return rec, t.find(rec.Ref, rec.Entry.ID) == r && q.Matches(&rec)
}

// Changes returns the ids of a scope that were touched by the mutations after the
// version from, up to and with the version to.
func (st *Store) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	return view(ctx, st, s.Tenant, func(t *tenant) (touched driver.ChangeSet, err error) {
		low, err := t.number(from)
		high, otherErr := t.number(to)
		if err = cmp.Or(err, otherErr); err == nil && low < high {
			err = touched.Read(t.journals[low-t.horizon:high-t.horizon], s.Ref)
		}
		return touched, err
	})
}

// distinct returns the strings, each once.
func distinct(ss []string) []string {
	ss = slices.Clone(ss)
	slices.Sort(ss)
	return slices.Compact(ss)
}

// Intact reports whether nothing of the scope that was live at v has been erased since.
// Expiry does not count: the store does not know when v was.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return view(ctx, st, s.Tenant, func(t *tenant) (bool, error) {
		n, err := t.number(v)
		sc := t.scopes[s.Ref]
		return err == nil && (sc == nil || !sc.erased.contain(n)), err
	})
}

package inmem

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

// Lookup returns the records of those ids that the scope holds, whatever their state, in
// the order of the ids.
func (st *Store) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return nil, nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	var recs []driver.Record
	for _, id := range ids {
		if r := t.find(s.Ref, id); r != nil {
			recs = append(recs, r.record())
		}
	}
	return recs, nil
}

// History yields the records that q asks for, each as it is when it is yielded.
// The body of the loop may use the store. A query by subject or successor costs
// what it yields; any other holds a pointer to each record of the ref at hand.
func (st *Store) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(driver.Record{}, err)
			return
		}
		t := st.tenant(tenant)
		if t == nil {
			return
		}
		for _, ref := range t.refs(q) {
			for _, r := range t.candidates(ref, q) {
				if err := ctx.Err(); err != nil {
					yield(driver.Record{}, err)
					return
				}
				if rec, ok := t.describe(r, q); ok && !yield(rec, nil) {
					return
				}
			}
		}
	}
}

// refs returns where to look for what q asks for.
func (t *tenant) refs(q driver.HistoryQuery) []string {
	if q.Ref != "" || q.Subject != "" {
		return []string{q.Ref}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.scopes))
}

// candidates returns records among which are all that q asks for, of the ref
// unless q names a subject.
func (t *tenant) candidates(ref string, q driver.HistoryQuery) []*record {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(q.For) > 0 {
		var recs []*record
		for _, id := range slices.Compact(slices.Sorted(slices.Values(q.For))) {
			if heir := t.find(ref, id); heir != nil && heir.extra != nil {
				recs = append(recs, heir.extra.estate...)
			}
		}
		return recs
	}
	if q.Subject != "" {
		return slices.Collect(maps.Keys(t.subjects[q.Subject]))
	}
	if sc := t.scopes[ref]; sc != nil {
		return slices.Collect(maps.Values(sc.recs))
	}
	return nil
}

// describe returns the record if it is still there and q asks for it.
func (t *tenant) describe(r *record, q driver.HistoryQuery) (driver.Record, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rec := r.record()
	ok := !r.gone && (q.Ref == "" || q.Ref == rec.Ref) && (len(q.For) == 0 || slices.Contains(q.For, rec.For)) &&
		(q.Subject == "" || slices.Contains(rec.Entry.Subjects, q.Subject))
	return rec, ok
}

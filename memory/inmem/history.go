package inmem

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// Lookup returns the record of an id whatever its state, or [memory.ErrNotFound].
func (st *Store) Lookup(ctx context.Context, s memory.Scope, id string) (memory.Record, error) {
	if err := ctx.Err(); err != nil {
		return memory.Record{}, err
	}
	t := st.tenant(s.Tenant)
	if t == nil {
		return memory.Record{}, memory.ErrNotFound
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if r := t.find(s.Ref, id); r != nil {
		return r.record(), nil
	}
	return memory.Record{}, memory.ErrNotFound
}

// History yields the records that q asks for, each as it is when it is yielded.
// The body of the loop may use the store. A query by subject or successor costs
// what it yields; any other holds a pointer to each record of the ref at hand.
func (st *Store) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(memory.Record{}, err)
			return
		}
		t := st.tenant(tenant)
		if t == nil {
			return
		}
		for _, ref := range t.refs(q) {
			for _, r := range t.candidates(ref, q) {
				if err := ctx.Err(); err != nil {
					yield(memory.Record{}, err)
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
func (t *tenant) refs(q memory.HistoryQuery) []string {
	if q.Ref != "" || q.Subject != "" {
		return []string{q.Ref}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.scopes))
}

// candidates returns records among which are all that q asks for, of the ref
// unless q names a subject.
func (t *tenant) candidates(ref string, q memory.HistoryQuery) []*record {
	t.mu.RLock()
	defer t.mu.RUnlock()
	switch {
	case q.For != "":
		if heir := t.find(ref, q.For); heir != nil && heir.extra != nil {
			return slices.Clone(heir.extra.estate)
		}
	case q.Subject != "":
		return slices.Collect(maps.Keys(t.subjects[q.Subject]))
	default:
		if sc := t.scopes[ref]; sc != nil {
			return sc.ids.all()
		}
	}
	return nil
}

// describe returns the record if it is still there and q asks for it.
func (t *tenant) describe(r *record, q memory.HistoryQuery) (memory.Record, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	rec := r.record()
	ok := !r.gone && (q.Ref == "" || q.Ref == rec.Ref) && (q.For == "" || q.For == rec.For) &&
		(q.Subject == "" || slices.Contains(rec.Entry.Subjects, q.Subject))
	return rec, ok
}

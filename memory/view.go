package memory

import (
	"context"
	"errors"
	"slices"
	"time"
)

// view is the tenant's memory as it was at a base version, with entries that a run
// wrote since laid over it (M6). It holds ids, never content: an entry that was
// erased is gone from every view.
type view struct {
	store Versioned
	base  Version
	own   map[string]*ownEntries // by ref
}

// ownEntries are a run's own writes in one ref that it has not deleted again.
type ownEntries struct {
	order []ownEntry // oldest first
	at    map[string]Version
}

type ownEntry struct {
	id        string
	createdAt time.Time
	version   Version // the version that the write made; the entry is live there
	inherited bool    // written by a parent, or by the run that was forked
}

func (e ownEntry) before(o ownEntry) bool {
	if !e.createdAt.Equal(o.createdAt) {
		return e.createdAt.Before(o.createdAt)
	}
	return e.id < o.id
}

func newView(store Versioned, base Version) *view {
	return &view{store: store, base: base, own: map[string]*ownEntries{}}
}

// add lays a write over the view. Writes mostly come in order.
func (v *view) add(ref string, e ownEntry) {
	o := v.own[ref]
	if o == nil {
		o = &ownEntries{at: map[string]Version{}}
		v.own[ref] = o
	}
	if _, known := o.at[e.id]; known {
		return
	}
	o.at[e.id] = e.version
	i := len(o.order)
	for i > 0 && e.before(o.order[i-1]) {
		i--
	}
	o.order = slices.Insert(o.order, i, e)
}

// drop takes an own write out of the view. What was there when the run began, or
// was inherited, stays visible.
func (v *view) drop(ref, id string) {
	o := v.own[ref]
	if o == nil {
		return
	}
	i := slices.IndexFunc(o.order, func(e ownEntry) bool { return e.id == id && !e.inherited })
	if i < 0 {
		return
	}
	o.order = slices.Delete(o.order, i, i+1)
	delete(o.at, id)
}

// clone copies the view for a child, to whom all of it is inherited.
func (v *view) clone() *view {
	c := newView(v.store, v.base)
	for ref, o := range v.own {
		for _, e := range o.order {
			e.inherited = true
			c.add(ref, e)
		}
	}
	return c
}

// join lays a child's own writes over the view.
func (v *view) join(child *view) {
	for ref, o := range child.own {
		for _, e := range o.order {
			if !e.inherited {
				v.add(ref, e)
			}
		}
	}
}

// marks is what a token keeps of the own writes.
func (v *view) marks() map[string][]ownMark {
	marks := make(map[string][]ownMark, len(v.own))
	for ref, o := range v.own {
		for _, e := range o.order {
			marks[ref] = append(marks[ref], ownMark{e.id, e.version, e.inherited})
		}
	}
	return marks
}

// load lays the own writes of a snapshot over the view, those that keep lets
// through, and reports whether all of them can still be read.
func (v *view) load(ctx context.Context, snap *snapshot, keep func(*ownMark) bool) (whole bool, err error) {
	whole = true
	for ref, marks := range snap.Own {
		for _, m := range marks {
			if !keep(&m) {
				continue
			}
			e, err := v.store.GetAt(ctx, Scope{snap.Tenant, ref}, m.Version, m.ID, eternity)
			if errors.Is(err, ErrNotFound) {
				whole = false
				continue
			}
			if err != nil {
				return false, shape(err)
			}
			v.add(ref, ownEntry{e.ID, e.CreatedAt, m.Version, m.Inherited})
		}
	}
	return whole, nil
}

// eternity is an instant at which nothing has expired yet.
var eternity time.Time

// get is a [getFunc].
func (v *view) get(ctx context.Context, s Scope, id string, at time.Time) (Entry, error) {
	version := v.base
	if o := v.own[s.Ref]; o != nil {
		if own, ok := o.at[id]; ok {
			version = own
		}
	}
	return v.store.GetAt(ctx, s, version, id, at)
}

// list is a [listFunc]: the base and the own writes, merged.
func (v *view) list(ctx context.Context, s Scope, q Query) ([]Entry, error) {
	base, err := v.store.ListAt(ctx, s, v.base, q)
	if err != nil {
		return nil, err
	}
	o := v.own[s.Ref]
	if o == nil {
		return base, nil
	}
	var merged []Entry
	full := func() bool { return q.Limit > 0 && len(merged) >= q.Limit }
	for i := len(o.order) - 1; i >= 0 && !full(); i-- {
		if q.passed(o.order[i]) {
			continue
		}
		e, err := v.store.GetAt(ctx, s, o.order[i].version, o.order[i].id, q.At)
		if errors.Is(err, ErrNotFound) { // expired or erased
			continue
		}
		if err != nil {
			return nil, err
		}
		if q.Tag != "" && !slices.Contains(e.Tags, q.Tag) {
			continue
		}
		for len(base) > 0 && base[0].Before(&e) && !full() {
			merged, base = append(merged, base[0]), base[1:]
		}
		if !full() {
			merged = append(merged, e)
		}
	}
	for len(base) > 0 && !full() {
		merged, base = append(merged, base[0]), base[1:]
	}
	return merged, nil
}

// passed reports whether an own entry lies before the query's cursor.
func (q *Query) passed(o ownEntry) bool {
	if q.After.IsZero() {
		return false
	}
	if !o.createdAt.Equal(q.After.CreatedAt) {
		return o.createdAt.After(q.After.CreatedAt)
	}
	return o.id >= q.After.ID
}

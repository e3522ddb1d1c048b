package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// view is the tenant's memory as it was at a base version, with entries that a run
// wrote since laid over it (M6). It holds ids, never content: an entry that was
// erased is gone from every view.
type view struct {
	store  driver.Versioned
	base   driver.Version
	opened time.Time                      // when it was fixed; zero if it shows live memory
	own    map[string][]ownEntry          // by ref, oldest first
	known  map[string]map[string]ownEntry // the same by ref and id
	hidden map[string]map[string]bool     // what the run replaced, and own writes that it deleted, by ref and id
	lost   map[string]bool                // refs of which an own write was gone when the view was opened
}

// ownEntry is an entry that a run wrote and has not deleted again.
type ownEntry struct {
	id        string
	createdAt time.Time
	inherited bool // written by a parent, or by the run that was forked
}

func (e ownEntry) compare(o ownEntry) int {
	if c := e.createdAt.Compare(o.createdAt); c != 0 {
		return c
	}
	return cmp.Compare(e.id, o.id)
}

func newView(store driver.Versioned, base driver.Version) *view {
	return &view{store: store, base: base, own: map[string][]ownEntry{}, known: map[string]map[string]ownEntry{},
		hidden: map[string]map[string]bool{}, lost: map[string]bool{}}
}

// add lays a write over the view. Writes mostly come in order.
func (v *view) add(ref string, e ownEntry) {
	if _, known := v.known[ref][e.id]; known || v.hidden[ref][e.id] {
		return
	}
	own := v.own[ref]
	i := len(own)
	if i > 0 && e.compare(own[i-1]) < 0 {
		i, _ = slices.BinarySearchFunc(own, e, ownEntry.compare)
	}
	v.own[ref] = slices.Insert(own, i, e)
	if v.known[ref] == nil {
		v.known[ref] = map[string]ownEntry{}
	}
	v.known[ref][e.id] = e
}

// drop takes an own write out of the view. What was there when the run began, or
// was inherited, stays visible.
func (v *view) drop(ref, id string) (dropped bool) {
	if e, known := v.known[ref][id]; !known || e.inherited {
		return false
	}
	v.hide(ref, id)
	return true
}

// replace lays a write over the view and takes out what it replaced.
func (v *view) replace(ref string, ids []string, e ownEntry) {
	for _, id := range ids {
		v.hide(ref, id)
	}
	v.add(ref, e)
}

// hide takes an entry out of the view, whose it ever was.
func (v *view) hide(ref, id string) {
	if v.hidden[ref] == nil {
		v.hidden[ref] = map[string]bool{}
	}
	v.hidden[ref][id] = true
	e, own := v.known[ref][id]
	if !own {
		return
	}
	delete(v.known[ref], id)
	if i, found := slices.BinarySearchFunc(v.own[ref], e, ownEntry.compare); found {
		v.own[ref] = slices.Delete(v.own[ref], i, i+1)
	}
}

// clone copies the view for a child, to whom all of it is inherited.
func (v *view) clone() *view {
	c := newView(v.store, v.base)
	c.opened = v.opened
	maps.Copy(c.lost, v.lost)
	for ref, own := range v.own {
		for _, e := range own {
			e.inherited = true
			c.add(ref, e)
		}
	}
	for ref, ids := range v.hidden {
		c.hidden[ref] = maps.Clone(ids)
	}
	return c
}

// join lays a child's own writes over the view, and hides what it replaced.
func (v *view) join(child *view) {
	maps.Copy(v.lost, child.lost)
	for ref, ids := range child.hidden {
		for id := range ids {
			v.hide(ref, id)
		}
	}
	for ref, own := range child.own {
		for _, e := range own {
			if !e.inherited {
				v.add(ref, e)
			}
		}
	}
}

// lookupSize bounds the ids of one look-up.
const lookupSize = 1000

// lookup reads records of a scope, in every state, in batches.
func lookup(ctx context.Context, tx driver.Transactor, s Scope, ids []string) ([]Record, error) {
	var found []Record
	for part := range slices.Chunk(ids, lookupSize) {
		recs, err := tx.Lookup(ctx, s, part)
		if err != nil {
			return nil, shape(err)
		}
		found = append(found, recs...)
	}
	return found, nil
}

// get is a [getFunc].
func (v *view) get(ctx context.Context, s Scope, id string, at time.Time) (Entry, error) {
	found, err := v.byIDs(ctx, s, []string{id}, at)
	if err != nil {
		return Entry{}, err
	}
	if len(found) == 0 {
		return Entry{}, ErrNotFound
	}
	return found[0], nil
}

// byIDs returns those of the entries that the view shows, in no particular order.
func (v *view) byIDs(ctx context.Context, s Scope, ids []string, at time.Time) (found []Entry, err error) {
	var own, others []string
	for _, id := range ids {
		if _, mine := v.known[s.Ref][id]; mine {
			own = append(own, id)
		} else if !v.hidden[s.Ref][id] {
			others = append(others, id)
		}
	}
	recs, err := lookup(ctx, v.store, s, own)
	if err == nil && len(own) > 0 {
		// While the base can be read, no purge has taken an entry that the run could
		// see: only then does the absence of one mean anything.
		_, err = v.store.Intact(ctx, s, v.base)
	}
	if err != nil {
		return nil, shape(err)
	}
	for _, rec := range recs {
		if !rec.Erased && rec.Entry.LiveAt(at) {
			found = append(found, rec.Entry)
		}
	}
	ofBase, err := listed(ctx, v.store, s, driver.Query{At: at, Version: v.base}, others)
	return append(found, ofBase...), err
}

// listed returns those of the entries that a store has for q, in batches.
func listed(ctx context.Context, store driver.Adapter, s Scope, q driver.Query, ids []string) (found []Entry, err error) {
	for q.IDs = range slices.Chunk(ids, lookupSize) {
		entries, err := store.List(ctx, s, q)
		if err != nil {
			return nil, shape(err)
		}
		found = append(found, entries...)
	}
	return found, nil
}

// list is a [listFunc]: the base and the own writes, merged. Own writes are read
// first, so that the base, which fails once it was purged, vouches for them.
func (v *view) list(ctx context.Context, s Scope, q driver.Query) ([]Entry, error) {
	own, err := v.ownEntries(ctx, s, q)
	if err != nil {
		return nil, err
	}
	if len(own) > 0 && len(own) == q.Limit { // an older entry of the base has no place
		if oldest := own[len(own)-1].CreatedAt; oldest.After(q.Since) {
			q.Since = oldest
		}
	}
	base, err := v.baseEntries(ctx, s, q)
	if err != nil || len(own) == 0 {
		return base, err
	}
	merged := make([]Entry, 0, len(base)+len(own))
	for len(base)+len(own) > 0 && (q.Limit == 0 || len(merged) < q.Limit) {
		switch {
		case len(own) == 0 || len(base) > 0 && base[0].Compare(&own[0]) < 0:
			merged, base = append(merged, base[0]), base[1:]
		case len(base) > 0 && base[0].ID == own[0].ID: // of a child, from before the run was resumed
			base = base[1:]
		default:
			merged, own = append(merged, own[0]), own[1:]
		}
	}
	return merged, nil
}

// baseEntries are what the base has of what a query asks for, without what is hidden.
func (v *view) baseEntries(ctx context.Context, s Scope, q driver.Query) ([]Entry, error) {
	q.Version = v.base
	hidden := v.hidden[s.Ref]
	if len(hidden) == 0 {
		return v.store.List(ctx, s, q)
	}
	var found []Entry
	for {
		page, err := v.store.List(ctx, s, q)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if !hidden[e.ID] && (q.Limit == 0 || len(found) < q.Limit) {
				found = append(found, e)
			}
		}
		if q.Limit == 0 || len(found) == q.Limit || len(page) < q.Limit {
			return found, nil
		}
		q.After = page[len(page)-1].Cursor()
	}
}

// ownEntries are the own writes that a query asks for, newest first.
func (v *view) ownEntries(ctx context.Context, s Scope, q driver.Query) ([]Entry, error) {
	own := v.own[s.Ref]
	if !q.After.IsZero() {
		end, _ := slices.BinarySearchFunc(own, ownEntry{id: q.After.ID, createdAt: q.After.CreatedAt}, ownEntry.compare)
		own = own[:end]
	}
	var found []Entry
	size := lookupSize
	if q.Limit > 0 {
		size = min(size, q.Limit)
	}
	for ; len(own) > 0 && (q.Limit == 0 || len(found) < q.Limit); size = min(2*size, lookupSize) { // filters leave some out
		page := own[max(0, len(own)-size):]
		own = own[:len(own)-len(page)]
		ids := make([]string, 0, len(page))
		for _, e := range slices.Backward(page) {
			ids = append(ids, e.id)
		}
		recs, err := v.store.Lookup(ctx, s, ids)
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			if !rec.Erased && q.Matches(&rec.Entry) {
				found = append(found, rec.Entry)
			}
		}
	}
	return found, nil
}

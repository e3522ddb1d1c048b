package inmem

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Intact reports whether nothing of the scope that was live at v has been erased since.
// It does not look at expiry: the store does not know when v was.
func (st *Store) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	t, n, err := st.at(ctx, s.Tenant, v)
	if err != nil || t == nil {
		return err == nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if err := t.available(n); err != nil {
		return false, err
	}
	sc := t.scopes[s.Ref]
	return sc == nil || !sc.erased.contain(n), nil
}

// Purge makes versions before v unavailable and removes what no later one can show
// at the instant at or after it. It works scope by scope, and stops between two of
// them when the context is done; the rest goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	t, n, err := st.at(ctx, tenant, v)
	if err != nil || t == nil {
		return 0, err
	}
	if err := t.advance(n); err != nil {
		return 0, err
	}
	removed := 0
	for _, ref := range t.refs(driver.HistoryQuery{}) {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		removed += t.purge(ref, n, at.UnixMilli())
	}
	return removed, nil
}

// advance moves the horizon to v.
func (t *tenant) advance(v uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.available(v); err != nil {
		return err
	}
	t.horizon = v
	return nil
}

func (t *tenant) purge(ref string, v uint64, at int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sc := t.scopes[ref]
	if sc == nil {
		return 0
	}
	sc.erased = sc.erased.since(v)
	sc.journal = slices.Clone(sc.after(v))
	condemned := sc.condemn(v, at)
	for _, id := range condemned {
		r := sc.recs[id]
		r.gone = true
		r.wipe()
		delete(sc.recs, id)
		t.shelf.drop(ref, id)
		if r.heir != nil {
			estate := &r.heir.extra.estate
			*estate = slices.DeleteFunc(*estate, func(x *record) bool { return x == r })
		}
	}
	if len(condemned) > 0 {
		isGone := func(r *record) bool { return r.gone }
		sc.live.discard(isGone)
		sc.past.discard(isGone)
	}
	if len(sc.recs)+len(sc.erased)+len(sc.journal) == 0 {
		delete(t.scopes, ref)
	}
	return len(condemned)
}

// condemn returns the ids of what a purge removes.
func (sc *scope) condemn(v uint64, at int64) []string {
	var relics []driver.Relic
	for id, r := range sc.recs {
		over := r.erased || at >= r.expires || 0 < r.died && r.died <= v
		if over || r.died > 0 {
			relics = append(relics, driver.Relic{ID: id, For: r.record().For, Over: over})
		}
	}
	return driver.Condemn(relics)
}

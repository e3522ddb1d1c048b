package inmem

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Intact reports whether nothing that was live at v has been erased since. It
// does not look at expiry: the store does not know when v was.
func (st *Store) Intact(ctx context.Context, tenant string, v memory.Version) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	p := pager{tenant: st.tenant(tenant)}
	if err := p.pin(st, tenant, v); err != nil || p.tenant == nil {
		return err == nil, err
	}
	p.tenant.mu.RLock()
	defer p.tenant.mu.RUnlock()
	if err := p.tenant.available(p.version); err != nil {
		return false, err
	}
	return !p.tenant.erased.contain(p.version), nil
}

// Purge makes versions before v unavailable and removes what no later one can show
// at the instant at or after it. It works scope by scope, and stops between two of
// them when the context is done; the rest goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v memory.Version, at time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	p := pager{tenant: st.tenant(tenant)}
	if err := p.pin(st, tenant, v); err != nil || p.tenant == nil {
		return 0, err
	}
	if err := p.tenant.advance(p.version); err != nil {
		return 0, err
	}
	removed := 0
	for _, ref := range p.tenant.refs(memory.HistoryQuery{}) {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		removed += p.tenant.purge(ref, p.version, at.UnixMilli())
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
	t.erased = t.erased.since(v)
	return nil
}

func (t *tenant) purge(ref string, v uint64, at int64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sc := t.scopes[ref]
	if sc == nil {
		return 0
	}
	removed := 0
	bereft := map[*record]bool{} // those that stay and lose a predecessor
	for _, r := range sc.condemn(v, at) {
		if !r.gone {
			continue
		}
		removed++
		sc.unlabel(r)
		sc.ids.remove(r.entry.ID)
		if r.heir != nil && !r.heir.gone {
			bereft[r.heir] = true
		}
	}
	if removed == 0 {
		return 0
	}
	isGone := func(r *record) bool { return r.gone }
	sc.live.discard(isGone)
	sc.past.discard(isGone)
	sc.stubs = slices.DeleteFunc(sc.stubs, isGone)
	for r := range bereft {
		r.extra.estate = slices.DeleteFunc(r.extra.estate, isGone)
	}
	if sc.ids.size() == 0 {
		delete(t.scopes, ref)
	}
	return removed
}

// condemn marks the records that a purge removes as gone. It returns them among
// others.
func (sc *scope) condemn(v uint64, at int64) []*record {
	over := func(r *record) bool {
		return r.stub || at >= r.expires || 0 < r.died && r.died <= v
	}
	var found []*record
	heads := lineage{}
	consider := func(r *record) {
		if over(r) && over(heads.of(r)) {
			r.gone = true
			found = append(found, r)
		}
	}
	for _, c := range sc.live.chunks {
		if at >= c.minExpires {
			each(c.recs, consider)
		}
	}
	retired := func(f func(*record)) {
		for _, c := range sc.past.chunks {
			each(c.recs, f)
		}
		each(sc.stubs, f)
	}
	retired(consider)
	// Whom one that stays names as its successor stays as well.
	retired(func(r *record) {
		for h := r.heir; !r.gone && h != nil && h.gone; h = h.heir {
			h.gone = false
		}
	})
	return found
}

func each(recs []*record, f func(*record)) {
	for _, r := range recs {
		f(r)
	}
}

// lineage remembers where chains of successors end.
type lineage map[*record]*record

// of returns the last of the successors of r: r itself if it has none.
func (l lineage) of(r *record) *record {
	var chain []*record
	for r.heir != nil && l[r] == nil {
		chain = append(chain, r)
		r = r.heir
	}
	if head := l[r]; head != nil {
		r = head
	}
	for _, c := range chain {
		l[c] = r
	}
	return r
}

package inmem

import (
	"context"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Purge makes versions before v unavailable and removes what no later one can show at
// the instant at or after it. It works scope by scope, and stops between two of them
// when the context is done; the rest goes with the next call.
func (st *Store) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	t := st.tenant(tenant)
	n, err := t.advance(v)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, ref := range t.refs() {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		removed += t.purge(ref, n, at)
	}
	return removed, nil
}

// advance moves the horizon to v, and returns its number.
func (t *tenant) advance(v driver.Version) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := t.number(v)
	if err == nil {
		t.journals = slices.Delete(t.journals, 0, int(n-t.horizon))
		t.horizon = n
	}
	return n, err
}

// purge removes what it can of one scope, and the scope if nothing is left.
func (t *tenant) purge(ref string, v uint64, at time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	sc := t.scopes[ref]
	if sc == nil {
		return 0
	}
	candidates := driver.Stored{Entries: map[driver.Located]driver.Record{}}
	for _, r := range sc.recs {
		if r.erased || r.died < forever || !r.entry.LiveAt(at) {
			rec := r.record()
			candidates.Entries[rec.Located()] = rec
		}
	}
	retired := func(r *driver.Record) bool { return sc.recs[r.Entry.ID].died <= v }
	purgeable := candidates.Purgeable(retired, at)
	for _, l := range purgeable {
		sc.purge(sc.recs[l.ID])
	}
	sc.erased = slices.DeleteFunc(sc.erased, func(s span) bool { return s.to <= v })
	if len(sc.recs)+len(sc.erased) == 0 {
		delete(t.scopes, ref)
	}
	return len(purgeable)
}

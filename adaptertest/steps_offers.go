package adaptertest

import (
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Steps of what a store may offer beyond the four operations.

func (w *world) tryApply(tenant string, m driver.Mutation) (driver.Applied, error) {
	m.At = w.now
	w.did("apply for %s: %s", named(tenant), m)
	made, err := w.tx.Apply(w.ctx, tenant, m)
	w.mirrored(err, func(r *reference) error {
		if rule := m.Validate(tenant); rule != nil {
			return driver.ErrValidation
		}
		_, err := r.apply(tenant, &m, made.Revs, false)
		return err
	})
	if err == nil {
		w.revises(tenant, &m, made.Revs)
		if w.versions != nil {
			w.check((made.Version == "") == unversioned(&m), "a version of every mutation but one that changes machinery only", "the version %q", w.name(made.Version))
			w.hold(tenant, made.Version)
		}
	}
	return made, err
}

// apply applies a mutation of home's tenant.
func (w *world) apply(m driver.Mutation) driver.Applied {
	made, err := w.tryApply(home.Tenant, m)
	w.must(err)
	return made
}

// tenantOf is the tenant of what a mutation puts, home's if it puts nothing.
func tenantOf(m *driver.Mutation) string {
	for _, p := range m.Put {
		return p.Tenant
	}
	return home.Tenant
}

func located(s driver.Scope, ids ...string) []driver.Located {
	var out []driver.Located
	for _, id := range ids {
		out = append(out, driver.Located{Scope: s, ID: id})
	}
	return out
}

func (w *world) placed(s driver.Scope, ids ...string) []driver.Placed {
	var out []driver.Placed
	for _, id := range ids {
		out = append(out, driver.Placed{Scope: s, Entry: w.entry(id)})
	}
	return out
}

func retire(s driver.Scope, id string, state driver.State, successor string) driver.Retirement {
	return driver.Retirement{Located: driver.Located{Scope: s, ID: id}, State: state, For: successor}
}

func retired(list ...driver.Retirement) driver.Mutation { return driver.Mutation{Retire: list} }

func (w *world) lookUp(s driver.Scope, ids ...string) []driver.Record {
	w.did("look up %s in %s", ids, s)
	recs, err := w.tx.Lookup(w.ctx, s, ids)
	w.must(err)
	return recs
}

func (w *world) history(tenant string, q driver.HistoryQuery) []driver.Record {
	w.did("history of %s, ref %q, subject %q, for %s", named(tenant), q.Ref, q.Subject, q.For)
	var recs []driver.Record
	for rec, err := range w.tx.History(w.ctx, tenant, q) {
		w.must(err)
		recs = append(recs, rec)
	}
	slices.SortFunc(recs, compareRecords) // a history has no order; the text of a failure has one
	return recs
}

// event is a record of a run of home's tenant.
func (w *world) event(run, id string) events.Record {
	return withPayload(events.Record{ID: id, Tenant: home.Tenant, RunID: run, Time: w.now})
}

// undelivered reads what waits of a run, or of all tenants if both are empty.
func (w *world) undelivered(tenant, run string) []events.Record {
	w.did("read what waits: tenant %q, run %q", tenant, run)
	if run == "" {
		w.mu.Lock()
		w.lent = true
		w.mu.Unlock()
	}
	var recs []events.Record
	for rec, err := range w.tx.Undelivered(w.ctx, tenant, run) {
		w.must(err)
		recs = append(recs, rec)
	}
	return recs
}

func (w *world) delivered(recs ...events.Record) {
	for _, r := range recs[:min(len(recs), 20)] {
		w.did("mark event %s of run %s of %s as delivered", named(r.ID), named(r.RunID), named(r.Tenant))
	}
	w.must(w.tx.Delivered(w.ctx, recs))
	if w.ref != nil {
		w.ref.delivered(recs)
	}
}

func (w *world) version(tenant string) driver.Version {
	v, err := w.versions.Version(w.ctx, tenant)
	w.did("take the version of %s: %s", named(tenant), w.name(v))
	w.must(err)
	w.hold(tenant, v)
	return v
}

func (w *world) intact(s driver.Scope, v driver.Version, want bool) {
	w.did("ask whether %s is intact for %s", w.name(v), s)
	got, err := w.versions.Intact(w.ctx, s, v)
	w.must(err)
	w.check(got == want, fmt.Sprint(want), "%v", got)
}

func (w *world) purge(tenant string, v driver.Version) int {
	w.did("purge %s before %s, at %s", named(tenant), w.name(v), w.now)
	n, err := w.versions.Purge(w.ctx, tenant, v, w.now)
	w.must(err)
	for _, h := range w.held {
		if h.store == v && h.tenant == tenant {
			want := w.ref.purge(tenant, h.number, w.now)
			w.check(n == want, fmt.Sprintf("%d records removed", want), "%d", n)
			return n
		}
	}
	w.unmirrored()
	return n
}

// listed expects these scopes behind another one, in their order.
func (w *world) listed(after driver.Scope, want ...driver.Scope) {
	w.did("list the scopes behind %s", after)
	var got, expected []string
	for s, err := range w.tenants.Scopes(w.ctx, after) {
		w.must(err)
		got = append(got, describeScope(s))
	}
	for _, s := range want {
		expected = append(expected, describeScope(s))
	}
	w.came(got, expected...)
}

// drop drops a tenant by calls with a limit, and expects an end within some calls.
func (w *world) drop(tenant string, limit, calls int) {
	for n := range calls {
		w.did("drop %s, about %d at a time", named(tenant), limit)
		more, err := w.tenants.DropTenant(w.ctx, tenant, limit)
		w.must(err)
		if w.ref.drop(tenant); !more {
			return
		}
		if n == 0 && w.level == LevelVersioned {
			w.auditHorizons() // versions go with the first call
		}
	}
	w.fail(fmt.Sprintf("nothing is left after %d calls", calls), "more is left")
}

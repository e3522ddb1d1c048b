package adaptertest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Steps of what a store may offer beyond the four operations.

func (w *world) tryApply(tenant string, m memory.Mutation) (memory.Version, error) {
	m.At = w.now
	w.did("apply for %s: %s", short(tenant), describeMutation(&m))
	return w.tx.Apply(w.ctx, tenant, m)
}

func (w *world) apply(m memory.Mutation) memory.Version {
	v, err := w.tryApply(tenantOf(&m), m)
	w.must(err)
	return v
}

// conflicts expects that a condition of m does not hold.
func (w *world) conflicts(m memory.Mutation) {
	_, err := w.tryApply(tenantOf(&m), m)
	w.mustBe(err, memory.ErrConflict)
}

// tenantOf is the tenant of the mutation's scopes, home's if it has none.
func tenantOf(m *memory.Mutation) string {
	for _, l := range slices.Concat(m.Live, m.Restore, m.Erase) {
		return l.Tenant
	}
	for _, p := range m.Put {
		return p.Tenant
	}
	for _, r := range m.Retire {
		return r.Tenant
	}
	for _, c := range m.Cells {
		return c.Tenant
	}
	return home.Tenant
}

func located(s memory.Scope, ids ...string) []memory.Located {
	var out []memory.Located
	for _, id := range ids {
		out = append(out, memory.Located{Scope: s, ID: id})
	}
	return out
}

func (w *world) placed(s memory.Scope, ids ...string) []memory.Placed {
	var out []memory.Placed
	for _, id := range ids {
		out = append(out, memory.Placed{Scope: s, Entry: w.entry(id)})
	}
	return out
}

func retire(s memory.Scope, id string, state memory.State, successor string) memory.Retirement {
	return memory.Retirement{Located: memory.Located{Scope: s, ID: id}, State: state, For: successor}
}

func retired(list ...memory.Retirement) memory.Mutation { return memory.Mutation{Retire: list} }

func swap(s memory.Scope, name, old, new string) memory.CellSwap {
	c := memory.CellSwap{Scope: s, Name: name}
	if old != "" {
		c.Old = []byte(old)
	}
	if new != "" {
		c.New = []byte(new)
	}
	return c
}

func (w *world) tryLookup(s memory.Scope, id string) (memory.Record, error) {
	w.did("look up %s in %s", short(id), describeScope(s))
	return w.tx.Lookup(w.ctx, s, id)
}

// looksUp expects the record to be so.
func (w *world) looksUp(s memory.Scope, want memory.Entry, state memory.State, successor string) {
	rec, err := w.tryLookup(s, want.ID)
	w.must(err)
	w.sameRecord(rec, memory.Record{Scope: s, Entry: want, State: state, For: successor})
}

func (w *world) sameRecord(rec, want memory.Record) {
	if !equalRecords(&rec, &want) {
		w.fail(describeRecord(&want), describeRecord(&rec))
	}
}

func equalRecords(a, b *memory.Record) bool {
	return a.Scope == b.Scope && a.State == b.State && a.For == b.For && a.Erased == b.Erased && differences(&a.Entry, &b.Entry) == ""
}

// stub expects that nothing is left of an entry but its id and what became of it.
func (w *world) stub(s memory.Scope, id string, state memory.State, successor string) {
	rec, err := w.tryLookup(s, id)
	w.must(err)
	w.sameRecord(rec, memory.Record{Scope: s, Entry: memory.Entry{ID: id}, State: state, For: successor, Erased: true})
}

// purged expects that the scope no longer has a record of the id.
func (w *world) purged(s memory.Scope, id string) {
	rec, err := w.tryLookup(s, id)
	w.check(errors.Is(err, memory.ErrNotFound), describeError(memory.ErrNotFound), "%s, %s", describeRecord(&rec), describeError(err))
}

func (w *world) history(tenant string, q memory.HistoryQuery) []memory.Record {
	w.did("history of %s, ref %q, subject %q, for %q", short(tenant), q.Ref, q.Subject, q.For)
	var recs []memory.Record
	for rec, err := range w.tx.History(w.ctx, tenant, q) {
		w.must(err)
		recs = append(recs, rec)
	}
	// A history has no order; the text of a failure has one.
	slices.SortStableFunc(recs, func(a, b memory.Record) int {
		return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Entry.ID, b.Entry.ID))
	})
	return recs
}

// remembers expects the history to have these ids, in whatever order.
func (w *world) remembers(tenant string, q memory.HistoryQuery, want ...string) {
	got := []string{}
	for _, rec := range w.history(tenant, q) {
		got = append(got, rec.Entry.ID)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.fail(describeTexts(want), describeTexts(got))
	}
}

// holds expects the value of a cell; nil stands for none.
func (w *world) holds(s memory.Scope, name string, want []byte) {
	w.did("read cell %s of %s", short(name), describeScope(s))
	got, err := w.tx.Cell(w.ctx, s, name)
	w.must(err)
	w.check((got == nil) == (want == nil) && string(got) == string(want), describeBytes(want), "%s", describeBytes(got))
}

// event is a record of a run of home's tenant.
func (w *world) event(run, id string) events.Record {
	return events.Record{ID: id, Tenant: home.Tenant, RunID: run, Time: w.now,
		Payload: events.MemoryWritten{MemoryRef: home.Ref, MemoryID: "m-" + id}}
}

func (w *world) undelivered(q memory.OutboxQuery) []events.Record {
	w.did("read the outbox: tenant %q, run %q, except %v, limit %d", q.Tenant, q.RunID, q.Except, q.Limit)
	recs, err := w.tx.Undelivered(w.ctx, q)
	w.must(err)
	return recs
}

// waiting expects these events of a run to wait, in this order.
func (w *world) waiting(tenant, run string, want ...string) {
	w.sameEvents(w.undelivered(memory.OutboxQuery{Tenant: tenant, RunID: run}), want...)
}

func (w *world) sameEvents(recs []events.Record, want ...string) {
	got := []string{}
	for _, r := range recs {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		w.fail("events "+describeTexts(want), "events "+describeTexts(got))
	}
}

func (w *world) delivered(recs ...events.Record) {
	for _, r := range recs {
		w.did("mark event %s of run %s as delivered", short(r.ID), short(r.RunID))
	}
	w.must(w.tx.Delivered(w.ctx, recs))
}

func (w *world) version(tenant string) memory.Version {
	v, err := w.versions.Version(w.ctx, tenant)
	w.did("take the version of %s: %s", short(tenant), w.take(v))
	w.must(err)
	return v
}

func (w *world) tryListAt(s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	w.did("list %s as of %s%s", describeScope(s), w.name(v), describeQuery(q))
	return w.versions.ListAt(w.ctx, s, v, q)
}

func (w *world) listAt(s memory.Scope, v memory.Version, q memory.Query) []memory.Entry {
	entries, err := w.tryListAt(s, v, q)
	w.must(err)
	return entries
}

// listsAt expects a list of everything at v to be these ids, in this order.
func (w *world) listsAt(s memory.Scope, v memory.Version, want ...string) {
	w.sameIDs(w.listAt(s, v, memory.Query{At: w.now}), want)
}

func (w *world) tryGetAt(s memory.Scope, v memory.Version, id string) (memory.Entry, error) {
	w.did("get %s from %s as of %s at %s", short(id), describeScope(s), w.name(v), describeTime(w.now))
	return w.versions.GetAt(w.ctx, s, v, id, w.now)
}

// getsAt expects the entry to be there at v.
func (w *world) getsAt(s memory.Scope, v memory.Version, want memory.Entry) {
	e, err := w.tryGetAt(s, v, want.ID)
	w.must(err)
	w.sameEntry(&e, &want)
}

func (w *world) absentAt(s memory.Scope, v memory.Version, id string) {
	_, err := w.tryGetAt(s, v, id)
	w.mustBe(err, memory.ErrNotFound)
}

func (w *world) intact(tenant string, v memory.Version, want bool) {
	w.did("ask whether %s of %s is intact", w.name(v), short(tenant))
	got, err := w.versions.Intact(w.ctx, tenant, v)
	w.must(err)
	w.check(got == want, fmt.Sprint(want), "%v", got)
}

func (w *world) purge(tenant string, v memory.Version) int {
	w.did("purge %s before %s, at %s", short(tenant), w.name(v), describeTime(w.now))
	n, err := w.versions.Purge(w.ctx, tenant, v, w.now)
	w.must(err)
	return n
}

func (w *world) search(s memory.Scope, q memory.Search) []memory.Entry {
	q.At = w.now
	w.did("search %s for text %s, tags %s, limit %d, at %s", describeScope(s), short(q.Text), describeTexts(q.Tags), q.Limit, describeTime(q.At))
	entries, err := w.searcher.Search(w.ctx, s, q)
	w.must(err)
	return entries
}

func (w *world) scan(s memory.Scope, q memory.Query) []memory.Entry {
	w.did("scan %s%s", describeScope(s), describeQuery(q))
	var entries []memory.Entry
	for e, err := range w.scanner.Scan(w.ctx, s, q) {
		w.must(err)
		entries = append(entries, e)
	}
	return entries
}

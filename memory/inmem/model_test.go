package inmem

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// model is the store as its contract describes it: plain maps and slices, and a
// full copy of every version.
type model struct {
	tenants map[string]*modelTenant
	outbox  []events.Record
}

type modelTenant struct {
	recs     map[modelKey]modelRecord
	versions []map[modelKey]*memory.Entry // what was not retired; the index is the version
	broken   []bool                       // something of that version was erased since
	horizon  int
	cells    map[modelKey][]byte
}

type modelKey struct{ ref, id string }

type modelRecord struct {
	entry  memory.Entry
	state  memory.State
	heir   string
	erased bool
	died   int // the version that retired it
}

func (m *model) tenant(name string) *modelTenant {
	t := m.tenants[name]
	if t == nil {
		t = &modelTenant{
			recs: map[modelKey]modelRecord{}, cells: map[modelKey][]byte{},
			versions: []map[modelKey]*memory.Entry{{}}, broken: []bool{false},
		}
		m.tenants[name] = t
	}
	return t
}

func (t *modelTenant) now() int { return len(t.versions) - 1 }

// commit makes the next version of recs.
func (t *modelTenant) commit(recs map[modelKey]modelRecord) {
	live := map[modelKey]*memory.Entry{}
	for k, r := range recs {
		if r.state == memory.Live && !r.erased {
			live[k] = &r.entry
		}
		if r.erased && !t.recs[k].erased {
			for v := range t.versions {
				if _, was := t.versions[v][k]; was {
					delete(t.versions[v], k)
					t.broken[v] = true
				}
			}
		}
	}
	t.recs = recs
	t.versions = append(t.versions, live)
	t.broken = append(t.broken, false)
}

func (t *modelTenant) put(ref string, e memory.Entry) error {
	k := modelKey{ref, e.ID}
	if r, held := t.recs[k]; held {
		if r.erased || !equalEntry(r.entry, e) {
			return memory.ErrConflict
		}
		return nil
	}
	recs := maps.Clone(t.recs)
	recs[k] = modelRecord{entry: e}
	t.commit(recs)
	return nil
}

func (t *modelTenant) delete(ref, id string, at time.Time) bool {
	k := modelKey{ref, id}
	r, held := t.recs[k]
	if !held || r.erased || r.state != memory.Live || !r.entry.LiveAt(at) {
		return false
	}
	recs := maps.Clone(t.recs)
	r.state, r.died = memory.Deleted, t.now()+1
	recs[k] = r
	t.commit(recs)
	return true
}

// apply does the mutation on a copy, part by part, and drops the copy at the first
// condition that fails.
func (m *model) apply(tenant string, mu memory.Mutation) error {
	t := m.tenant(tenant)
	recs, cells, next := maps.Clone(t.recs), maps.Clone(t.cells), t.now()+1
	placed := map[modelKey]bool{}
	live := func(ref, id string) bool {
		k := modelKey{ref, id}
		r, held := recs[k]
		return held && !r.erased && r.state == memory.Live && (placed[k] || r.entry.LiveAt(mu.At))
	}
	for _, l := range mu.Live {
		if !live(l.Ref, l.ID) {
			return memory.ErrConflict
		}
	}
	for _, p := range mu.Put {
		k := modelKey{p.Ref, p.Entry.ID}
		if r, held := recs[k]; !held {
			recs[k] = modelRecord{entry: p.Entry}
		} else if r.erased || !equalEntry(r.entry, p.Entry) {
			return memory.ErrConflict
		}
		placed[k] = true
	}
	for _, x := range mu.Retire {
		if !live(x.Ref, x.ID) || x.For != "" && !live(x.Ref, x.For) {
			return memory.ErrConflict
		}
		k := modelKey{x.Ref, x.ID}
		r := recs[k]
		r.state, r.heir, r.died = x.State, x.For, next
		recs[k] = r
	}
	for _, l := range mu.Restore {
		k := modelKey{l.Ref, l.ID}
		r, held := recs[k]
		if !held || r.erased || r.state != memory.Merged && r.state != memory.Superseded {
			return memory.ErrConflict
		}
		r.state, r.heir = memory.Live, ""
		recs[k] = r
	}
	for _, l := range mu.Erase {
		k := modelKey{l.Ref, l.ID}
		if r, held := recs[k]; held && !r.erased {
			r.erased = true
			recs[k] = r
		}
	}
	for _, c := range mu.Cells {
		k := modelKey{c.Ref, c.Name}
		if !reflect.DeepEqual(cells[k], c.Old) {
			return memory.ErrConflict
		}
		if cells[k] = c.New; c.New == nil {
			delete(cells, k)
		}
	}
	for _, e := range mu.Events {
		if !slices.ContainsFunc(m.outbox, func(o events.Record) bool { return keyOf(&o) == keyOf(&e) }) {
			m.outbox = append(m.outbox, e)
		}
	}
	t.cells = cells
	t.commit(recs)
	return nil
}

func (t *modelTenant) purge(v int, at time.Time) (int, error) {
	if v < t.horizon || v > t.now() {
		return 0, memory.ErrSnapshotUnavailable
	}
	t.horizon = v
	over := func(r modelRecord) bool {
		return r.erased || !r.entry.LiveAt(at) || r.state != memory.Live && r.died <= v
	}
	gone := map[modelKey]bool{}
	for k, r := range t.recs {
		end := r
		for end.heir != "" {
			end = t.recs[modelKey{k.ref, end.heir}]
		}
		gone[k] = over(r) && over(end)
	}
	for changed := true; changed; {
		changed = false
		for k, r := range t.recs {
			if h := (modelKey{k.ref, r.heir}); r.heir != "" && !gone[k] && gone[h] {
				gone[h], changed = false, true
			}
		}
	}
	removed := 0
	for k, is := range gone {
		if is {
			removed++
			delete(t.recs, k)
			for _, version := range t.versions {
				delete(version, k)
			}
		}
	}
	return removed, nil
}

func (t *modelTenant) list(v int, ref string, q memory.Query, match func(*memory.Entry) bool) []memory.Entry {
	var entries []memory.Entry
	for k, e := range t.versions[v] {
		after := q.After.IsZero() || (&memory.Entry{ID: q.After.ID, CreatedAt: q.After.CreatedAt}).Before(e)
		if k.ref == ref && e.LiveAt(q.At) && after && match(e) && (q.Tag == "" || slices.Contains(e.Tags, q.Tag)) {
			entries = append(entries, *e)
		}
	}
	slices.SortFunc(entries, func(a, b memory.Entry) int {
		if a.Before(&b) {
			return -1
		}
		return 1
	})
	if q.Limit > 0 && len(entries) > q.Limit {
		entries = entries[:q.Limit]
	}
	return entries
}

func (t *modelTenant) record(tenant string, k modelKey) (memory.Record, bool) {
	r, held := t.recs[k]
	rec := memory.Record{
		Scope: memory.Scope{Tenant: tenant, Ref: k.ref}, Entry: r.entry, State: r.state, For: r.heir, Erased: r.erased,
	}
	if r.erased {
		rec.Entry = memory.Entry{ID: k.id}
	}
	return rec, held
}

func (t *modelTenant) history(tenant string, q memory.HistoryQuery) []memory.Record {
	var recs []memory.Record
	for k := range t.recs {
		r, _ := t.record(tenant, k)
		if (q.Ref == "" || q.Ref == r.Ref) && (q.For == "" || q.For == r.For) &&
			(q.Subject == "" || slices.Contains(r.Entry.Subjects, q.Subject)) {
			recs = append(recs, r)
		}
	}
	return sorted(recs)
}

func sorted(recs []memory.Record) []memory.Record {
	slices.SortFunc(recs, func(a, b memory.Record) int {
		return strings.Compare(a.Ref+"\x00"+a.Entry.ID, b.Ref+"\x00"+b.Entry.ID)
	})
	return recs
}

func (m *model) undelivered(q memory.OutboxQuery) []events.Record {
	var recs []events.Record
	for _, r := range m.outbox {
		if (q.Tenant == "" || q.Tenant == r.Tenant) && (q.RunID == "" || q.RunID == r.RunID) &&
			!slices.Contains(q.Except, memory.RunName{Tenant: r.Tenant, RunID: r.RunID}) &&
			(q.Limit == 0 || len(recs) < q.Limit) {
			recs = append(recs, r)
		}
	}
	return recs
}

func (m *model) delivered(recs []events.Record) {
	m.outbox = slices.DeleteFunc(slices.Clone(m.outbox), func(o events.Record) bool {
		return slices.ContainsFunc(recs, func(r events.Record) bool { return keyOf(&o) == keyOf(&r) })
	})
}

func equalEntry(a, b memory.Entry) bool { return reflect.DeepEqual(a, b) }

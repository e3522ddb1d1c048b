package adaptertest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// reference is what the MODEL cases hold a store against: the contract, written in
// the most obvious way. Versions are numbers; a mutation works on a copy.
type reference struct {
	tenants map[string]*refTenant
	outbox  []events.Record
}

type refTenant struct {
	version, horizon int
	records          []*refRecord
	cells            map[string][]byte
	scars            []refSpan       // of versions at which something was live that is erased now
	purged           map[string]bool // ids that were purged, which nobody uses again
}

// refRecord is a record with the versions at which it was live.
type refRecord struct {
	memory.Record
	lives []refSpan
}

// refSpan is the versions from one to before another; to is 0 for an open end.
type refSpan struct{ from, to int }

func (s refSpan) has(v int) bool { return s.from <= v && (s.to == 0 || v < s.to) }

func hasVersion(spans []refSpan, v int) bool {
	return slices.ContainsFunc(spans, func(s refSpan) bool { return s.has(v) })
}

func newReference() *reference { return &reference{tenants: map[string]*refTenant{}} }

func (r *reference) tenant(name string) *refTenant {
	if r.tenants[name] == nil {
		r.tenants[name] = &refTenant{cells: map[string][]byte{}, purged: map[string]bool{}}
	}
	return r.tenants[name]
}

func (t *refTenant) clone() *refTenant {
	c := *t
	c.records = nil
	for _, r := range t.records {
		copied := *r
		copied.lives = slices.Clone(r.lives)
		c.records = append(c.records, &copied)
	}
	c.cells = maps.Clone(t.cells)
	c.scars = slices.Clone(t.scars)
	return &c
}

func (t *refTenant) find(s memory.Scope, id string) *refRecord {
	for _, r := range t.records {
		if r.Scope == s && r.Entry.ID == id {
			return r
		}
	}
	return nil
}

func (r *refRecord) live(at time.Time) bool {
	return r != nil && r.State == memory.Live && !r.Erased && r.Entry.LiveAt(at)
}

// end closes the record's life.
func (r *refRecord) end(v int) {
	if last := len(r.lives) - 1; r.lives[last].to == 0 {
		r.lives[last].to = v
	}
}

func (r *reference) put(s memory.Scope, e memory.Entry) error {
	t := r.tenant(s.Tenant)
	if held := t.find(s, e.ID); held != nil {
		if held.Erased || differences(&held.Entry, &e) != "" {
			return memory.ErrConflict
		}
		return nil
	}
	t.version++
	t.insert(s, e)
	return nil
}

func (t *refTenant) insert(s memory.Scope, e memory.Entry) {
	t.records = append(t.records, &refRecord{memory.Record{Scope: s, Entry: e}, []refSpan{{t.version, 0}}})
}

func (r *reference) delete(s memory.Scope, id string, at time.Time) bool {
	t := r.tenant(s.Tenant)
	held := t.find(s, id)
	if !held.live(at) {
		return false
	}
	t.version++
	held.State = memory.Deleted
	held.end(t.version)
	return true
}

// apply commits m, or reports a conflict and leaves everything as it was.
func (r *reference) apply(tenant string, m *memory.Mutation) error {
	t := r.tenant(tenant).clone()
	t.version++
	for _, l := range m.Live {
		if !t.find(l.Scope, l.ID).live(m.At) {
			return memory.ErrConflict
		}
	}
	placed := map[memory.Located]bool{}
	for _, p := range m.Put {
		placed[memory.Located{Scope: p.Scope, ID: p.Entry.ID}] = true
		if held := t.find(p.Scope, p.Entry.ID); held == nil {
			t.insert(p.Scope, p.Entry)
		} else if held.Erased || differences(&held.Entry, &p.Entry) != "" {
			return memory.ErrConflict
		}
	}
	live := func(l memory.Located) bool {
		held := t.find(l.Scope, l.ID)
		return held.live(m.At) || placed[l] && held.live(time.Time{})
	}
	for _, x := range m.Retire {
		if !live(x.Located) || x.For != "" && !live(memory.Located{Scope: x.Scope, ID: x.For}) {
			return memory.ErrConflict
		}
		held := t.find(x.Scope, x.ID)
		held.State, held.For = x.State, x.For
		held.end(t.version)
	}
	for _, l := range m.Restore {
		held := t.find(l.Scope, l.ID)
		if held == nil || held.Erased || held.State != memory.Merged && held.State != memory.Superseded {
			return memory.ErrConflict
		}
		held.State, held.For = memory.Live, ""
		held.lives = append(held.lives, refSpan{t.version, 0})
	}
	for _, l := range m.Erase {
		if held := t.find(l.Scope, l.ID); held != nil && !held.Erased {
			held.end(t.version)
			t.scars = append(t.scars, held.lives...)
			held.Entry, held.Erased, held.lives = memory.Entry{ID: l.ID}, true, nil
		}
	}
	for _, c := range m.Cells {
		key := c.Ref + "\x00" + c.Name
		old, held := t.cells[key]
		if held != (c.Old != nil) || !bytes.Equal(old, c.Old) {
			return memory.ErrConflict
		}
		if c.New == nil {
			delete(t.cells, key)
		} else {
			t.cells[key] = c.New
		}
	}
	for _, e := range m.Events {
		if !slices.ContainsFunc(r.outbox, func(o events.Record) bool { return sameEvent(o, e) }) {
			r.outbox = append(r.outbox, e)
		}
	}
	r.tenants[tenant] = t
	return nil
}

func sameEvent(a, b events.Record) bool {
	return a.Tenant == b.Tenant && a.RunID == b.RunID && a.ID == b.ID
}

func (r *reference) delivered(e events.Record) {
	r.outbox = slices.DeleteFunc(r.outbox, func(o events.Record) bool { return sameEvent(o, e) })
}

// list returns what was not retired at v, the current version if v is below zero.
func (r *reference) list(s memory.Scope, v int, q memory.Query) []memory.Entry {
	t := r.tenant(s.Tenant)
	if v < 0 {
		v = t.version
	}
	var out []memory.Entry
	for _, rec := range t.records {
		e := rec.Entry
		if rec.Scope == s && hasVersion(rec.lives, v) && e.LiveAt(q.At) && (q.Tag == "" || slices.Contains(e.Tags, q.Tag)) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b memory.Entry) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	if !q.After.IsZero() {
		after := memory.Entry{ID: q.After.ID, CreatedAt: q.After.CreatedAt}
		out = slices.DeleteFunc(out, func(e memory.Entry) bool { return !after.Before(&e) })
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[:q.Limit]
	}
	return out
}

func (r *reference) intact(tenant string, v int) bool {
	return !hasVersion(r.tenant(tenant).scars, v)
}

// purge removes what no version from v on can show, but for lineage that is needed.
func (r *reference) purge(tenant string, v int, at time.Time) int {
	t := r.tenant(tenant)
	t.horizon = v
	over := func(rec *refRecord) bool {
		if rec.Erased || !rec.Entry.LiveAt(at) {
			return true
		}
		last := rec.lives[len(rec.lives)-1]
		return last.to > 0 && last.to <= v
	}
	successor := func(rec *refRecord) *refRecord {
		if rec.For == "" {
			return nil
		}
		return t.find(rec.Scope, rec.For)
	}
	stays := map[*refRecord]bool{}
	for _, rec := range t.records {
		head := rec
		for successor(head) != nil {
			head = successor(head)
		}
		if !over(rec) || !over(head) {
			for h := rec; h != nil; h = successor(h) {
				stays[h] = true
			}
		}
	}
	before := len(t.records)
	t.records = slices.DeleteFunc(t.records, func(rec *refRecord) bool {
		if !stays[rec] {
			t.purged[rec.Ref+"\x00"+rec.Entry.ID] = true
		}
		return !stays[rec]
	})
	return before - len(t.records)
}

package adaptertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// model plays random steps. Each chooses what it is about among what the state allows:
// one that restores looks for what was retired, and now and then for anything.
type model struct {
	*world
	handles []driver.Adapter
	settle  func()
	fresh   int // how many ids were given so far
	reached map[string]int
}

// The steps of each level, the frequent ones several times.
var (
	adapterOps    = []string{"put", "put", "put", "put again", "put another", "delete", "page", "advance"}
	transactorOps = []string{"apply", "apply", "apply", "apply", "apply", "merge", "restore", "document", "document", "deliver", "reopen", "second", "drop"}
	versionedOps  = []string{"hold", "hold", "purge", "page at"}
)

var (
	modelTenants = []string{"a", "ab"}
	modelRefs    = []string{"m", "n"}
	modelTags    = []string{"x", "y"}
)

func pick[T any](list []T, n int) T { return list[n%len(list)] }

func (m *model) play(s step) {
	n := s.n
	scope := at(pick(modelTenants, n[0]/8), pick(modelRefs, n[0]/16))
	switch s.op {
	case "put":
		m.count("put", "absent", m.tryPut(scope, m.newEntry(n[1])))
	case "put again", "put another":
		if rec := m.choose(scope.Tenant, n[1], func(r *refRecord) bool { return true }); rec != nil {
			e := rec.Entry
			if s.op == "put another" || rec.Erased {
				e.Content += " changed"
			}
			m.count(s.op, m.stateOf(rec), m.tryPut(rec.Scope, e))
		}
	case "delete":
		if rec := m.choose(scope.Tenant, n[1], m.likely(n[2], func(r *refRecord) bool { return r.liveAt(m.now) })); rec != nil {
			state, lives := m.stateOf(rec), rec.liveAt(m.now)
			m.delete(rec.Scope, rec.Entry.ID, lives)
			m.count("delete", state, nil)
		}
	case "advance":
		m.now = m.now.Add(time.Duration(1+n[0]%3) * time.Millisecond)
		m.did("let time pass until %s", describeTime(m.now))
	case "page", "page at":
		m.page(scope, s)
		return
	case "apply":
		m.mutate(scope.Tenant, m.mutation(scope.Tenant, n))
	case "merge":
		m.merge(scope.Tenant, n)
	case "restore":
		if rec := m.choose(scope.Tenant, n[1], func(r *refRecord) bool { return r.State == driver.Merged || r.State == driver.Superseded }); rec != nil {
			m.mutate(scope.Tenant, driver.Mutation{Restore: located(rec.Scope, rec.Entry.ID)})
		}
	case "document":
		m.mutate(scope.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{m.swap(scope, n[1], n[2], n[3])}})
	case "deliver":
		if waiting := m.ref.undelivered(driver.OutboxQuery{}); len(waiting) > 0 {
			m.delivered(pick(waiting, n[1]))
		}
	case "hold":
		m.version(scope.Tenant)
	case "purge":
		if held := m.heldOf(scope.Tenant); len(held) > 0 {
			m.purge(scope.Tenant, pick(held, n[1]).store)
		}
	case "drop":
		if m.tenants != nil && n[1]%4 == 0 {
			m.drop(scope.Tenant, 1000, 3)
		}
	case "reopen":
		if len(m.found.missing([]Offer{Durable})) == 0 && len(m.handles) == 0 {
			m.reopen()
		}
	case "second":
		m.turnHandle()
	}
	m.auditTenant(scope.Tenant, []time.Time{m.now})
}

// turnHandle goes on with another handle of the same data.
func (m *model) turnHandle() {
	if len(m.found.missing([]Offer{Shared})) > 0 {
		return
	}
	if len(m.handles) == 0 {
		m.handles = []driver.Adapter{m.store, m.second()}
	}
	m.did("go on with the other handle")
	m.use(m.handles[1])
	slices.Reverse(m.handles)
}

// stateOf says what is to be counted of a record.
func (m *model) stateOf(r *refRecord) string {
	switch {
	case r == nil:
		return "absent"
	case r.Erased:
		return "erased"
	case r.State != driver.Live:
		return r.State.String()
	case !r.Entry.LiveAt(m.now):
		return "expired"
	case len(r.lives) > 1:
		return "restored"
	}
	return "live"
}

// count notes that a step met a state, and how that ended.
func (m *model) count(part, state string, err error) {
	m.reached[part+" of "+state]++
}

// unreached are the steps that met a state in none of the sequences.
func (m *model) unreached() []string {
	var missed []string
	parts := []string{"put again", "put another", "delete"}
	states := []string{"live", "expired", "deleted"}
	if m.level != LevelAdapter {
		parts = append(parts, "expect live", "retire", "succeed", "restore", "erase", "make a document")
		states = append(states, "merged", "superseded", "erased", "restored")
	}
	for _, part := range parts {
		for _, state := range states {
			if m.reached[part+" of "+state] == 0 {
				missed = append(missed, part+" of "+state)
			}
		}
	}
	if len(missed) > 8 {
		missed = append(missed[:8], fmt.Sprint(len(missed)-8, " more"))
	}
	return missed
}

// choose returns a record of a tenant that is as it is wanted, or nil.
func (m *model) choose(tenant string, n int, wanted func(r *refRecord) bool) *refRecord {
	t := m.ref.tenant(tenant)
	var found []*refRecord
	for _, where := range slices.SortedFunc(maps.Keys(t.records), func(a, b place) int {
		return strings.Compare(a.ref+"\x00"+a.id, b.ref+"\x00"+b.id)
	}) {
		if rec := t.records[where]; wanted(rec) {
			found = append(found, rec)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return pick(found, n)
}

// likely is what is wanted, and now and then anything.
func (m *model) likely(n int, wanted func(r *refRecord) bool) func(r *refRecord) bool {
	if n%3 > 0 {
		return wanted
	}
	return func(*refRecord) bool { return true }
}

// newEntry is an entry that nobody has, with or without whatever an entry may have. Some
// ids are the same in several scopes.
func (m *model) newEntry(n int) driver.Entry {
	m.fresh++
	e := m.entry(fmt.Sprintf("e%02d", m.fresh))
	e.Content = fmt.Sprint("text ", n%1000)
	e.CreatedAt = m.now.Add(-time.Duration(n/7%4) * time.Millisecond)
	if n%3 == 0 {
		e.ExpiresAt = m.now.Add(time.Duration(1+n/11%9) * time.Millisecond)
	}
	if n%2 == 0 {
		e.Tags = []string{pick(modelTags, n/2), "z"}
	}
	if n%4 < 2 {
		e.Subjects = []string{fmt.Sprint("s", n/4%2), "everyone"}
	}
	return e
}

// mutate applies a mutation, and counts the states that its parts meet.
func (m *model) mutate(tenant string, mut driver.Mutation) {
	t := m.ref.tenant(tenant)
	for part, places := range map[string][]driver.Located{"expect live": mut.Live, "restore": mut.Restore, "erase": mut.Erase} {
		for _, l := range places {
			m.count(part, m.stateOf(t.find(l.Ref, l.ID)), nil)
		}
	}
	for _, p := range mut.Put {
		m.count("put again", m.stateOf(t.find(p.Ref, p.Entry.ID)), nil)
	}
	for _, x := range mut.Retire {
		m.count("retire", m.stateOf(t.find(x.Ref, x.ID)), nil)
		if x.For != "" {
			m.count("succeed", m.stateOf(t.find(x.Ref, x.For)), nil)
		}
	}
	for _, x := range mut.Documents {
		for _, id := range x.Of {
			m.count("make a document", m.stateOf(t.find(x.Ref, id)), nil)
		}
	}
	m.tryApply(tenant, mut)
}

// mutation has parts of all kinds together, of which several may name the same entry.
func (m *model) mutation(tenant string, n [8]int) driver.Mutation {
	var mut driver.Mutation
	live := func(r *refRecord) bool { return r.liveAt(m.now) }
	used := map[documentName]bool{}
	for _, k := range n[:1+n[7]%len(n)] {
		scope := at(tenant, pick(modelRefs, k))
		rec := m.choose(tenant, k/1024, m.likely(k/64, live))
		if k%16 != 1 && k%16 < 8 && rec == nil {
			continue
		}
		switch k % 16 {
		case 0:
			mut.Live = append(mut.Live, located(rec.Scope, rec.Entry.ID)...)
		case 1, 8, 9:
			e := m.newEntry(k / 64)
			mut.Put = append(mut.Put, driver.Placed{Scope: scope, Entry: e})
			if k%3 == 0 { // in favour of what the mutation itself puts
				if old := m.choose(tenant, k/128, func(r *refRecord) bool { return live(r) && r.Ref == scope.Ref }); old != nil {
					mut.Retire = append(mut.Retire, retire(scope, old.Entry.ID, pick([]driver.State{driver.Merged, driver.Superseded}, k/256), e.ID))
				}
			}
		case 2:
			if !rec.Erased {
				mut.Put = append(mut.Put, driver.Placed{Scope: rec.Scope, Entry: rec.Entry})
			}
		case 3:
			mut.Retire = append(mut.Retire, retire(rec.Scope, rec.Entry.ID, driver.Deleted, ""))
		case 4, 5:
			to := m.choose(tenant, k/2048, m.likely(k/32, func(r *refRecord) bool { return live(r) && r.Ref == rec.Ref && r != rec }))
			if to != nil && to.Ref == rec.Ref && to != rec {
				mut.Retire = append(mut.Retire, retire(rec.Scope, rec.Entry.ID, pick([]driver.State{driver.Merged, driver.Superseded}, k/256), to.Entry.ID))
			}
		case 6:
			back := m.choose(tenant, k/1024, m.likely(k/64, func(r *refRecord) bool { return r.State == driver.Merged || r.State == driver.Superseded }))
			if back != nil {
				mut.Restore = append(mut.Restore, located(back.Scope, back.Entry.ID)...)
			}
		case 7:
			if k/64%2 == 0 {
				mut.Erase = append(mut.Erase, located(rec.Scope, rec.Entry.ID)...)
			}
		case 10, 11, 12:
			e := m.event(fmt.Sprint("run-", k/64%2), fmt.Sprint("ev", k/128%5))
			e.Tenant = tenant
			mut.Events = append(mut.Events, e)
			mut.Log = m.log != nil && n[0]/4%2 == 0
		default:
			if x := m.swap(scope, k/16, k/64, k/512); !used[nameOf(&x.Document)] {
				used[nameOf(&x.Document)] = true
				mut.Documents = append(mut.Documents, x)
			}
		}
	}
	return mut
}

// merge retires a live entry in favour of another, so that lineages come about.
func (m *model) merge(tenant string, n [8]int) {
	live := func(r *refRecord) bool { return r.liveAt(m.now) }
	from := m.choose(tenant, n[1], live)
	if from == nil {
		return
	}
	to := m.choose(tenant, n[2], func(r *refRecord) bool { return live(r) && r.Ref == from.Ref && r != from })
	if to != nil {
		m.mutate(tenant, retired(retire(from.Scope, from.Entry.ID, pick([]driver.State{driver.Merged, driver.Merged, driver.Superseded}, n[3]), to.Entry.ID)))
	}
}

// swap is a random swap of one of a few documents, mostly with the revision that is
// there.
func (m *model) swap(scope driver.Scope, which, n, act int) driver.DocumentSwap {
	d := pick([]driver.Document{note(scope, "n", ""), note(at(scope.Tenant, ""), "n", ""), timer(scope, "t", m.now), file(scope, "f"), digest(scope, "d"), digest(scope, "e")}, which)
	d.Value = []byte(fmt.Sprint("value ", n%1000))
	switch d.Class {
	case driver.Machinery:
		d.Due = m.now.Add(time.Duration(n%4) * time.Millisecond)
	case driver.Content:
		for _, k := range []int{n, n / 3}[:1+n%2] {
			if rec := m.choose(scope.Tenant, k, m.likely(k, func(r *refRecord) bool { return r.Ref == scope.Ref && !r.Erased })); rec != nil {
				d.Of = append(d.Of, rec.Entry.ID)
			}
		}
		if len(d.Of) == 0 {
			d.Of = []string{"never"}
		}
	case driver.HostText:
		d.Subjects = []string{fmt.Sprint("s", n%2)}
	}
	d.Group = pick([]string{"", "g", "h"}, n/2)
	x := driver.DocumentSwap{Document: d, Act: pick([]driver.Act{driver.Set, driver.Set, driver.Retain, driver.Check, driver.Remove}, act)}
	if act/8%6 > 0 {
		x.Rev = m.ref.tenant(scope.Tenant).documents[nameOf(&d)].Rev
	}
	if x.Rev == 0 && x.Act == driver.Retain {
		x.Act = driver.Set
	}
	return x
}

// page reads a part of a list, now or as of a version that was held.
func (m *model) page(scope driver.Scope, s step) {
	n := s.n
	q := driver.Query{At: pick([]time.Time{m.now, m.now, {}}, n[1]), Limit: n[2] % 4}
	if n[3]%3 == 0 {
		q.Tag = pick(modelTags, n[3]/3)
	}
	number, read := -1, func() []driver.Entry { return m.list(scope, q) }
	if held := m.heldOf(scope.Tenant); s.op == "page at" && len(held) > 0 {
		h := pick(held, n[5])
		number, read = h.number, func() []driver.Entry { return m.listAt(scope, h.store, q) }
	}
	if all := m.ref.list(scope, number, driver.Query{At: q.At}); len(all) > 0 && n[4]%2 == 0 {
		q.After = all[n[4]/2%len(all)].Cursor()
	}
	m.sameEntries(read(), m.ref.list(scope, number, q))
}

package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

var (
	adapterOps    = []string{"put", "put", "put", "delete", "list", "advance"}
	transactorOps = []string{"apply", "apply", "apply", "merge", "merge", "erase", "document", "document", "deliver", "lookup"}
	versionedOps  = []string{"hold", "hold", "purge", "listAt", "getAt"}
)

// storeModel plays steps on the store and on the reference.
type storeModel struct {
	w   *world
	ref *reference
	// held are versions that somebody keeps, as the store and as the reference name
	// them.
	held []heldVersion
	rev  int64 // the last revision that the store gave
}

type heldVersion struct {
	tenant string
	store  driver.Version
	ref    int
}

func newStoreModel(w *world) *storeModel { return &storeModel{w: w, ref: newReference()} }

var (
	modelTenants = []string{"a", "ab"}
	modelRefs    = []string{"m", "n"}
	modelTags    = []string{"x", "y"}
)

func pick[T any](list []T, n int) T { return list[n%len(list)] }

func (m *storeModel) scope(n int) driver.Scope {
	return at(pick(modelTenants, n), pick(modelRefs, n/2))
}

func modelID(n int) string { return fmt.Sprint("e", n%6) }

// unusable tells that an id was purged: the contract says nothing about its return.
func (m *storeModel) unusable(s driver.Scope, id string) bool {
	return m.ref.tenant(s.Tenant).purged[s.Ref+"\x00"+id]
}

// entry is the entry that an id had, or a new one, or now and then another one under
// the id.
func (m *storeModel) entry(s driver.Scope, id string, n int) driver.Entry {
	if held := m.ref.tenant(s.Tenant).find(s, id); held != nil && !held.Erased && n%5 > 0 {
		return held.Entry
	}
	e := m.w.entry(id)
	e.Content = fmt.Sprint("text ", n%1000)
	e.CreatedAt = m.w.now.Add(-time.Duration(n/7%4) * time.Millisecond)
	if n%3 == 0 {
		e.ExpiresAt = m.w.now.Add(time.Duration(1+n/11%6) * time.Millisecond)
	}
	if n%2 == 0 {
		e.Tags = []string{pick(modelTags, n/2), "z"}
	}
	if n%4 == 0 {
		e.Subjects = []string{fmt.Sprint("s", n/4%2)}
	}
	return e
}

func (m *storeModel) play(s step) {
	w, scope, id := m.w, m.scope(s.n[0]), modelID(s.n[1])
	switch s.op {
	case "put":
		if m.unusable(scope, id) {
			return
		}
		e := m.entry(scope, id, s.n[2])
		m.sameClass(w.tryPut(scope, e), m.ref.put(scope, e))
	case "delete":
		w.delete(scope, id, m.ref.delete(scope, id, w.now))
	case "list":
		q := driver.Query{At: w.now, Limit: s.n[2] % 4}
		if s.n[3]%3 == 0 {
			q.Tag = pick(modelTags, s.n[3]/3)
		}
		if all := m.ref.list(scope, -1, driver.Query{At: w.now}); len(all) > 0 && s.n[4]%2 == 0 {
			q.After = all[s.n[4]/2%len(all)].Cursor()
		}
		m.sameEntries(w.list(scope, q), m.ref.list(scope, -1, q))
	case "advance":
		w.now = w.now.Add(time.Duration(1+s.n[0]%2) * time.Millisecond)
		w.did("let time pass until %s", describeTime(w.now))
	case "apply":
		m.apply(scope.Tenant, m.mutation(scope.Tenant, s))
	case "merge":
		m.merge(scope, s)
	case "erase":
		m.apply(scope.Tenant, driver.Mutation{Erase: located(scope, id, modelID(s.n[2]))})
	case "document":
		m.apply(scope.Tenant, driver.Mutation{Documents: []driver.DocumentSwap{m.swap(scope, s)}})
	case "lookup":
		m.lookUp(scope, s)
	case "deliver":
		if len(m.ref.outbox) > 0 {
			e := pick(m.ref.outbox, s.n[0])
			w.delivered(e)
			m.ref.delivered(e)
		}
	case "hold":
		m.hold(scope.Tenant)
	case "purge":
		m.purge(s.n[0])
	case "listAt":
		m.listHeld(s)
	case "getAt":
		m.getHeld(s)
	}
	if !slices.Contains([]string{"list", "listAt", "getAt", "lookup"}, s.op) {
		m.audit()
	}
}

func (m *storeModel) sameClass(got, want error) {
	if want == nil {
		m.w.must(got)
	} else {
		m.w.mustBe(got, want)
	}
}

func (m *storeModel) apply(tenant string, mut driver.Mutation) {
	for _, p := range mut.Put {
		if m.unusable(p.Scope, p.Entry.ID) {
			return
		}
	}
	mut.At = m.w.now
	made, err := m.w.tryApply(tenant, mut)
	m.sameClass(err, m.ref.apply(tenant, &mut, made.Revs))
	for i, rev := range made.Revs {
		if act := mut.Documents[i].Act; act == driver.Set || act == driver.Retain {
			m.w.check(rev > m.rev, fmt.Sprintf("a revision above %d", m.rev), "%d", rev)
			m.rev = rev
		}
	}
	if m.w.versions != nil && err == nil {
		m.w.check((made.Version == "") == mut.MachineryOnly(), "a version of all but machinery", "version %q", made.Version)
	}
}

// mutation is a random one in which no entry plays two parts.
func (m *storeModel) mutation(tenant string, s step) driver.Mutation {
	var mut driver.Mutation
	used := map[driver.Located]bool{}
	for i, n := range s.n {
		scope := at(tenant, pick(modelRefs, n))
		id := modelID(n / 2)
		place := driver.Located{Scope: scope, ID: id}
		if used[place] {
			continue
		}
		used[place] = true
		switch n / 64 % 9 {
		case 0:
			mut.Live = append(mut.Live, place)
		case 1, 2:
			mut.Put = append(mut.Put, driver.Placed{Scope: scope, Entry: m.entry(scope, id, n/512)})
		case 3:
			mut.Retire = append(mut.Retire, driver.Retirement{Located: place, State: driver.Deleted})
		case 4:
			successor := driver.Located{Scope: scope, ID: modelID(n / 512)}
			if !used[successor] {
				used[successor] = true
				state := pick([]driver.State{driver.Merged, driver.Superseded}, n/4096)
				mut.Retire = append(mut.Retire, retire(scope, id, state, successor.ID))
			}
		case 5:
			mut.Restore = append(mut.Restore, place)
		case 6:
			mut.Erase = append(mut.Erase, place)
		case 7:
			e := m.w.event(fmt.Sprint("run-", n/512%2), fmt.Sprint("ev", n/1024%5))
			e.Tenant = tenant
			mut.Events = append(mut.Events, e)
		case 8:
			if x := m.swap(scope, s); !slices.ContainsFunc(mut.Documents, func(o driver.DocumentSwap) bool { return refName(&o.Document) == refName(&x.Document) }) {
				mut.Documents = append(mut.Documents, x)
			}
		}
		if i == s.n[0]%len(s.n) {
			break
		}
	}
	return mut
}

// merge retires two live entries in favour of a third, so that lineages come about.
func (m *storeModel) merge(scope driver.Scope, s step) {
	live := m.ref.list(scope, -1, driver.Query{At: m.w.now})
	if len(live) < 2 {
		return
	}
	i := s.n[1] % len(live)
	from, to := live[i], live[(i+1)%len(live)]
	m.apply(scope.Tenant, retired(retire(scope, from.ID, pick([]driver.State{driver.Merged, driver.Merged, driver.Superseded}, s.n[2]), to.ID)))
}

// swap is a random swap of one of a few documents, mostly with the revision that is
// there.
func (m *storeModel) swap(scope driver.Scope, s step) driver.DocumentSwap {
	d := pick([]driver.Document{note(scope, "n", ""), note(at(scope.Tenant, ""), "n", ""), timer(scope, "t", m.w.now), file(scope, "f"), digest(scope, "d"), digest(scope, "e")}, s.n[1])
	d.Value = []byte(fmt.Sprint("value ", s.n[2]%1000))
	switch d.Class {
	case driver.Machinery:
		d.Due = m.w.now.Add(time.Duration(s.n[2]%4) * time.Millisecond)
	case driver.Content:
		d.Of = []string{modelID(s.n[2])}
		if s.n[2]%3 == 0 {
			d.Of = append(d.Of, modelID(s.n[2]/3))
		}
	case driver.HostText:
		d.Subjects = []string{fmt.Sprint("s", s.n[2]%2)}
	}
	d.Group = pick([]string{"", "g", "h"}, s.n[2]/2)
	x := driver.DocumentSwap{Document: d, Act: pick([]driver.Act{driver.Set, driver.Set, driver.Retain, driver.Check, driver.Remove}, s.n[4])}
	if s.n[3]%6 > 0 {
		x.Rev = m.ref.tenant(scope.Tenant).documents[refName(&d)].Rev
	}
	if x.Rev == 0 && x.Act == driver.Retain {
		x.Act = driver.Set
	}
	return x
}

// lookUp looks up some ids, known or not, some of them twice.
func (m *storeModel) lookUp(scope driver.Scope, s step) {
	var ids []string
	var want []driver.Record
	for _, n := range s.n {
		ids = append(ids, modelID(n))
		if held := m.ref.tenant(scope.Tenant).find(scope, modelID(n)); held != nil {
			want = append(want, held.Record)
		}
	}
	m.sameRecords(m.w.lookUp(scope, ids...), want)
}

func (m *storeModel) sameRecords(got, want []driver.Record) {
	if !slices.EqualFunc(got, want, func(a, b driver.Record) bool { return equalRecords(&a, &b) }) {
		m.w.fail("the records\n"+describeRecords(want), "the records\n"+describeRecords(got))
	}
}

func (m *storeModel) hold(tenant string) {
	if len(m.held) < 4 {
		m.held = append(m.held, heldVersion{tenant, m.w.version(tenant), m.ref.tenant(tenant).version})
	}
}

func (m *storeModel) purge(n int) {
	if len(m.held) == 0 {
		return
	}
	h := pick(m.held, n)
	got, want := m.w.purge(h.tenant, h.store), m.ref.purge(h.tenant, h.ref, m.w.now)
	m.w.check(got == want, fmt.Sprintf("%d records removed", want), "%d", got)
	m.held = slices.DeleteFunc(m.held, func(o heldVersion) bool {
		gone := o.tenant == h.tenant && o.ref < h.ref
		if gone {
			_, err := m.w.tryListAt(at(o.tenant, modelRefs[0]), o.store, driver.Query{At: m.w.now})
			m.w.mustBe(err, driver.ErrSnapshotUnavailable)
		}
		return gone
	})
}

func (m *storeModel) listHeld(s step) {
	if len(m.held) == 0 {
		return
	}
	h := pick(m.held, s.n[0])
	scope := at(h.tenant, pick(modelRefs, s.n[1]))
	q := driver.Query{Limit: s.n[2] % 3, At: pick([]time.Time{m.w.now, {}}, s.n[3])}
	if all := m.ref.list(scope, h.ref, q); len(all) > 0 && s.n[4]%2 == 0 {
		q.After = all[s.n[5]%len(all)].Cursor()
	}
	m.sameEntries(m.w.listAt(scope, h.store, q), m.ref.list(scope, h.ref, q))
}

// getHeld gets some ids as of a version that somebody keeps.
func (m *storeModel) getHeld(s step) {
	if len(m.held) == 0 {
		return
	}
	h := pick(m.held, s.n[0])
	scope := at(h.tenant, pick(modelRefs, s.n[1]))
	all := m.ref.list(scope, h.ref, driver.Query{At: m.w.now})
	var ids []string
	var want []driver.Entry
	for _, n := range s.n {
		ids = append(ids, modelID(n))
		for _, e := range all {
			if e.ID == modelID(n) {
				want = append(want, e)
			}
		}
	}
	m.sameEntries(m.w.getAt(scope, h.store, ids...), want)
}

func (m *storeModel) sameEntries(got, want []driver.Entry) {
	m.w.sameIDs(got, ids(want))
	for i := range got {
		m.w.sameEntry(&got[i], &want[i])
	}
}

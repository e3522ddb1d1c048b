package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

var (
	adapterOps    = []string{"put", "put", "put", "delete", "list", "advance"}
	transactorOps = []string{"apply", "apply", "apply", "merge", "merge", "erase", "cell", "deliver"}
	versionedOps  = []string{"hold", "hold", "purge", "listAt"}
)

// storeModel plays steps on the store and on the reference.
type storeModel struct {
	w   *world
	ref *reference
	// held are versions that somebody keeps, as the store and as the reference name
	// them.
	held []heldVersion
}

type heldVersion struct {
	tenant string
	store  memory.Version
	ref    int
}

func newStoreModel(w *world) *storeModel { return &storeModel{w: w, ref: newReference()} }

var (
	modelTenants = []string{"a", "ab"}
	modelRefs    = []string{"m", "n"}
	modelTags    = []string{"x", "y"}
)

func pick[T any](list []T, n int) T { return list[n%len(list)] }

func (m *storeModel) scope(n int) memory.Scope {
	return at(pick(modelTenants, n), pick(modelRefs, n/2))
}

func modelID(n int) string { return fmt.Sprint("e", n%6) }

// unusable tells that an id was purged: the contract says nothing about its return.
func (m *storeModel) unusable(s memory.Scope, id string) bool {
	return m.ref.tenant(s.Tenant).purged[s.Ref+"\x00"+id]
}

// entry is the entry that an id had, or a new one, or now and then another one under
// the id.
func (m *storeModel) entry(s memory.Scope, id string, n int) memory.Entry {
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
		q := memory.Query{At: w.now, Limit: s.n[2] % 4}
		if s.n[3]%3 == 0 {
			q.Tag = pick(modelTags, s.n[3]/3)
		}
		if all := m.ref.list(scope, -1, memory.Query{At: w.now}); len(all) > 0 && s.n[4]%2 == 0 {
			q.After = memory.CursorOf(&all[s.n[4]/2%len(all)])
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
		m.apply(scope.Tenant, memory.Mutation{Erase: located(scope, id, modelID(s.n[2]))})
	case "cell":
		m.apply(scope.Tenant, memory.Mutation{Cells: []memory.CellSwap{m.swap(scope, s)}})
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
	}
	if s.op != "list" && s.op != "listAt" {
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

func (m *storeModel) apply(tenant string, mut memory.Mutation) {
	for _, p := range mut.Put {
		if m.unusable(p.Scope, p.Entry.ID) {
			return
		}
	}
	mut.At = m.w.now
	_, err := m.w.tryApply(tenant, mut)
	m.sameClass(err, m.ref.apply(tenant, &mut))
}

// mutation is a random one in which no entry plays two parts.
func (m *storeModel) mutation(tenant string, s step) memory.Mutation {
	var mut memory.Mutation
	used := map[memory.Located]bool{}
	for i, n := range s.n {
		scope := at(tenant, pick(modelRefs, n))
		id := modelID(n / 2)
		place := memory.Located{Scope: scope, ID: id}
		if used[place] {
			continue
		}
		used[place] = true
		switch n / 64 % 8 {
		case 0:
			mut.Live = append(mut.Live, place)
		case 1, 2:
			mut.Put = append(mut.Put, memory.Placed{Scope: scope, Entry: m.entry(scope, id, n/512)})
		case 3:
			mut.Retire = append(mut.Retire, memory.Retirement{Located: place, State: memory.Deleted})
		case 4:
			successor := memory.Located{Scope: scope, ID: modelID(n / 512)}
			if !used[successor] {
				used[successor] = true
				state := pick([]memory.State{memory.Merged, memory.Superseded}, n/4096)
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
		}
		if i == s.n[0]%len(s.n) {
			break
		}
	}
	return mut
}

// merge retires two live entries in favour of a third, so that lineages come about.
func (m *storeModel) merge(scope memory.Scope, s step) {
	live := m.ref.list(scope, -1, memory.Query{At: m.w.now})
	if len(live) < 2 {
		return
	}
	i := s.n[1] % len(live)
	from, to := live[i], live[(i+1)%len(live)]
	m.apply(scope.Tenant, retired(retire(scope, from.ID, pick([]memory.State{memory.Merged, memory.Merged, memory.Superseded}, s.n[2]), to.ID)))
}

func (m *storeModel) swap(scope memory.Scope, s step) memory.CellSwap {
	name := fmt.Sprint("c", s.n[1]%2)
	c := memory.CellSwap{Scope: scope, Name: name, New: []byte(fmt.Sprint(s.n[2] % 3))}
	if s.n[3]%4 > 0 { // mostly what it holds
		c.Old = m.ref.tenant(scope.Tenant).cells[scope.Ref+"\x00"+name]
	}
	if s.n[4]%4 == 0 {
		c.New = nil
	}
	return c
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
			_, err := m.w.tryListAt(at(o.tenant, modelRefs[0]), o.store, memory.Query{At: m.w.now})
			m.w.mustBe(err, memory.ErrSnapshotUnavailable)
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
	q := memory.Query{Limit: s.n[2] % 3, At: pick([]time.Time{m.w.now, {}}, s.n[3])}
	if all := m.ref.list(scope, h.ref, q); len(all) > 0 && s.n[4]%2 == 0 {
		q.After = memory.CursorOf(&all[s.n[5]%len(all)])
	}
	m.sameEntries(m.w.listAt(scope, h.store, q), m.ref.list(scope, h.ref, q))
}

func (m *storeModel) sameEntries(got, want []memory.Entry) {
	m.w.sameIDs(got, ids(want))
	for i := range got {
		m.w.sameEntry(&got[i], &want[i])
	}
}

// audit compares everything. Its reads are noted only if one of them differs.
func (m *storeModel) audit() {
	w := m.w
	for _, tenant := range modelTenants {
		for _, ref := range modelRefs {
			s := at(tenant, ref)
			m.unnoted(func() { m.sameEntries(w.list(s, memory.Query{At: w.now}), m.ref.list(s, -1, memory.Query{At: w.now})) })
			if w.tx == nil {
				continue
			}
			for _, name := range []string{"c0", "c1"} {
				m.unnoted(func() { w.holds(s, name, m.ref.tenant(tenant).cells[ref+"\x00"+name]) })
			}
		}
		if w.tx == nil {
			continue
		}
		m.unnoted(func() { m.sameHistory(tenant) })
		for _, run := range []string{"run-0", "run-1"} {
			var want []string
			for _, e := range m.ref.outbox {
				if e.Tenant == tenant && e.RunID == run {
					want = append(want, e.ID)
				}
			}
			m.unnoted(func() { w.waiting(tenant, run, want...) })
		}
	}
	for _, h := range m.held {
		for _, ref := range modelRefs {
			s, q := at(h.tenant, ref), memory.Query{At: w.now}
			m.unnoted(func() { m.sameEntries(w.listAt(s, h.store, q), m.ref.list(s, h.ref, q)) })
		}
		m.unnoted(func() { w.intact(h.tenant, h.store, m.ref.intact(h.tenant, h.ref)) })
	}
}

// unnoted makes reads whose steps are dropped if they find no difference.
func (m *storeModel) unnoted(reads func()) {
	n := m.w.stepCount()
	reads()
	m.w.unnote(n)
}

func (m *storeModel) sameHistory(tenant string) {
	var want []memory.Record
	for _, r := range m.ref.tenant(tenant).records {
		want = append(want, r.Record)
	}
	got := m.w.history(tenant, memory.HistoryQuery{})
	for _, recs := range [][]memory.Record{got, want} {
		slices.SortFunc(recs, func(a, b memory.Record) int {
			return strings.Compare(a.Ref+"\x00"+a.Entry.ID, b.Ref+"\x00"+b.Entry.ID)
		})
	}
	if !slices.EqualFunc(got, want, func(a, b memory.Record) bool { return equalRecords(&a, &b) }) {
		m.w.fail("the records\n"+describeRecords(want), "the records\n"+describeRecords(got))
	}
	for _, r := range want {
		rec, err := m.w.tx.Lookup(m.w.ctx, r.Scope, r.Entry.ID)
		if err != nil || !equalRecords(&rec, &r) {
			m.w.did("look up %s in %s", short(r.Entry.ID), describeScope(r.Scope))
			m.w.must(err)
			m.w.sameRecord(rec, r)
		}
	}
}

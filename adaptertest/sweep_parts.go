package adaptertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// partsOfOne are what a mutation can say of the entry "a". The entry "b" is there too.
var partsOfOne = []struct {
	name string
	add  func(p *plan, m *driver.Mutation)
}{
	{"a lives", func(p *plan, m *driver.Mutation) { m.Live = append(m.Live, located(p.Scope, p.id("a"))...) }},
	{"put a", func(p *plan, m *driver.Mutation) { p.places(m, p.member("a")) }},
	{"put another a", func(p *plan, m *driver.Mutation) { p.places(m, p.another("a")) }},
	{"put what is left of an erased a", func(p *plan, m *driver.Mutation) {
		if rec := p.ref.tenant(p.Tenant).find(p.Ref, p.id("a")); rec != nil && rec.Erased {
			p.places(m, driver.Entry{ID: p.id("a")})
		}
	}},
	{"put b", func(p *plan, m *driver.Mutation) { p.places(m, p.member("b")) }},
	{"put an expired d", func(p *plan, m *driver.Mutation) {
		d := p.member("d")
		d.ExpiresAt = epoch
		p.places(m, d)
	}},
	{"merge a with d", func(p *plan, m *driver.Mutation) { p.retires(m, "a", driver.Merged, "d") }},
	{"delete b", func(p *plan, m *driver.Mutation) { p.retires(m, "b", driver.Deleted, "") }},
	{"set n", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, note(p.Scope, "n", "x"), 0) }},
	{"delete a", func(p *plan, m *driver.Mutation) { p.retires(m, "a", driver.Deleted, "") }},
	{"merge a with b", func(p *plan, m *driver.Mutation) { p.retires(m, "a", driver.Merged, "b") }},
	{"supersede b by a", func(p *plan, m *driver.Mutation) { p.retires(m, "b", driver.Superseded, "a") }},
	{"merge c with a", func(p *plan, m *driver.Mutation) { p.retires(m, "c", driver.Merged, "a") }},
	{"restore a", func(p *plan, m *driver.Mutation) { p.restores(m, "a") }},
	{"restore b", func(p *plan, m *driver.Mutation) { p.restores(m, "b") }},
	{"erase a", func(p *plan, m *driver.Mutation) { p.erases(m, "a") }},
	{"erase b", func(p *plan, m *driver.Mutation) { p.erases(m, "b") }},
	{"set d of a", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, p.digest("d", "a"), 0) }},
	{"retain e of a", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Retain, p.digest("e", "c", "a"), 0) }},
	{"c is heir of a", func(p *plan, m *driver.Mutation) { p.heir(m, "c", "a") }},
	{"b is heir of nothing", func(p *plan, m *driver.Mutation) { p.heir(m, "b") }},
	{"queue an event", func(p *plan, m *driver.Mutation) { p.queues(m, "run-1", "one") }},
	{"queue another event of its id", func(p *plan, m *driver.Mutation) {
		p.queues(m, "run-1", "one")
		m.Events[len(m.Events)-1].Payload = events.MemoryWritten{MemoryRef: p.Ref, MemoryID: "another"}
	}},
	{"a of another ref lives", func(p *plan, m *driver.Mutation) { m.Live = append(m.Live, located(p.beside(), p.id("a"))...) }},
	{"restore b of another ref", func(p *plan, m *driver.Mutation) { m.Restore = append(m.Restore, located(p.beside(), p.id("b"))...) }},
	{"put a in another ref", func(p *plan, m *driver.Mutation) {
		if !p.ref.tenant(p.Tenant).purged[place{p.beside().Ref, p.id("a")}] {
			m.Put = append(m.Put, driver.Placed{Scope: p.beside(), Entry: p.member("a")})
		}
	}},
	{"an event that is invalid", func(p *plan, m *driver.Mutation) {
		p.queues(m, "run-1", "invalid")
		m.Events[len(m.Events)-1].Payload = events.MemoryWritten{MemoryRef: "ref"}
	}},
}

// beside is another ref of the tenant.
func (p *plan) beside() driver.Scope { return at(p.Tenant, p.Ref+" beside") }

// statesOfOne bring the entry "a", or "b", into each of its states.
var statesOfOne = []struct {
	name  string
	bring func(p *plan, m *driver.Mutation, id string)
}{
	{"live", func(*plan, *driver.Mutation, string) {}},
	{"deleted", func(p *plan, m *driver.Mutation, id string) { p.retires(m, id, driver.Deleted, "") }},
	{"merged", func(p *plan, m *driver.Mutation, id string) { p.retires(m, id, driver.Merged, "c") }},
	{"superseded", func(p *plan, m *driver.Mutation, id string) { p.retires(m, id, driver.Superseded, "c") }},
	{"erased", func(p *plan, m *driver.Mutation, id string) { p.erases(m, id) }},
	{"merged and erased", func(p *plan, m *driver.Mutation, id string) {
		p.retires(m, id, driver.Merged, "c")
		p.erases(m, id)
	}},
	{"restored", func(p *plan, m *driver.Mutation, id string) {
		p.retires(m, id, driver.Merged, "c")
		p.tryApply(p.Tenant, *m)
		*m = driver.Mutation{}
		p.restores(m, id)
	}},
	{"expired or purged", func(p *plan, m *driver.Mutation, id string) {
		p.advance(2 * time.Millisecond)
		if p.level == LevelVersioned && id == "a" {
			p.deletes(id)
			p.purge(p.Tenant, p.version(p.Tenant))
		}
	}},
}

func (p *plan) bring(id string, state func(p *plan, m *driver.Mutation, id string)) {
	var m driver.Mutation
	state(p, &m, id)
	p.tryApply(p.Tenant, m)
}

// limit sets limits near what the tenant has, or none.
func (w *world) limit(tenant string, m *driver.Mutation, n int) {
	any := driver.Mutation{Limits: driver.Limits{Entries: 1}}
	used := w.ref.used(tenant, &any)
	near := func(of, n int) int64 { return max(0, int64(of+n%4-1)) }
	switch n % 6 {
	case 0:
		m.Limits.Entries = near(int(used.Entries), n/6)
	case 1:
		m.Limits.Bytes = near(int(used.Bytes), n/6*7)
	case 2:
		m.Limits.Waiting = near(int(used.Waiting), n/6)
	}
}

// sweepParts applies all mutations of one and of two parts, in either order of two of the
// same kind, to the entries in each of their states. With -short chance chooses one order of two.
func sweepParts(w *world) {
	n, states := len(partsOfOne), len(statesOfOne)
	tries := w.size(1, states, states*states) // of each pair of parts
	for i := range n * n * tries {
		first, second := i/tries/n, i/tries%n
		if w.config.Short && first > second {
			continue
		}
		if w.config.Short && w.rng.IntN(2) == 0 {
			first, second = second, first
		}
		one, other := partsOfOne[first], partsOfOne[second]
		a := i % states // each state of each entry as often
		b := (a*5 + i/states) % states
		ofA, ofB := statesOfOne[a], statesOfOne[b]
		w.plan(i, false, func(p *plan) {
			w.set(p.digest("e", "c"))
			p.bring("a", ofA.bring)
			p.bring("b", ofB.bring)
			var m driver.Mutation
			one.add(p, &m)
			other.add(p, &m)
			if w.rng.IntN(2) == 0 {
				p.swaps(&m, driver.Set, note(at(p.Tenant, "beside"), "n", "x"), 0)
			}
			p.limit(p.Tenant, &m, w.rng.IntN(24))
			p.tryApply(p.Tenant, m)
		})
	}
	w.unmirrored()
}

// usesWhatTheReferenceSays expects the tenant of a scope to use exactly what the reference says: there is room
// for one entry more where the limits leave it, and for nothing beyond. It also expects each
// entry to be the heir of exactly those that were retired in its favour.
func (w *world) usesWhatTheReferenceSays(s driver.Scope) {
	used := w.ref.used(s.Tenant, &driver.Mutation{Limits: driver.Limits{Entries: 1}})
	probe := fmt.Sprintf("probe%04d", w.probes)
	w.probes++
	size := int64(len(w.entry(probe).Content))
	for _, try := range []struct {
		limits driver.Limits
		fits   bool
		ids    []string
	}{
		{driver.Limits{Entries: used.Entries + 1}, false, []string{probe, probe + "x"}},
		{driver.Limits{Bytes: used.Bytes + size - 1}, false, []string{probe}},
		{driver.Limits{Entries: used.Entries + 1, Bytes: used.Bytes + size}, true, []string{probe}},
	} {
		_, err := w.tryApply(s.Tenant, driver.Mutation{Put: w.placed(s, try.ids...), Limits: try.limits})
		w.check(errors.Is(err, driver.ErrStorageLimit) != try.fits, "what the tenant uses", "%s", describeError(err))
	}
	m := driver.Mutation{Erase: located(s, probe), MergedInto: map[driver.Located][]string{}}
	for _, rec := range w.ref.tenant(s.Tenant).refs[s.Ref] {
		m.MergedInto[driver.Located{Scope: s, ID: rec.id}] = nil
	}
	for _, rec := range w.ref.tenant(s.Tenant).refs[s.Ref] {
		if rec.For != "" {
			heir := driver.Located{Scope: s, ID: rec.For}
			m.MergedInto[heir] = append(m.MergedInto[heir], rec.id)
		}
	}
	w.apply(m)
}

package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// topic is what moves are about. A generated case takes those of some topics.
type topic int

const (
	basic     topic = iota // entries, by the four operations
	entries                // entries, by mutations
	documents              // documents and what is due
	outgoing               // events
	versions               // purges
	tenants                // the drop of a tenant
	handles                // reopenings, and several handles of the same data
)

// everyTopic is what most cases take.
var everyTopic = []topic{basic, entries, documents, outgoing, versions, tenants, handles}

// move is a step that may come next in a plan, whose dice choose what it is about. It does something,
// or adds a part to a mutation. A move is offered as often as its weight says.
type move struct {
	topic  topic
	weight int
	do     func(p *plan)
	add    func(p *plan, m *driver.Mutation)
}

var moves = []move{
	{topic: basic, weight: 6, do: func(p *plan) { p.putEach(p.members(p.pick("absent"))) }},
	{topic: basic, weight: 2, do: func(p *plan) { p.putEach(p.members(p.pick("deleted", "merged", "live"))) }},
	{topic: basic, weight: 2, do: func(p *plan) { p.putEach(p.others(p.pick("live", "deleted", "expired"))) }},
	{topic: basic, weight: 1, do: func(p *plan) { p.putEach(p.remainder(p.pick("erased"))) }},
	{topic: basic, weight: 3, do: func(p *plan) {
		for _, id := range p.ids(p.pickLive()) {
			p.delete(p.Scope, id, false)
		}
	}},
	{topic: basic, weight: 2, do: func(p *plan) { p.now = p.began.Add(time.Duration(p.dice.IntN(2*lastDue)) * time.Millisecond / 2) }},
	{topic: basic, weight: 1, do: func(p *plan) { p.generation++ }},

	{topic: entries, weight: 3, add: func(p *plan, m *driver.Mutation) { m.Live = append(m.Live, p.located(p.pickLive())...) }},
	{topic: entries, weight: 3, add: func(p *plan, m *driver.Mutation) { p.places(m, p.members(p.pick("absent"))) }},
	{topic: entries, weight: 1, add: func(p *plan, m *driver.Mutation) { p.places(m, p.others(p.pick("live", "merged", "absent"))) }},
	{topic: entries, weight: 1, add: func(p *plan, m *driver.Mutation) { p.places(m, p.remainder(p.pick("erased"))) }},
	{topic: entries, weight: 1, add: func(p *plan, m *driver.Mutation) { // which has expired already
		all := p.members(p.pick("absent"))
		for i := range all {
			all[i].ExpiresAt = p.began
		}
		p.places(m, all)
	}},
	{topic: entries, weight: 4, add: func(p *plan, m *driver.Mutation) { p.retires(m, driver.Merged) }},
	{topic: entries, weight: 3, add: func(p *plan, m *driver.Mutation) { p.retires(m, driver.Superseded) }},
	{topic: entries, weight: 1, add: func(p *plan, m *driver.Mutation) {
		for _, id := range p.ids(p.pickLive()) {
			m.Retire = append(m.Retire, retire(p.Scope, id, driver.Deleted, ""))
		}
	}},
	{topic: entries, weight: 4, add: func(p *plan, m *driver.Mutation) {
		m.Restore = append(m.Restore, p.located(p.pick("merged", "superseded", "erased"))...)
	}},
	{topic: entries, weight: 3, add: func(p *plan, m *driver.Mutation) {
		m.Erase = append(m.Erase, append(p.located(p.pick("live", "restored", "merged", "deleted", "superseded")), located(p.Scope, "never")...)...)
	}},
	{topic: entries, weight: 2, add: (*plan).expectHeirs},

	{topic: documents, weight: 8, add: func(p *plan, m *driver.Mutation) { p.addSwaps(m, driver.Set) }},
	{topic: documents, weight: 3, add: func(p *plan, m *driver.Mutation) { p.addSwaps(m, driver.Retain) }},
	{topic: documents, weight: 1, add: func(p *plan, m *driver.Mutation) { p.addSwaps(m, driver.Check) }},
	{topic: documents, weight: 2, add: func(p *plan, m *driver.Mutation) { p.addSwaps(m, driver.Remove) }},

	{topic: outgoing, weight: 4, add: func(p *plan, m *driver.Mutation) { m.Events = append(m.Events, p.pickEvents()...) }},
	{topic: outgoing, weight: 2, do: func(p *plan) {
		recs := append(p.pickEvents(), p.pickEvents()...)
		if p.oneIn(2) {
			recs[0].Tenant = "another"
		}
		p.delivered(recs...)
	}},
	{topic: outgoing, weight: 1, do: func(p *plan) {
		if p.kept != nil {
			p.purgeEvents(p.began.Add(time.Duration(p.dice.IntN(15)-10) * time.Millisecond))
		}
	}},

	{topic: versions, weight: 2, do: func(p *plan) {
		held := p.heldOf(p.Tenant)
		if len(held) == 0 || p.oneIn(3) {
			p.purge(p.Tenant, p.version(p.Tenant))
		} else {
			p.purge(p.Tenant, held[p.dice.IntN(len(held))].store)
		}
	}},
	{topic: tenants, weight: 2, do: func(p *plan) { // whose entries are looked up before and afterwards
		if p.ref.tenant(p.Tenant).version == 0 {
			return // nothing was there
		}
		p.auditLookup(p.Scope, p.ids("a", "b")...)
		p.drop(p.Tenant, 5+p.many, 1000)
		p.auditLookup(p.Scope, p.ids("a", "b")...)
	}},
	{topic: handles, weight: 1, do: func(p *plan) {
		if len(p.found.missing([]Offer{Durable})) == 0 && len(p.handles) == 0 {
			p.reopen()
		}
	}},
	{topic: handles, weight: 1, do: func(p *plan) {
		if len(p.found.missing([]Offer{Shared})) == 0 {
			p.turnHandle()
		}
	}},
}

// movesOf are the moves of some topics that the store offers, each as often as it weighs.
func (w *world) movesOf(topics []topic) (all []move) {
	tx := w.level != LevelAdapter
	offered := map[topic]bool{basic: true, entries: tx, documents: tx, outgoing: tx, versions: w.level == LevelVersioned, tenants: tx && w.tenants != nil, handles: true}
	for _, x := range moves {
		if offered[x.topic] && slices.Contains(topics, x.topic) {
			all = append(all, slices.Repeat([]move{x}, x.weight)...)
		}
	}
	return all
}

// step makes the next move that the dice choose.
func (p *plan) step(all []move) {
	x := all[p.dice.IntN(len(all))]
	if x.do != nil {
		x.do(p)
		return
	}
	var m driver.Mutation
	p.part(x, &m)
	for p.oneIn(2) {
		if x := all[p.dice.IntN(len(all))]; x.add != nil {
			p.part(x, &m)
		}
	}
	if p.oneIn(8) {
		p.breakLast(&m)
	}
	if p.oneIn(8) {
		p.addTaken(&m)
	}
	p.limit(&m)
	m.Keep = p.kept != nil && len(m.Events) > 0 && p.oneIn(2)
	_, err := p.tryApply(p.Tenant, m)
	p.refused = err != nil
}

// part adds a part to a mutation, now and then about another ref of the tenant.
func (p *plan) part(x move, m *driver.Mutation) {
	own := p.Scope
	if p.oneIn(8) {
		p.Scope = at(p.Tenant, "beside")
	}
	x.add(p, m)
	p.Scope = own
}

// fill puts the entries of a name.
func (p *plan) fill(name string) {
	p.now = p.began
	if p.many == 1 || p.level == LevelAdapter {
		p.putEach(p.members(name))
		return
	}
	var m driver.Mutation
	p.places(&m, p.members(name))
	p.quietly(fmt.Sprintf("put %d entries %s… in %s by one mutation", p.many, name, describeScope(p.Scope)), func() { p.tryApply(p.Tenant, m) })
}

func (p *plan) putEach(all []driver.Entry) {
	for _, e := range p.puttable(all) {
		p.tryPut(p.Scope, e)
	}
}

func (p *plan) places(m *driver.Mutation, all []driver.Entry) {
	for _, e := range p.puttable(all) {
		m.Put = append(m.Put, driver.Placed{Scope: p.Scope, Entry: e})
	}
}

func (p *plan) retires(m *driver.Mutation, state driver.State) {
	name, heir := p.pickLive(), p.pickLive()
	if name == heir {
		heir = members[(slices.Index(members, name)+1)%len(members)]
	}
	heirs := p.ids(heir)
	for i, id := range p.ids(name) {
		m.Retire = append(m.Retire, retire(p.Scope, id, state, heirs[heirOf(i)]))
	}
}

// expectHeirs expects of one entry or two what was merged into them, or, now and then, one more.
func (p *plan) expectHeirs(m *driver.Mutation) {
	m.MergedInto = map[driver.Located][]string{}
	for range 1 + p.dice.IntN(2) {
		heir := driver.Located{Scope: p.Scope, ID: p.ids(p.pick("live", "restored", "merged"))[0]}
		merged := p.ref.tenant(p.Tenant).retiredFor(heir)
		if p.oneIn(4) {
			merged = append(merged[:max(0, len(merged)-1)], "never")
		}
		m.MergedInto[heir] = merged
	}
}

// addSwaps does something with a document, most often one that the mutation does not name yet.
func (p *plan) addSwaps(m *driver.Mutation, act driver.Act) {
	off := int64(0)
	if p.oneIn(4) {
		off = int64(p.dice.IntN(3) - 1)
	}
	d := p.document()
	if (act == driver.Check || act == driver.Remove) && p.oneIn(4) {
		d.Class = (d.Class + 1) % 3
	}
	added := p.swaps(act, d, off)
	twice := slices.ContainsFunc(m.Documents, func(x driver.DocumentSwap) bool { return nameOf(&x.Document) == nameOf(&added[0].Document) })
	if !twice || p.oneIn(16) {
		m.Documents = append(m.Documents, added...)
	}
}

// breakLast makes the last part of a kind fail, if the mutation has one.
func (p *plan) breakLast(m *driver.Mutation) {
	switch p.dice.IntN(6) {
	case 0:
		lastOf(m.Live).ID = "never"
	case 1:
		lastOf(m.Put).Entry.Content += "another"
	case 2:
		lastOf(m.Retire).ID = "never"
	case 3:
		lastOf(m.Retire).For = "never"
	case 4:
		lastOf(m.Restore).ID = "never"
	case 5:
		lastOf(m.Documents).Rev = 1 << 40
	}
}

// addTaken adds an event under the id of one that it puts there before, at which a store may look last.
func (p *plan) addTaken(m *driver.Mutation) {
	e := p.pickEvents()[0]
	p.tryApply(p.Tenant, driver.Mutation{Events: []events.Record{e}})
	e.Payload = events.MemoryWritten{MemoryRef: home.Ref, MemoryID: "another"}
	m.Events = append(m.Events, e)
}

// lastOf is the last of a list, or one of no list.
func lastOf[T any](list []T) *T {
	if len(list) == 0 {
		return new(T)
	}
	return &list[len(list)-1]
}

// limit sets limits near what the tenant has, or none. A mutation behind one that was refused most often has
// them: what was refused does not count.
func (p *plan) limit(m *driver.Mutation) {
	used := p.ref.used(p.Tenant, &driver.Mutation{Limits: driver.Limits{Entries: 1}})
	near := func(used int64) int64 { return max(0, used+int64(p.dice.IntN(4))-1) }
	kinds := map[bool]int{false: 6, true: 3}[p.refused]
	switch p.dice.IntN(kinds) {
	case 0:
		m.Limits.Entries = near(used.Entries)
	case 1:
		m.Limits.Bytes = near(used.Bytes + int64(p.dice.IntN(30)))
	case 2:
		m.Limits.Waiting = near(used.Waiting)
	}
}

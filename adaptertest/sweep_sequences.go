package adaptertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The sweeps of sequences take every sequence of a few steps about a few entries or
// documents, each in a tenant of its own, and audit the tenant behind it. A case of two
// steps that a store gets wrong is found, whatever the two are.

// plan is one sequence under way.
type plan struct {
	*world
	driver.Scope
	generation int // of the entries "a" to "d", which have other ids in each
	variant    int // of the next entry that is another one, or is the same in another form
}

// id is the id of one of the entries, in the generation that the plan is at.
func (p *plan) id(name string) string {
	if p.generation == 0 || name == "" {
		return name
	}
	return fmt.Sprint(name, p.generation)
}

func (p *plan) ids(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, p.id(name))
	}
	return all
}

// digest is content made of some of the entries.
func (p *plan) digest(key string, of ...string) driver.Document {
	return digest(p.Scope, key, p.ids(of...)...)
}

// heir is the condition that an entry is the heir of some others.
func (p *plan) heir(m *driver.Mutation, name string, of ...string) {
	m.MergedInto = map[driver.Located][]string{{Scope: p.Scope, ID: p.id(name)}: p.ids(of...)}
}

func (p *plan) deletes(name string) { p.delete(p.Scope, p.id(name), false) }

// move is one of the steps of which sequences are made.
type move struct {
	name string
	make func(p *plan)
}

// mutation is a move that applies a mutation, whether its conditions hold or not.
func mutation(name string, make func(p *plan, m *driver.Mutation)) move {
	return move{name, func(p *plan) {
		var m driver.Mutation
		make(p, &m)
		p.tryApply(p.Tenant, m)
	}}
}

func (p *plan) retires(m *driver.Mutation, id string, state driver.State, successor string) {
	m.Retire = append(m.Retire, retire(p.Scope, p.id(id), state, p.id(successor)))
}

func (p *plan) restores(m *driver.Mutation, ids ...string) {
	m.Restore = append(m.Restore, located(p.Scope, p.ids(ids...)...)...)
}

func (p *plan) erases(m *driver.Mutation, ids ...string) {
	m.Erase = append(m.Erase, located(p.Scope, p.ids(ids...)...)...)
}

// member is an entry of the sequences. Only "b" expires. What "c" carries is repeated and in no
// order, and "d" carries nothing, which is said by nil lists and by empty ones in turn.
func (p *plan) member(id string) driver.Entry {
	e := p.entry(p.id(id))
	e.Content = "contént of " + id // of more bytes than letters
	e.CreatedAt = epoch.Add(time.Duration(p.generation) * time.Millisecond)
	e.Tags, e.Subjects, e.Sources = []string{"tag", id}, []string{"everyone", "of " + id}, []string{"source", "another"}
	switch id {
	case "b":
		e.ExpiresAt = epoch.Add(time.Duration(2+5*p.generation) * time.Millisecond)
	case "c":
		e.Tags, e.Subjects, e.Sources = append(e.Tags, "tag", "a, tag"), append(e.Subjects, "everyone", "a:b"), append(e.Sources, "source", "a,b")
	case "d":
		e.Tags, e.Subjects, e.Sources = [][]string{nil, {}}[p.variant%2], nil, [][]string{{}, nil}[p.variant%2]
		p.variant++
	}
	return e
}

// entryChanges make another entry of one that has tags, subjects and sources. Each changes as
// little as a store may fail to see.
var entryChanges = []func(e *driver.Entry){
	func(e *driver.Entry) { e.Content += " " },
	func(e *driver.Entry) { e.Content = strings.ToUpper(e.Content) },
	func(e *driver.Entry) { e.Tags = slices.Sorted(slices.Values(e.Tags)) },
	func(e *driver.Entry) { e.Tags = append(slices.Clone(e.Tags), e.Tags[0]) },
	func(e *driver.Entry) { e.Tags = []string{strings.Join(e.Tags, ",")} },
	func(e *driver.Entry) { e.Tags = []string{strings.Join(e.Tags, " ")} },
	func(e *driver.Entry) { e.CreatedAt = e.CreatedAt.Add(time.Millisecond) },
	func(e *driver.Entry) {
		if e.ExpiresAt.IsZero() {
			e.ExpiresAt = epoch.Add(time.Hour)
		} else {
			e.ExpiresAt = e.ExpiresAt.Add(time.Millisecond)
		}
	},
	func(e *driver.Entry) {
		if e.ExpiresAt.IsZero() {
			e.ExpiresAt = epoch
		} else {
			e.ExpiresAt = time.Time{}
		}
	},
	func(e *driver.Entry) { e.RunID += "x" },
	func(e *driver.Entry) { e.RunID = strings.ToUpper(e.RunID) },
	func(e *driver.Entry) { e.Subjects = e.Subjects[:1] },
	func(e *driver.Entry) { e.Subjects = slices.Sorted(slices.Values(append(e.Subjects, "a"))) },
	func(e *driver.Entry) { e.Sources = nil },
	func(e *driver.Entry) { e.Sources = slices.Sorted(slices.Values(e.Sources)) },
	func(e *driver.Entry) { e.Sources = e.Sources[1:] },
}

// another is an entry under the same id that is another one.
func (p *plan) another(id string) driver.Entry {
	e := p.member(id)
	entryChanges[p.variant%len(entryChanges)](&e)
	p.variant++
	return e
}

// puts puts an entry, unless its id was purged: what becomes of those is the store's to say.
func (p *plan) puts(e driver.Entry) {
	if !p.ref.tenant(p.Tenant).purged[place{p.Ref, e.ID}] {
		p.tryPut(p.Scope, e)
	}
}

func (p *plan) places(m *driver.Mutation, e driver.Entry) {
	if !p.ref.tenant(p.Tenant).purged[place{p.Ref, e.ID}] {
		m.Put = append(m.Put, driver.Placed{Scope: p.Scope, Entry: e})
	}
}

// swaps adds a swap of a document with the revision that is there and some more.
func (p *plan) swaps(m *driver.Mutation, act driver.Act, d driver.Document, more int64) {
	d.Rev = max(0, p.ref.tenant(p.Tenant).documents[nameOf(&d)].Rev+more)
	if act == driver.Retain && d.Rev == 0 {
		act = driver.Check
	}
	m.Documents = append(m.Documents, driver.DocumentSwap{Document: d, Act: act})
}

// queues adds an event of the tenant.
func (p *plan) queues(m *driver.Mutation, run, id string) {
	e := p.event(run, id)
	e.Tenant, e.Time = p.Tenant, e.Time.Add(-time.Duration(len(p.ref.outbox))*time.Second) // the order is that of commits
	m.Events = append(m.Events, e)
}

func (p *plan) deliver(run, id string) {
	e := p.event(run, id)
	e.Tenant = p.Tenant
	p.delivered(e)
}

// plainMoves are those of the four operations, about the entries "a", "b" and "c".
var plainMoves = []move{
	{"put a again", func(p *plan) { p.puts(p.member("a")) }},
	{"put another a", func(p *plan) { p.puts(p.another("a")) }},
	{"put what is left of an erased a", func(p *plan) {
		if rec := p.ref.tenant(p.Tenant).find(p.Ref, p.id("a")); rec != nil && rec.Erased {
			p.tryPut(p.Scope, driver.Entry{ID: p.id("a")})
		}
	}},
	{"put another b", func(p *plan) { p.puts(p.another("b")) }},
	{"put d", func(p *plan) { p.puts(p.member("d")) }},
	{"delete a", func(p *plan) { p.deletes("a") }},
	{"delete b", func(p *plan) { p.deletes("b") }},
	{"delete c", func(p *plan) { p.deletes("c") }},
	{"let b expire", func(p *plan) { p.advance(2 * time.Millisecond) }},
}

// entryMoves are what else may happen to those entries.
var entryMoves = []move{
	mutation("merge a with b", func(p *plan, m *driver.Mutation) { p.retires(m, "a", driver.Merged, "b") }),
	mutation("supersede b by c", func(p *plan, m *driver.Mutation) { p.retires(m, "b", driver.Superseded, "c") }),
	mutation("merge c with a", func(p *plan, m *driver.Mutation) { p.retires(m, "c", driver.Merged, "a") }),
	mutation("merge a and b with a new d", func(p *plan, m *driver.Mutation) {
		p.places(m, p.member("d"))
		p.retires(m, "a", driver.Merged, "d")
		p.retires(m, "b", driver.Superseded, "d")
	}),
	mutation("put d and delete it", func(p *plan, m *driver.Mutation) {
		p.places(m, p.member("d"))
		p.retires(m, "d", driver.Deleted, "")
	}),
	mutation("supersede a by c", func(p *plan, m *driver.Mutation) { p.retires(m, "a", driver.Superseded, "c") }),
	mutation("merge a with c, and restore it", func(p *plan, m *driver.Mutation) {
		p.retires(m, "a", driver.Merged, "c")
		p.tryApply(p.Tenant, *m)
		*m = driver.Mutation{Restore: located(p.Scope, p.id("a"))}
	}),
	mutation("supersede b by c, and delete it", func(p *plan, m *driver.Mutation) {
		p.retires(m, "b", driver.Superseded, "c")
		p.tryApply(p.Tenant, *m)
		*m = driver.Mutation{}
		p.deletes("b")
	}),
	mutation("merge a with c, restore it and delete it", func(p *plan, m *driver.Mutation) {
		p.retires(m, "a", driver.Merged, "c")
		p.tryApply(p.Tenant, *m)
		p.tryApply(p.Tenant, driver.Mutation{Restore: located(p.Scope, p.id("a"))})
		*m = driver.Mutation{}
		p.deletes("a")
	}),
	mutation("merge c with a, and delete it", func(p *plan, m *driver.Mutation) {
		p.retires(m, "c", driver.Merged, "a")
		p.tryApply(p.Tenant, *m)
		*m = driver.Mutation{}
		p.deletes("c")
	}),
	mutation("merge a with c, and put it again", func(p *plan, m *driver.Mutation) {
		p.retires(m, "a", driver.Merged, "c")
		p.tryApply(p.Tenant, *m)
		*m = driver.Mutation{}
		p.puts(p.member("a"))
	}),
	mutation("restore a", func(p *plan, m *driver.Mutation) { p.restores(m, "a") }),
	mutation("restore b", func(p *plan, m *driver.Mutation) { p.restores(m, "b") }),
	mutation("erase a", func(p *plan, m *driver.Mutation) { p.erases(m, "a", "never") }),
	mutation("erase b and c", func(p *plan, m *driver.Mutation) { p.erases(m, "b", "c") }),
	mutation("make a document of a and b", func(p *plan, m *driver.Mutation) {
		p.swaps(m, driver.Set, p.digest("d", "a", "b"), 0)
	}),
	mutation("expect a to be heir of c", func(p *plan, m *driver.Mutation) {
		p.heir(m, "a", "c")
	}),
	mutation("expect b to be heir of nothing", func(p *plan, m *driver.Mutation) {
		p.heir(m, "b")
		m.Live = located(p.Scope, p.id("b"))
	}),
}

// whole is a document of the whole ref, which has a value from its second revision on.
func (p *plan) whole(key string) driver.Document {
	d := driver.Document{Scope: p.Scope, Class: driver.Content, Kind: "whole", Key: key, Whole: true}
	if p.ref.tenant(p.Tenant).documents[nameOf(&d)].Rev != 0 {
		d.Value = []byte("made of all")
	}
	return d
}

// documentMoves are what may happen to documents and events.
var documentMoves = []move{
	mutation("set n", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, note(p.Scope, "n", "set"), 0) }),
	mutation("set n of the revision before", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, note(p.Scope, "n", "late"), -1) }),
	mutation("set n of a later revision", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, note(p.Scope, "n", "early"), 1) }),
	mutation("retain n, due", func(p *plan, m *driver.Mutation) {
		d := note(p.Scope, "n", "")
		d.Group, d.Due = "group", p.now
		p.swaps(m, driver.Retain, d, 0)
	}),
	mutation("check n", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Check, note(p.Scope, "n", "checked"), 0) }),
	mutation("check that n is not there", func(p *plan, m *driver.Mutation) {
		m.Documents = acts(driver.Check, note(p.Scope, "n", "")).Documents
	}),
	mutation("remove n", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Remove, note(p.Scope, "n", ""), 0) }),
	mutation("set n of another class", func(p *plan, m *driver.Mutation) {
		d := file(p.Scope, "n")
		d.Kind = "note"
		p.swaps(m, driver.Set, d, 0)
	}),
	mutation("set d, of a", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, p.digest("d", "a"), 0) }),
	mutation("retain d, of b and c", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Retain, p.digest("d", "b", "c"), 0) }),
	mutation("set e of c, and erase b", func(p *plan, m *driver.Mutation) {
		p.swaps(m, driver.Set, p.digest("e", "c"), 0)
		p.erases(m, "b")
	}),
	mutation("retain d, of c, and erase a", func(p *plan, m *driver.Mutation) {
		p.swaps(m, driver.Retain, p.digest("d", "c"), 0)
		p.erases(m, "a")
	}),
	mutation("set w, of the whole ref", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, p.whole("w"), 0) }),
	mutation("retain w in a group", func(p *plan, m *driver.Mutation) {
		d := p.whole("w")
		d.Group = "group"
		p.swaps(m, driver.Retain, d, 0)
	}),
	mutation("erase c", func(p *plan, m *driver.Mutation) { p.erases(m, "c") }),
	mutation("set f of one subject", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Set, file(p.Scope, "f", "one", "both"), 0) }),
	mutation("retain f of another", func(p *plan, m *driver.Mutation) { p.swaps(m, driver.Retain, file(p.Scope, "f", "both", "two"), 0) }),
	mutation("remove f, and set the tenant's own n", func(p *plan, m *driver.Mutation) {
		p.swaps(m, driver.Remove, file(p.Scope, "f"), 0)
		p.swaps(m, driver.Set, note(at(p.Tenant, ""), "n", "own"), 0)
	}),
	mutation("queue an event", func(p *plan, m *driver.Mutation) { p.queues(m, "run-1", "one") }),
	mutation("queue it and others", func(p *plan, m *driver.Mutation) {
		p.now = p.now.Add(time.Millisecond) // it waits as it was queued first
		p.queues(m, "run-1", "two")
		p.queues(m, "run-1", "one")
		p.queues(m, "run-2", "one")
	}),
	mutation("keep an event", func(p *plan, m *driver.Mutation) {
		p.queues(m, "run-1", "kept")
		m.Keep = p.kept != nil
	}),
	{"deliver the event", func(p *plan) { p.deliver("run-1", "one") }},
	{"deliver one of the others, and what never was", func(p *plan) {
		p.deliver("run-2", "one")
		p.deliver("run-3", "one")
	}},
	{"delete a", func(p *plan) { p.deletes("a") }},
}

// versionMoves end what is held at versions.
var versionMoves = []move{
	{"purge", func(p *plan) { p.purge(p.Tenant, p.version(p.Tenant)) }},
	{"purge before a version in the middle", func(p *plan) {
		if held := p.heldOf(p.Tenant); len(held) > 0 {
			p.purge(p.Tenant, held[len(held)/2].store)
		}
	}},
	{"purge before the first version that is held", func(p *plan) {
		if held := p.heldOf(p.Tenant); len(held) > 0 {
			p.purge(p.Tenant, held[0].store)
		}
	}},
}

// dropMove drops the tenant, whose entries are looked up before and afterwards.
var dropMove = move{"drop the tenant", func(p *plan) {
	p.auditLookup(p.Scope, p.id("a"), p.id("b"))
	p.drop(p.Tenant, 5, 100)
	p.auditLookup(p.Scope, p.id("a"), p.id("b"))
}}

// sequenceCases sweep the sequences of entries and of documents.
func sequenceCases() []testCase {
	return []testCase{
		{"short-sequences", "every short sequence of steps about the same entries ends as it should", nil, func(w *world) {
			if w.level == LevelAdapter {
				w.sweepSequences(plainMoves)
			} else {
				w.sweepSequences(slices.Concat(plainMoves, entryMoves))
			}
		}},
		{"short-sequences-documents", "every short sequence of steps about the same documents and events ends as it should", []Offer{Transactor}, func(w *world) {
			w.sweepSequences(documentMoves)
		}},
		{"one-mutation", "a mutation that says several things of one entry is judged part by part, whatever the entry's state", []Offer{Transactor}, sweepParts},
	}
}

// movesOfAll end what is held of a whole tenant, if the store offers that.
func (w *world) movesOfAll() (moves []move) {
	if w.level == LevelVersioned {
		moves = append(moves, versionMoves...)
	}
	if w.level != LevelAdapter && w.tenants != nil {
		moves = append(moves, dropMove)
	}
	if w.level != LevelAdapter && w.kept != nil {
		moves = append(moves, move{"purge what is kept", func(p *plan) { p.purgeEvents(p.now) }})
	}
	return moves
}

// sweepSequences plays all sequences of one and two moves, and of three and more such as
// chance chooses.
func (w *world) sweepSequences(moves []move) {
	moves = slices.Concat(moves, w.movesOfAll())
	n := len(moves)
	var all [][]move
	for _, x := range moves {
		all = append(all, []move{x})
	}
	for i := range n * n {
		all = append(all, []move{moves[i/n], moves[i%n]})
	}
	for i := range w.size(0, 600, n*n*n) {
		longer := []move{moves[i%n], moves[w.rng.IntN(n)], moves[w.rng.IntN(n)]}
		for w.rng.IntN(3) > 0 {
			longer = append(longer, moves[w.rng.IntN(n)])
		}
		all = append(all, longer)
	}
	if w.config.Short {
		w.rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		all = all[:120]
	}
	for i, sequence := range all {
		w.plan(i, true, func(p *plan) {
			for _, x := range sequence {
				x.make(p)
				if w.level == LevelVersioned {
					w.version(p.Tenant)
				}
			}
		})
	}
	w.unmirrored() // each tenant was audited
}

// plan plays a sequence in a tenant that has the entries "a", "b" and "c", and audits it at
// the present and, if it is to, around each expiry.
func (w *world) plan(i int, around bool, play func(p *plan)) {
	w.mu.Lock()
	w.steps = nil
	w.mu.Unlock()
	w.now, w.ref, w.held, w.lent, w.sparing = epoch, newReference(), nil, false, w.config.Short
	p := &plan{world: w, Scope: at(fmt.Sprintf("tenant %d", i), "ref"), variant: i}
	for _, id := range []string{"a", "b", "c"} {
		w.put(p.Scope, p.member(id))
	}
	if w.level == LevelVersioned {
		w.version(p.Tenant)
	}
	play(p)
	instants := w.instants(p.Tenant)
	if !around {
		instants = instants[:1]
	}
	w.auditTenant(p.Tenant, instants)
	if w.level == LevelVersioned {
		w.auditHorizons()
	}
	if w.level != LevelAdapter {
		w.usesWhatTheReferenceSays(p.Scope)
	}
}

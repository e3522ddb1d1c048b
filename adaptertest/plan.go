package adaptertest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// plan is what generated moves are about: the entries "a" to "d" of one scope, and documents and
// events beside them.
type plan struct {
	*world
	driver.Scope
	wording
	generation int        // of the entries, which have other ids in each
	variant    int        // of the next entry that is another one, or is the same in another form
	dice       *rand.Rand // of the move under way
	refused    bool       // the last mutation was
}

// wording is what the entries, documents and events of a plan are called and hold. Plans that share
// a scope differ in own, keyed and event.
type wording struct {
	own, keyed, event    string                 // behind each id of an entry, key of a document and id of an event
	tag, subject, source string                 // that each entry has
	run, node            string                 // of events
	kind, group          string                 // of documents; a kind for each class if it is empty
	text                 func(of string) string // of entries and documents
	began                time.Time              // when entries are created; what expires or is due is so up to lastDue later
	many                 int                    // entries of each name, documents and events
}

// lastDue is how many milliseconds there are in which entries of a plan expire.
const lastDue = 8

func (w *world) newPlan(s driver.Scope, change func(p *plan)) *plan {
	p := &plan{world: w, Scope: s, wording: wording{tag: "tag", subject: "everyone", source: "source", run: "run-1", group: "group", began: epoch, many: 1,
		text: func(of string) string { return "contént 内容 of " + of }}} // of more bytes than letters
	if change != nil {
		change(p)
	}
	return p
}

// members are the names of a plan's entries.
var members = []string{"a", "b", "c", "d"}

// each is a text for each of the many.
func (p *plan) each(text string) (all []string) {
	if p.many == 1 {
		return []string{text}
	}
	for i := range p.many {
		all = append(all, manyID(text, i))
	}
	return all
}

// ids are the ids of the entries of these names.
func (p *plan) ids(names ...string) (all []string) {
	for _, name := range names {
		if p.generation > 0 {
			name += fmt.Sprint(p.generation)
		}
		all = append(all, p.each(name+p.own)...)
	}
	return all
}

func (p *plan) located(name string) []driver.Located { return located(p.Scope, p.ids(name)...) }

// stateOf says in one word what has become of an entry.
func (w *world) stateOf(s driver.Scope, id string) string {
	r := w.ref.tenant(s.Tenant).find(s.Ref, id)
	switch {
	case r == nil:
		return "absent"
	case r.Erased:
		return "erased"
	case r.State != driver.Live:
		return r.State.String()
	case !r.Entry.LiveAt(w.now):
		return "expired"
	case len(r.lives) > 1:
		return "restored"
	}
	return "live"
}

// pick picks a name, most often one whose entry is in one of the states.
func (p *plan) pick(states ...string) string {
	fits := func(name string) bool { return slices.Contains(states, p.stateOf(p.Scope, p.ids(name)[0])) }
	fit := slices.DeleteFunc(slices.Clone(members), func(name string) bool { return !fits(name) })
	others := slices.DeleteFunc(slices.Clone(members), fits)
	if len(fit) == 0 || len(others) > 0 && p.oneIn(4) {
		fit = others
	}
	return fit[p.dice.IntN(len(fit))]
}

func (p *plan) pickLive() string { return p.pick("live", "restored") }

// oneIn is true once in n times.
func (p *plan) oneIn(n int) bool { return p.dice.IntN(n) == 0 }

// members are the entries of a name. Only "b" expires. What "c" carries is repeated and in no order,
// and "d" carries nothing, which is said by nil lists and by empty ones in turn.
func (p *plan) members(name string) (all []driver.Entry) {
	for i, id := range p.ids(name) {
		e := driver.Entry{ID: id, Content: p.text(name), RunID: p.run, CreatedAt: p.began.Add(time.Duration(p.generation+i*7919%p.many/4) * time.Millisecond),
			Tags: []string{p.tag, name}, Subjects: []string{p.subject, "of " + name}, Sources: []string{p.source, "another"}}
		switch name {
		case "b":
			e.ExpiresAt = p.began.Add(time.Duration(2+5*p.generation%6) * time.Millisecond)
		case "c":
			e.Tags, e.Subjects = append(e.Tags, p.tag, "a, tag"), append(e.Subjects, p.subject, "a:b")
			e.Sources = append(e.Sources, p.source, "a,b")
		case "d":
			e.Tags, e.Subjects, e.Sources = [][]string{nil, {}}[p.variant%2], [][]string{nil, {}}[p.variant%2], [][]string{{}, nil}[p.variant%2]
			p.variant++
		}
		all = append(all, e)
	}
	return all
}

// entryChanges make another entry of one that has tags, subjects and sources. Each changes as
// little as a store may fail to see.
var entryChanges = []func(e *driver.Entry){
	func(e *driver.Entry) { e.Content += " " },
	func(e *driver.Entry) { e.Content = strings.ToUpper(e.Content) },
	func(e *driver.Entry) { e.Tags = slices.Sorted(slices.Values(e.Tags)) },
	func(e *driver.Entry) { e.Tags = append(slices.Clone(e.Tags), "tag") },
	func(e *driver.Entry) { e.Tags = []string{strings.Join(e.Tags, ",")} },
	func(e *driver.Entry) { e.Tags = []string{strings.Join(e.Tags, " ")} },
	func(e *driver.Entry) { e.CreatedAt = e.CreatedAt.Add(time.Millisecond) },
	func(e *driver.Entry) {
		e.ExpiresAt = slices.MaxFunc([]time.Time{e.ExpiresAt, epoch}, time.Time.Compare).Add(time.Millisecond)
	},
	func(e *driver.Entry) { e.ExpiresAt = time.Time{} },
	func(e *driver.Entry) { e.RunID += "x" },
	func(e *driver.Entry) { e.RunID = strings.ToUpper(e.RunID) },
	func(e *driver.Entry) { e.Subjects = e.Subjects[:min(1, len(e.Subjects))] },
	func(e *driver.Entry) { e.Subjects = slices.Clone(e.Subjects); slices.Reverse(e.Subjects) },
	func(e *driver.Entry) { e.Sources = nil },
	func(e *driver.Entry) { e.Sources = slices.Sorted(slices.Values(e.Sources)) },
	func(e *driver.Entry) { e.Sources = e.Sources[min(1, len(e.Sources)):] },
}

// others are the entries of a name, of which the last is another one under the same id.
func (p *plan) others(name string) []driver.Entry {
	all := p.members(name)
	entryChanges[p.variant%len(entryChanges)](&all[len(all)-1])
	p.variant++
	return all
}

// puttable leaves out entries whose id was purged: what becomes of those is the store's to say.
func (p *plan) puttable(all []driver.Entry) []driver.Entry {
	return slices.DeleteFunc(all, func(e driver.Entry) bool { return p.ref.tenant(p.Tenant).purged[place{p.Ref, e.ID}] })
}

// remainder is what is left of an erased entry of the name.
func (p *plan) remainder(name string) []driver.Entry {
	id := p.ids(name)[0]
	if p.stateOf(p.Scope, id) != "erased" {
		return nil
	}
	return []driver.Entry{{ID: id}}
}

// heirOf tells which of a name's entries the number i of another name is retired for: a half for the first.
func heirOf(i int) int { return i * (i % 2) }

// document is one of the documents of a plan.
func (p *plan) document() (d driver.Document) {
	switch p.dice.IntN(8) {
	case 0:
		d = note(p.Scope, "n", "")
	case 1, 7:
		d = note(p.Scope, "t", "")
	case 2:
		d = digest(p.Scope, "d", p.ids(p.pickLive())...)
	case 3:
		names := slices.Compact([]string{p.pickLive(), p.pick("merged", "superseded", "deleted", "expired", "erased")})
		d = digest(p.Scope, "e", p.ids(names...)...)
	case 4:
		d = driver.Document{Scope: p.Scope, Class: driver.Content, Kind: "whole", Key: "w", Whole: true}
	case 5:
		d = file(p.Scope, "f", p.subject, []string{"one", "two"}[p.dice.IntN(2)])
	case 6:
		d = []driver.Document{note(at(p.Tenant, ""), "n", ""), note(at(p.Tenant, ""), "t", ""), file(at(p.Tenant, ""), "f", p.subject)}[p.dice.IntN(3)]
	}
	if d.Key == "t" {
		d.Due = p.began.Add(time.Duration(p.dice.IntN(3)) * time.Millisecond) // often that of another
	}
	if p.oneIn(16) {
		d.Class = driver.HostText
	}
	if p.oneIn(2) {
		d.Group = p.group
	}
	d.Kind, d.Key = cmp.Or(p.kind, d.Kind), d.Key+p.keyed
	d.Value = [][]byte{nil, {}, {0, 0xff, 0}, []byte(p.text(d.Key + "\r\n"))}[p.dice.IntN(4)]
	return d
}

// swaps are swaps of the many documents of one kind, whose revisions are off by a number.
func (p *plan) swaps(act driver.Act, d driver.Document, off int64) (all []driver.DocumentSwap) {
	for i, key := range p.each(d.Key) {
		x := driver.DocumentSwap{Document: d, Act: act}
		if x.Key = key; len(d.Of) > 0 && i < p.many-1 { // a half is made of the first, and the last of all of them
			x.Of = d.Of[heirOf(i):][:1]
		}
		x.Rev = max(0, p.ref.tenant(p.Tenant).documents[nameOf(&x.Document)].Rev+off)
		if act == driver.Retain && x.Rev == 0 {
			x.Act = driver.Check
		}
		all = append(all, x)
	}
	return all
}

// events are the many events of one name.
func (p *plan) events(run, name string) (all []events.Record) {
	for _, id := range p.each(name + p.wording.event) {
		all = append(all, withPayload(events.Record{ID: id, Tenant: p.Tenant, RunID: run, NodeID: p.node,
			Time: p.began.Add(-time.Duration(p.dice.IntN(10)) * time.Millisecond)})) // the order is that of commits
	}
	return all
}

// pickEvents picks events of one run and name.
func (p *plan) pickEvents() []events.Record {
	return p.events(p.run+[]string{"", "2"}[p.dice.IntN(2)], []string{"one", "two", "three"}[p.dice.IntN(3)])
}

package adaptertest

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// likenesses are names that a careless store takes for each other, in groups: the others of a
// group look like its first. The first mostAlike names are of case, spaces, wildcards, quotes,
// escapes, numbers and Unicode forms.
var likenesses = [][]string{
	{"a", "A", "a ", " a", "a\u200b", "%61", "\uff41"}, {"ab", "a_b", "a%b", "a'b", "a.b", "a-b", "a/b", `a\b`},
	{"a b", "a\u00a0b", "a%20b"}, {"e", "é", "e\u0301"}, {"fi", "\ufb01"}, {"ss", "ß", "SS"}, {"i", "I"},
	{"null", "NULL"}, {"0", "00"}, {"\U0001F9E0", "\U0001F9E1"}, {"1", "1.0"},
	{"aa", "a%", "a*", "[a]", "a/", "/a", "a."}, {"a1", "a10", "a2"}, {"acb", "a?b", "a,b", `a"b`, "a+b", "a//b", "a/../b"},
	{"b", "_", "."}, {"a  b", "a%2Fb"}, {"ı", "İ"}, {"k", "\u212a"}, {"σ", "ς"}, {"\uffee", "\uffed"},
}

const mostAlike = 35

// namesUpTo are the likenesses, and long names that differ in their last byte only: if
// a store cuts them, the longest ones are the same.
func namesUpTo(limit int) [][]string {
	names := slices.Clone(likenesses)
	for _, n := range slices.Compact([]int{min(128, limit), min(256, limit), limit}) {
		names = append(names, []string{strings.Repeat("n", n-1) + "1", strings.Repeat("n", n-1) + "2"})
	}
	return names
}

// pairs are n groups of two names that are made of numbers.
func pairs(n int) [][]string { return slices.Repeat([][]string{{"", ""}}, n) }

// plot is what the sweep of names fills for one name. Two plots differ in that name and
// in nothing else, but for what must differ within one scope.
type plot struct {
	driver.Scope
	entries                  func(item string) string // the id of an item
	run, event, subject, tag string
	kind, key, group, text   string
	first                    bool // others look like this one
}

// namePositions are where a name can stand. In a plot of one scope the ids of entries
// differ, and the keys of documents or whatever else tells them apart.
var namePositions = []struct {
	name  string
	names [][]string
	needs []Offer
	set   func(p *plot, name string, i int)
}{
	{"tenant", namesUpTo(driver.MaxTenantBytes), nil, func(p *plot, name string, i int) { p.Tenant = name }},
	{"ref", namesUpTo(driver.MaxRefBytes), nil, func(p *plot, name string, i int) { p.Ref = name }},
	{"id", namesUpTo(driver.MaxIDBytes - len("restore")), nil, func(p *plot, name string, i int) {
		p.entries = func(item string) string { return item + name }
		p.apart(i)
	}},
	{"tag", namesUpTo(256), nil, func(p *plot, name string, i int) { p.shared(i); p.tag = name }},
	{"run", namesUpTo(driver.MaxRunBytes), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.run = name; p.event = "event" }},
	{"event", namesUpTo(driver.MaxRunBytes), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.run = "run"; p.event = name }},
	{"subject", namesUpTo(driver.MaxLabelBytes), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.subject = name }},
	{"kind", namesUpTo(driver.MaxKindBytes), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.kind, p.key = name, "key" }},
	{"key", namesUpTo(driver.MaxKeyBytes - len("+t")), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.kind, p.key = "kind", name }},
	{"group", namesUpTo(driver.MaxKeyBytes), []Offer{Transactor}, func(p *plot, name string, i int) { p.shared(i); p.group = name }},
	{"joined-document", pairs(2 * len(separators)), []Offer{Transactor}, func(p *plot, _ string, i int) {
		p.shared(i)
		one, other := split(i, i/4)
		if p.kind, p.key = one, other; i/2%2 == 1 {
			p.Ref, p.kind, p.key = one, other, "key"
		}
	}},
	{"joined", pairs(len(separators)), nil, func(p *plot, _ string, i int) { // the names are the same once they are run together
		p.Tenant, p.Ref = split(i, i/2)
	}},
}

// separators are what a store may put between two names that it joins.
var separators = []string{"", "/", ":", "|", ".", "-", ",", " ", "\u241f", "_", "#", ";", `\`, "::", "'", `"`}

// split makes two names. Those of an even number and the next one are the same once they
// are joined by the separator of a number.
func split(i, separator int) (one, other string) {
	between, base := separators[separator%len(separators)], fmt.Sprintf("p%02d", i/2)
	if i%2 == 0 {
		return base, "b" + between + "c"
	}
	return base + between + "b", "c"
}

// apart gives what is not in question names of its own.
func (p *plot) apart(i int) {
	own := fmt.Sprintf("%03d", i)
	p.run, p.event, p.key = "run"+own, "event"+own, "key"+own
}

// shared puts a plot in the scope of all others.
func (p *plot) shared(i int) {
	p.apart(i)
	p.entries = func(item string) string { return item + fmt.Sprintf("-%03d", i) }
}

// nameCases are one sweep for each position.
func nameCases() []testCase {
	var cases []testCase
	for _, p := range namePositions {
		cases = append(cases, testCase{"names-" + p.name, "no operation takes one " + p.name + " for another, whatever it looks like", p.needs, func(w *world) {
			var plots []*plot
			first := map[string]bool{"": true}
			for _, likeness := range p.names {
				first[likeness[0]] = true
			}
			for i, name := range slices.Concat(p.names...) {
				own := &plot{Scope: home, entries: func(item string) string { return item }, run: "run", event: "event",
					subject: "subject", tag: "tag", kind: "kind", key: "key", group: "group", text: fmt.Sprintf("text %03d", i)}
				own.first = first[name] && (name != "" || i%2 == 0)
				p.set(own, name, i)
				if !slices.ContainsFunc(plots, func(o *plot) bool {
					return o.Scope == own.Scope && o.kind+"\x00"+o.key == own.kind+"\x00"+own.key && o.entries("") == own.entries("")
				}) {
					plots = append(plots, own)
				}
			}
			w.sweepNames(plots)
		}})
	}
	return cases
}

// antichain gives each of n things a set of rounds, as bits, of which none holds another:
// of any two things each is in some round without the other.
func antichain(n int) (rounds int, sets []uint) {
	for rounds = 1; ; rounds++ {
		sets = nil
		for set := range uint(1) << rounds {
			if bits.OnesCount(set) == rounds/2 {
				sets = append(sets, set)
			}
		}
		if len(sets) >= n {
			return rounds, sets
		}
	}
}

// sweepNames fills the plots, does everything that can be done to some of them, and
// expects that the others are as they were. With -short the first of each likeness stays.
func (w *world) sweepNames(plots []*plot) {
	if w.config.Short {
		last := len(plots) - 2 // the longest names
		plots = append(plots[:min(mostAlike, last)], plots[last:]...)
	}
	w.shuffle(plots)
	rounds, sets := antichain(len(plots))
	ofTenants := plots[0].Tenant != plots[1].Tenant
	for round := range w.size(1, rounds, rounds) {
		w.restart()
		w.quietly(fmt.Sprintf("fill the scopes, ids or labels %s and more, each with the same", describeTexts(nameSamples(plots))), func() {
			for _, p := range plots {
				w.fill(p)
			}
		})
		touched := func(do func(p *plot)) {
			for i, p := range plots {
				if !p.first && w.config.Short || !w.config.Short && sets[i]>>round&1 == 1 {
					do(p)
				}
			}
			w.audit()
		}
		touched(func(p *plot) {
			w.quietly("change whatever there is of "+p.text, func() { w.disturb(p, plots) })
		})
		if w.level != LevelAdapter && ofTenants && round == 0 {
			w.usesWhatTheReferenceSays(plots[0].Scope)
			w.usesWhatTheReferenceSays(plots[1].Scope)
		}
		if w.level != LevelAdapter && w.tenants != nil && ofTenants {
			touched(func(p *plot) { w.drop(p.Tenant, 1000, 3) })
		}
	}
	w.unmirrored() // each round was audited
}

func (w *world) shuffle(plots []*plot) {
	w.rng.Shuffle(len(plots), func(i, k int) { plots[i], plots[k] = plots[k], plots[i] })
}

func nameSamples(plots []*plot) []string {
	var texts []string
	for _, p := range plots[:3] {
		texts = append(texts, describeScope(p.Scope)+" "+p.entries("")+" "+p.tag+" "+p.subject+" "+p.group+" "+p.run+" "+p.event+" "+p.kind+" "+p.key)
	}
	return texts
}

// item is an entry of the plot.
func (w *world) item(p *plot, name string) driver.Entry {
	e := w.entry(p.entries(name))
	e.Content, e.Tags, e.Subjects = name+" of "+p.text, []string{p.tag}, []string{p.subject}
	return e
}

// plotEvents are two events of the plot.
func (w *world) plotEvents(p *plot) []events.Record {
	var recs []events.Record
	for _, id := range []string{p.event, "other of " + p.text} {
		e := w.event(p.run, id)
		e.Tenant, e.NodeID = p.Tenant, p.text
		recs = append(recs, e)
	}
	return recs
}

// plotDocuments are documents of each class, of which one has no group.
func (w *world) plotDocuments(p *plot) []driver.Document {
	base := driver.Document{Scope: p.Scope, Kind: p.kind, Group: p.group, Value: []byte(p.text)}
	gone, timed, made, host := base, base, base, base
	gone.Key, timed.Key, made.Key, host.Key = p.key, p.key+"+t", p.key+"+c", p.key+"+h"
	timed.Due = w.now
	made.Class, made.Of, made.Group = driver.Content, []string{p.entries("erase")}, ""
	host.Class, host.Subjects = driver.HostText, []string{p.subject}
	return []driver.Document{gone, timed, made, host}
}

func (w *world) fill(p *plot) {
	items := []string{"keep", "delete"}
	if w.level != LevelAdapter {
		items = append(items, "retire", "merge", "restore", "erase")
	}
	for _, name := range items {
		w.put(p.Scope, w.item(p, name))
	}
	if w.level == LevelAdapter {
		return
	}
	m := acts(driver.Set, w.plotDocuments(p)...)
	m.Retire = []driver.Retirement{retire(p.Scope, p.entries("restore"), driver.Merged, p.entries("keep"))}
	m.Events = w.plotEvents(p)
	w.apply(m)
	if w.kept != nil {
		kept := w.event(p.run, fmt.Sprintf("kept %x", sha256.Sum256([]byte(p.event))))
		kept.Tenant = p.Tenant
		w.emit(kept)
	}
	if w.level == LevelVersioned {
		w.version(p.Tenant)
	}
}

// disturb changes all there is of a plot, as far as the store climbs.
func (w *world) disturb(p *plot, plots []*plot) {
	w.delete(p.Scope, p.entries("delete"), true)
	w.put(p.Scope, w.item(p, "new"))
	other := w.item(p, "keep")
	other.Content += " changed"
	w.mustBe(w.tryPut(p.Scope, other), driver.ErrConflict)
	if w.level == LevelAdapter {
		return
	}
	w.conflicts(driver.Mutation{Live: located(p.Scope, p.entries("delete"))})
	w.conflicts(driver.Mutation{Live: located(p.Scope, p.entries("nothing"))})
	w.conflicts(retired(retire(p.Scope, p.entries("keep"), driver.Merged, p.entries("nothing"))))
	held := w.ref.find(driver.DocumentQuery{Tenant: p.Tenant, Ref: p.Ref, Kind: p.kind, Key: p.key})
	m := acts(driver.Remove, held...)
	m.Live = located(p.Scope, p.entries("keep"), p.entries("restore"))[:1]
	m.Retire = []driver.Retirement{retire(p.Scope, p.entries("retire"), driver.Deleted, ""), retire(p.Scope, p.entries("merge"), driver.Superseded, p.entries("keep"))}
	m.Restore = located(p.Scope, p.entries("restore"))
	m.Erase = located(p.Scope, p.entries("erase"))
	w.apply(m)
	timed := w.ref.find(driver.DocumentQuery{Tenant: p.Tenant, Ref: p.Ref, Kind: p.kind, Key: p.key + "+t"})
	timed[0].Due = timed[0].Due.Add(1e9)
	w.retains(timed[0])
	recs := w.plotEvents(p)
	w.delivered(recs[0])
	if w.kept != nil {
		w.emit(recs...)
	}
	if w.level == LevelVersioned {
		v := w.version(p.Tenant)
		if plots[0].Tenant != plots[1].Tenant {
			w.purge(p.Tenant, v)
		}
	}
}

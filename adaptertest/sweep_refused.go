package adaptertest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// nameRule is what a name in a mutation has to look like.
type nameRule int

const (
	anyBytes   nameRule = iota // up to the limit
	someBytes                  // and not empty
	identifier                 // and UTF-8 without control bytes
	orNone                     // an identifier or nothing
)

// namedParts are the places of a mutation at which a name stands, each with its limit.
var namedParts = []struct {
	name  string
	limit int
	rule  nameRule
	make  func(name string) driver.Mutation
}{
	{"ref of a condition", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation { return driver.Mutation{Live: located(at(home.Tenant, n), "x")} }},
	{"ref of an heir", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation { return heirs(at(home.Tenant, n), "x") }},
	{"ref of an entry", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation {
		return driver.Mutation{Put: []driver.Placed{{Scope: at(home.Tenant, n), Entry: bare("x")}}}
	}},
	{"ref to retire in", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation { return retired(retire(at(home.Tenant, n), "x", driver.Deleted, "")) }},
	{"ref to restore in", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation {
		return driver.Mutation{Restore: located(at(home.Tenant, n), "x")}
	}},
	{"ref to erase in", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation { return driver.Mutation{Erase: located(at(home.Tenant, n), "x")} }},
	{"ref of a document", driver.MaxRefBytes, anyBytes, func(n string) driver.Mutation { return acts(driver.Set, note(at(home.Tenant, n), "x", "")) }},
	{"id of a condition", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return driver.Mutation{Live: located(home, n)} }},
	{"id of an heir", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return heirs(home, n) }},
	{"id to retire", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return retired(retire(home, n, driver.Deleted, "")) }},
	{"id of a successor", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return retired(retire(home, "a", driver.Merged, n)) }},
	{"id to restore", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return driver.Mutation{Restore: located(home, n)} }},
	{"id to erase", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return driver.Mutation{Erase: located(home, n)} }},
	{"id of what content is made of", driver.MaxIDBytes, someBytes, func(n string) driver.Mutation { return acts(driver.Set, digest(home, "d", "a", n)) }},
	{"id of an entry", driver.MaxIDBytes, identifier, func(n string) driver.Mutation {
		return driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: bare(n)}}}
	}},
	{"kind", driver.MaxKindBytes, identifier, ofDocument(func(d *driver.Document, n string) { d.Kind = n })},
	{"key", driver.MaxKeyBytes, identifier, ofDocument(func(d *driver.Document, n string) { d.Key = n })},
	{"group", driver.MaxKeyBytes, orNone, ofDocument(func(d *driver.Document, n string) { d.Group = n })},
	{"subject", driver.MaxLabelBytes, identifier, func(n string) driver.Mutation { return acts(driver.Set, file(home, "f", "fine", n)) }},
	{"event", driver.MaxRunBytes, identifier, ofEvent(func(e *events.Record, n string) { e.ID = n })},
	{"run", driver.MaxRunBytes, identifier, ofEvent(func(e *events.Record, n string) { e.RunID = n })},
	{"node", driver.MaxRunBytes, orNone, ofEvent(func(e *events.Record, n string) { e.NodeID = n })},
}

func bare(id string) driver.Entry { return driver.Entry{ID: id, CreatedAt: epoch} }

func heirs(s driver.Scope, id string) driver.Mutation {
	return driver.Mutation{MergedInto: map[driver.Located][]string{{Scope: s, ID: id}: nil}}
}

func ofDocument(set func(d *driver.Document, name string)) func(string) driver.Mutation {
	return func(name string) driver.Mutation {
		d := note(home, "x", "")
		set(&d, name)
		return acts(driver.Set, d)
	}
}

func ofEvent(set func(e *events.Record, name string)) func(string) driver.Mutation {
	return func(name string) driver.Mutation {
		e := events.Record{ID: "x", Tenant: home.Tenant, RunID: "run-2", Time: epoch, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
		set(&e, name)
		return queue(e)
	}
}

// names are such as the rule lets through, and such as it does not.
func (r nameRule) names(limit int) (fine, refusedParts []string) {
	fine = []string{"x " + canary, strings.Repeat("n", limit), strings.Repeat("é", limit/2)}
	refusedParts = []string{canary + strings.Repeat("n", limit+1-len(canary)), strings.Repeat("é", limit/2+1)}
	odd := []string{canary + "\nb", "\x00", "a\x1f", "\x7f", "a\xff"}
	switch r {
	case anyBytes:
		return append(fine, ""), refusedParts
	case someBytes:
		return fine, append(refusedParts, "")
	case orNone:
		return append(fine, ""), append(refusedParts, odd...)
	}
	return fine, append(append(refusedParts, ""), odd...)
}

// with is a document of home that is changed in one thing.
func with(d driver.Document, change func(d *driver.Document)) driver.Document {
	change(&d)
	return d
}

// zeros is a value that is longer than a document may have, made once.
var zeros = sync.OnceValue(func() []byte { return make([]byte, driver.MaxDocumentBytes+1) })

// invalidMutations are mutations that no state makes possible, beside those of malformed names.
func invalidMutations() []driver.Mutation {
	foreign, elsewhere, n, made, text := at("globex", "support"), at(home.Tenant, "other"), note(home, "n", ""), digest(home, "d", "a"), file(home, "f")
	all := []driver.Mutation{
		// another tenant
		{Live: located(foreign, "a")}, {Put: []driver.Placed{{Scope: foreign, Entry: bare("b")}}}, retired(retire(foreign, "a", driver.Deleted, "")),
		{Restore: located(foreign, "a")}, {Erase: located(foreign, "a")}, acts(driver.Set, note(foreign, "n", "")), acts(driver.Remove, note(foreign, "n", "")),
		heirs(foreign, "a"), ofEvent(func(e *events.Record, n string) { e.Tenant = n })("globex"),
		// a retirement in favour of nothing or of itself, a deletion in favour of an entry, and one to no state
		retired(retire(home, "a", driver.Merged, "")), retired(retire(home, "a", driver.Superseded, "a")), retired(retire(home, "a", driver.Deleted, "b")), retired(retire(home, "a", driver.Live, "")),
		// events named twice, without a payload, of a broken schema, version or time, and limits below zero
		queue(slices.Repeat(ofEvent(func(*events.Record, string) {})("").Events, 2)...), queue(events.Record{ID: "ev", Tenant: home.Tenant, RunID: "run-1", Time: epoch}),
		ofEvent(func(e *events.Record, _ string) { e.Payload = events.WorkspaceUpdated{Path: "f"} })(""),
		ofEvent(func(e *events.Record, _ string) { e.SchemaVersion = -1 })(""), ofEvent(func(e *events.Record, _ string) { e.Time = time.Time{} })(""),
		{Limits: driver.Limits{Entries: -1}}, {Limits: driver.Limits{Bytes: -1}}, {Limits: driver.Limits{Waiting: -1}},
		// documents named twice, retained without being there, and an unknown act
		acts(driver.Set, note(home, "n", "x"), note(home, "n", "y")), acts(driver.Check, n, n), acts(driver.Retain, n), acts(driver.Remove+1, n),
		// what is checked or removed has a name too, and what is retained is stored and must be whole
		acts(driver.Check, with(n, func(d *driver.Document) { d.Kind = "" })),
		acts(driver.Remove, with(n, func(d *driver.Document) { d.Kind = strings.Repeat("k", driver.MaxKindBytes+1) })),
		acts(driver.Retain, with(digest(home, "d"), func(d *driver.Document) { d.Rev = 1 })),
		acts(driver.Check, with(n, func(d *driver.Document) { d.Value = zeros() })),
	}
	for _, d := range []driver.Document{
		// content or host text that is due, an instant between two milliseconds or beyond the years
		with(made, func(d *driver.Document) { d.Due = epoch }), with(text, func(d *driver.Document) { d.Due = epoch }), timer(home, "t", epoch.Add(time.Microsecond)),
		timer(home, "t", time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)), timer(home, "t", time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)),
		// content of nothing or of no ref, and other documents that are made of entries
		digest(home, "d"), digest(at(home.Tenant, ""), "d", "a"), with(n, func(d *driver.Document) { d.Of = []string{"a"} }), with(text, func(d *driver.Document) { d.Of = []string{"a"} }),
		with(note(elsewhere, "n", ""), func(d *driver.Document) { d.Whole = true }), with(file(elsewhere, "f"), func(d *driver.Document) { d.Whole, d.Value = true, nil }),
		// content of a whole ref with a value from the first, and, since [world.refuses] erases there, in the ref of another
		with(digest(elsewhere, "w"), func(d *driver.Document) { d.Whole, d.Value = true, []byte("v") }), with(digest(home, "w"), func(d *driver.Document) { d.Whole, d.Value = true, nil }),
		// machinery or content with subjects
		with(n, func(d *driver.Document) { d.Subjects = []string{"customer:1"} }), with(made, func(d *driver.Document) { d.Subjects = []string{"customer:1"} }),
		// a revision below 0, an unknown class, and a value that is too large
		with(n, func(d *driver.Document) { d.Rev = -1 }), with(n, func(d *driver.Document) { d.Class = driver.HostText + 1 }), with(n, func(d *driver.Document) { d.Value = zeros() }),
	} {
		all = append(all, acts(driver.Set, d))
	}
	return all
}

// validMutations are near to such as are invalid.
func validMutations() []driver.Mutation {
	n, own := note(home, "n", ""), at(home.Tenant, "")
	return []driver.Mutation{
		acts(driver.Check, n, note(home, "m", ""), note(own, "n", ""), with(n, func(d *driver.Document) { d.Kind = "other" })),
		acts(driver.Set, timer(home, "t0", time.Time{}), timer(home, "t1", time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC)), timer(home, "t2", time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC))),
		acts(driver.Check, digest(home, "d")), acts(driver.Remove, digest(own, "d", "a")), // what is not stored need not be whole
		acts(driver.Check, with(n, func(d *driver.Document) { d.Value = zeros()[1:] })), acts(driver.Set, with(digest(home, "w"), func(d *driver.Document) { d.Whole, d.Rev = true, 1 })),
		queue(slices.Concat(ofEvent(func(*events.Record, string) {})("").Events, ofEvent(func(e *events.Record, _ string) { e.RunID = "run-3" })("").Events)...),
		{Erase: located(home, "never"), Documents: acts(driver.Set, digest(home, "d", "a"), with(digest(own, "f"), func(d *driver.Document) { d.Ref, d.Whole, d.Value = "other", true, nil })).Documents},
	}
}

func sweepInvalid(w *world) {
	w.prepareRefusal()
	for _, m := range invalidMutations() {
		w.refuses(m)
	}
	for _, m := range validMutations() {
		w.passes(m)
	}
}

func (w *world) prepareRefusal() {
	w.puts(home, "a")
	w.puts(at("globex", "support"), "a")
}

// refuses expects a mutation to be invalid, with something that could be done beside it.
func (w *world) refuses(m driver.Mutation) {
	m.Live, m.Erase = append(located(home, "a"), m.Live...), append(located(home, "never"), m.Erase...)
	if m.MergedInto == nil {
		m.MergedInto = heirs(home, "a").MergedInto
	}
	m.Put = append(w.placed(home, "new"), m.Put...)
	m.Documents = append(acts(driver.Set, note(home, "new", "x")).Documents, m.Documents...)
	m.Events = append(m.Events, w.event("run-1", "new"))
	_, err := w.tryApply(home.Tenant, m)
	w.mustBe(err, driver.ErrValidation)
	w.silentError(err)
}

// passes expects a mutation to be valid, whether it is possible or not.
func (w *world) passes(m driver.Mutation) {
	_, err := w.tryApply(home.Tenant, m)
	w.check(err == nil || errors.Is(err, driver.ErrConflict), "success or a conflict", "%s", describeError(err))
	w.silentError(err)
}

func sweepMalformed(w *world) {
	w.prepareRefusal()
	_, err := w.tryApply(home.Tenant, driver.Mutation{Put: w.placed(home, "new"), Keep: true}) // no events
	w.mustBe(err, driver.ErrValidation)
	for _, p := range namedParts {
		fine, refusedParts := p.rule.names(p.limit)
		for _, name := range refusedParts {
			w.refuses(p.make(name))
		}
		for _, name := range fine {
			w.passes(p.make(name))
		}
	}
	for n, want := range map[int]error{driver.MaxTenantBytes: nil, driver.MaxTenantBytes + 1: driver.ErrValidation} {
		s := at(strings.Repeat("t", n), "support")
		_, err := w.tryApply(s.Tenant, driver.Mutation{Put: w.placed(s, "a")})
		w.check(errors.Is(err, want), describeError(want), "%s", describeError(err))
	}
}

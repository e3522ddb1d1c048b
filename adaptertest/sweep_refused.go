package adaptertest

import (
	"errors"
	"fmt"
	"strings"
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
	fine = []string{"x y", strings.Repeat("n", limit), strings.Repeat("é", limit/2)}
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

// refusedParts are mutations that no state makes possible beside those of malformed names, and
// near ones that are valid, in a memory that has the entry "a".
var refusedParts = []struct {
	name, says     string
	refused, valid func() []driver.Mutation
}{
	{"foreign-scope", "names a scope of another tenant", func() []driver.Mutation {
		foreign := at("globex", "support")
		return []driver.Mutation{
			{Live: located(foreign, "a")}, {Put: []driver.Placed{{Scope: foreign, Entry: bare("b")}}}, retired(retire(foreign, "a", driver.Deleted, "")),
			{Restore: located(foreign, "a")}, {Erase: located(foreign, "a")}, acts(driver.Set, note(foreign, "n", "")), acts(driver.Remove, note(foreign, "n", "")),
			heirs(foreign, "a"), ofEvent(func(e *events.Record, n string) { e.Tenant = n })("globex"),
		}
	}, nil},
	{"twice", "names a document twice", func() []driver.Mutation {
		return []driver.Mutation{acts(driver.Set, note(home, "n", "x"), note(home, "n", "y")), acts(driver.Check, note(home, "n", ""), note(home, "n", ""))}
	}, func() []driver.Mutation {
		other := note(home, "n", "")
		other.Kind = "other"
		return []driver.Mutation{acts(driver.Check, note(home, "n", ""), note(home, "m", ""), other, note(at(home.Tenant, ""), "n", ""))}
	}},
	{"due", "has content or host text that is due, or an instant between two milliseconds or beyond the years", func() []driver.Mutation {
		c, h := digest(home, "d", "a"), file(home, "f")
		c.Due, h.Due = epoch, epoch
		all := []driver.Mutation{acts(driver.Set, c), acts(driver.Set, h)}
		for _, due := range []time.Time{epoch.Add(time.Microsecond), time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			all = append(all, acts(driver.Set, timer(home, "t", due)))
		}
		return all
	}, func() []driver.Mutation {
		var all []driver.Mutation
		for i, due := range []time.Time{{}, time.Date(1, 1, 1, 0, 0, 0, 1e6, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)} {
			all = append(all, acts(driver.Set, timer(home, fmt.Sprint("t", i), due)))
		}
		return all
	}},
	{"of", "has content of nothing or of no ref, or other documents that are made of entries", func() []driver.Mutation {
		m, h := note(home, "n", ""), file(home, "f")
		m.Of, h.Of = []string{"a"}, []string{"a"}
		return []driver.Mutation{acts(driver.Set, digest(home, "d")), acts(driver.Set, digest(at(home.Tenant, ""), "d", "a")), acts(driver.Set, m), acts(driver.Set, h)}
	}, func() []driver.Mutation { // what is not stored need not be whole
		return []driver.Mutation{acts(driver.Check, digest(home, "d")), acts(driver.Remove, digest(at(home.Tenant, ""), "d"))}
	}},
	{"labelled", "has machinery or content with subjects", func() []driver.Mutation {
		m, c := note(home, "n", ""), digest(home, "d", "a")
		m.Subjects, c.Subjects = []string{"customer:1"}, []string{"customer:1"}
		return []driver.Mutation{acts(driver.Set, m), acts(driver.Set, c)}
	}, nil},
	{"swap", "has a swap that there is not: a retained document that is not there, a revision below 0, an unknown act or class", func() []driver.Mutation {
		below, class := note(home, "n", ""), note(home, "n", "")
		below.Rev, class.Class = -1, driver.HostText+1
		kindless, long := note(home, "n", ""), note(home, "n", "") // what is not stored has a name too
		kindless.Kind, long.Kind = "", strings.Repeat("k", driver.MaxKindBytes+1)
		unlabelled := digest(home, "d")
		unlabelled.Rev = 1 // what is retained is stored, and must be whole
		return []driver.Mutation{acts(driver.Retain, note(home, "n", "")), acts(driver.Set, below), acts(driver.Set, class), acts(driver.Remove+1, note(home, "n", "")),
			acts(driver.Retain, unlabelled), acts(driver.Check, kindless), acts(driver.Remove, long)}
	}, nil},
	{"retirement", "retires in favour of nothing or of itself, deletes in favour of an entry, or retires to no state", func() []driver.Mutation {
		return []driver.Mutation{
			retired(retire(home, "a", driver.Merged, "")), retired(retire(home, "a", driver.Superseded, "a")),
			retired(retire(home, "a", driver.Deleted, "b")), retired(retire(home, "a", driver.Live, "")),
		}
	}, nil},
	{"value", "has a value that is too large", func() []driver.Mutation {
		d := note(home, "n", "")
		d.Value = make([]byte, driver.MaxDocumentBytes+1)
		return []driver.Mutation{acts(driver.Set, d), acts(driver.Check, d)}
	}, func() []driver.Mutation {
		d := note(home, "n", "")
		d.Value = make([]byte, driver.MaxDocumentBytes)
		return []driver.Mutation{acts(driver.Check, d)}
	}},
	{"event", "has an event without a payload or of a broken schema, or has a limit below zero", func() []driver.Mutation {
		return []driver.Mutation{
			queue(events.Record{ID: "ev", Tenant: home.Tenant, RunID: "run-1", Time: epoch}),
			ofEvent(func(e *events.Record, _ string) { e.Payload = events.WorkspaceUpdated{Path: "f"} })(""),
			ofEvent(func(e *events.Record, _ string) { e.SchemaVersion = -1 })(""), ofEvent(func(e *events.Record, _ string) { e.Time = time.Time{} })(""),
			{Limits: driver.Limits{Entries: -1}}, {Limits: driver.Limits{Bytes: -1}}, {Limits: driver.Limits{Waiting: -1}},
		}
	}, nil},
}

func malformedCases() []testCase {
	tx := []Offer{Transactor}
	cases := []testCase{{"refused-names", "a mutation with a malformed name is invalid wherever the name stands, and one with the longest names is not", tx, sweepMalformed}}
	for _, r := range refusedParts {
		cases = append(cases, testCase{"refused-" + r.name, "a mutation that " + r.says + " is invalid, and nothing of it happens", tx, func(w *world) {
			w.prepareRefusal()
			for _, m := range r.refused() {
				w.refuses(m)
			}
			if r.valid != nil {
				for _, m := range r.valid() {
					w.passes(m)
				}
			}
		}})
	}
	return cases
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

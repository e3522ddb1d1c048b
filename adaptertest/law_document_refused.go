package adaptertest

import (
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// refusals are mutations that no state makes possible: of each rule of
// [driver.Mutation.Validate] one or several, in a memory that has the entry "a".
var refusals = []struct {
	name, says string
	make       func() []driver.Mutation
}{
	{"foreign-scope", "names a scope of another tenant", func() []driver.Mutation {
		foreign := at("globex", "support")
		return []driver.Mutation{
			{Live: located(foreign, "a")}, {Put: []driver.Placed{{Scope: foreign, Entry: plainEntry("b")}}}, retired(retire(foreign, "a", driver.Deleted, "")),
			{Restore: located(foreign, "a")}, {Erase: located(foreign, "a")}, acts(driver.Set, note(foreign, "n", "")), acts(driver.Remove, note(foreign, "n", "")),
		}
	}},
	{"twice", "names a document twice", func() []driver.Mutation {
		return []driver.Mutation{acts(driver.Set, note(home, "n", "x"), note(home, "n", "y")), acts(driver.Check, note(home, "n", ""), note(home, "n", ""))}
	}},
	{"names", "has a document of malformed names", malformed},
	{"subjects", "has host text of malformed subjects", func() []driver.Mutation {
		var all []driver.Mutation
		for _, label := range []string{"", "a\x00", "\xff", strings.Repeat("s", driver.MaxLabelBytes+1)} {
			all = append(all, acts(driver.Set, file(home, "f", "fine", label)))
		}
		return all
	}},
	{"long-names", "has a name that is too long", func() []driver.Mutation {
		long := at(home.Tenant, strings.Repeat("r", driver.MaxRefBytes+1))
		return []driver.Mutation{
			acts(driver.Set, note(long, "n", "")), {Live: located(long, "a")}, {Put: []driver.Placed{{Scope: home, Entry: plainEntry("")}}},
			{Put: []driver.Placed{{Scope: home, Entry: plainEntry(strings.Repeat("i", driver.MaxIDBytes+1))}}},
		}
	}},
	{"due", "has content or host text that is due, or an instant between two milliseconds", func() []driver.Mutation {
		c, h, n := digest(home, "d", "a"), file(home, "f"), note(home, "n", "")
		c.Due, h.Due, n.Due = epoch, epoch, epoch.Add(time.Microsecond)
		return []driver.Mutation{acts(driver.Set, c), acts(driver.Set, h), acts(driver.Set, n)}
	}},
	{"of", "has content of nothing or of no ref, or other documents that are made of entries", func() []driver.Mutation {
		m, h := note(home, "n", ""), file(home, "f")
		m.Of, h.Of = []string{"a"}, []string{"a"}
		return []driver.Mutation{acts(driver.Set, digest(home, "d")), acts(driver.Set, digest(at(home.Tenant, ""), "d", "a")), acts(driver.Set, m), acts(driver.Set, h)}
	}},
	{"labelled", "has machinery or content with subjects", func() []driver.Mutation {
		m, c := note(home, "n", ""), digest(home, "d", "a")
		m.Subjects, c.Subjects = []string{"customer:1"}, []string{"customer:1"}
		return []driver.Mutation{acts(driver.Set, m), acts(driver.Set, c)}
	}},
	{"swap", "has a swap that there is not: a retained document that is not there, a revision below 0, an unknown act or class", func() []driver.Mutation {
		below, class := note(home, "n", ""), note(home, "n", "")
		below.Rev, class.Class = -1, driver.HostText+1
		return []driver.Mutation{acts(driver.Retain, note(home, "n", "")), acts(driver.Set, below), acts(driver.Set, class), acts(driver.Remove+1, note(home, "n", ""))}
	}},
	{"retirement", "retires in favour of nothing or of itself, deletes in favour of an entry, or retires to no state", func() []driver.Mutation {
		return []driver.Mutation{
			retired(retire(home, "a", driver.Merged, "")), retired(retire(home, "a", driver.Superseded, "a")),
			retired(retire(home, "a", driver.Deleted, "b")), retired(retire(home, "a", driver.Live, "")),
		}
	}},
	{"value", "has a value that is too large", func() []driver.Mutation {
		d := note(home, "n", "")
		d.Value = make([]byte, driver.MaxDocumentBytes+1)
		return []driver.Mutation{acts(driver.Set, d)}
	}},
	{"event", "has an event without a payload", func() []driver.Mutation {
		return []driver.Mutation{queue(events.Record{ID: "ev", Tenant: home.Tenant, RunID: "run-1", Time: epoch})}
	}},
	{"foreign-event", "has an event of another tenant, or one whose names are malformed", func() []driver.Mutation {
		var all []driver.Mutation
		for _, change := range []func(*events.Record){
			func(e *events.Record) { e.Tenant = "globex" },
			func(e *events.Record) { e.ID = "" },
			func(e *events.Record) { e.RunID = strings.Repeat("r", driver.MaxRunBytes+1) },
			func(e *events.Record) { e.NodeID = "a\nb" },
		} {
			e := events.Record{ID: "named", Tenant: home.Tenant, RunID: "run-1", Time: epoch, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}}
			change(&e)
			all = append(all, queue(e))
		}
		return all
	}},
}

func plainEntry(id string) driver.Entry { return driver.Entry{ID: id, CreatedAt: epoch} }

// malformed makes notes whose kind, key and group are malformed in turn.
func malformed() []driver.Mutation {
	var all []driver.Mutation
	for _, n := range documentNames[2:5] {
		for _, name := range []string{"a\nb", "\x00", "\x7f", "a\xff", strings.Repeat("n", driver.MaxKeyBytes+1)} {
			d := note(home, "n", "")
			n.set(&d, name)
			all = append(all, acts(driver.Set, d))
		}
	}
	nameless, kindless, long := note(home, "", ""), note(home, "n", ""), note(home, "n", "")
	kindless.Kind, long.Kind = "", strings.Repeat("k", driver.MaxKindBytes+1)
	return append(all, acts(driver.Set, nameless), acts(driver.Check, kindless), acts(driver.Remove, long))
}

func refusedCases() []testCase {
	var cases []testCase
	for _, r := range refusals {
		cases = append(cases, testCase{"refused-" + r.name, "a mutation that " + r.says + " is invalid, and nothing of it happens", []Offer{Transactor},
			func(w *world) { refuses(w, r.make()) }})
	}
	return cases
}

// refuses applies the mutations together with something that could be done.
func refuses(w *world, all []driver.Mutation) {
	w.puts(home, "a")
	w.puts(at("globex", "support"), "a")
	long := at(strings.Repeat("t", driver.MaxTenantBytes+1), "support")
	_, err := w.tryApply(long.Tenant, driver.Mutation{Put: w.placed(long, "a")})
	w.mustBe(err, driver.ErrValidation)
	for _, m := range all {
		m.Put = append(w.placed(home, "new"), m.Put...)
		m.Documents = append(acts(driver.Set, note(home, "new", "x")).Documents, m.Documents...)
		m.Events = append(m.Events, w.event("run-1", "new"))
		_, err := w.tryApply(home.Tenant, m)
		w.mustBe(err, driver.ErrValidation)
		w.lists(home, "a")
		w.lists(at("globex", "support"), "a")
		w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true})
		w.yields(driver.DocumentQuery{Tenant: "globex", EveryRef: true})
		w.waiting(home.Tenant, "run-1")
	}
}

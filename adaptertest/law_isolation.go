package adaptertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func isolationLaw() law {
	l := law{name: "CTI-1", number: "M1", says: "a scope is the exact pair of tenant and ref, byte for byte"}
	l.cases = slices.Concat(
		throughReaders("foreign-tenant", "no read shows an entry of another tenant, whatever its name looks like", readForeignTenant),
		throughReaders("foreign-ref", "no read shows an entry of another ref, whatever its name looks like", readForeignRef),
		[]testCase{
			{"foreign-tenant-error", "an id that another tenant holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("globex", "support")) }},
			{"foreign-ref-error", "an id that another ref holds cannot be told from an absent one, in the error text neither", nil, func(w *world) { foreignError(w, at("acme", "sales")) }},
			{"foreign-tenant-delete", "an id that another tenant holds cannot be deleted", nil, func(w *world) { foreignDelete(w, at("globex", "support")) }},
			{"foreign-ref-delete", "an id that another ref holds cannot be deleted", nil, func(w *world) { foreignDelete(w, at("acme", "sales")) }},
			{"foreign-put", "an id that another scope holds is free", nil, foreignPut},
			{"joined-names", "the names of tenant and ref are never run together", nil, joinedNames},
			{"long-names", "names that differ in their last byte only are different, at any length", nil, longNames},
			{"unknown-scope", "a scope that was never written reads as empty", nil, unknownScope},
			{"foreign-mutation", "a mutation finds no entry of another scope", []Offer{Transactor}, foreignMutation},
			{"foreign-erase", "erasing an id in one scope leaves it alone in every other", []Offer{Transactor}, foreignErase},
			{"foreign-successor", "an entry is retired in favour of one of its own ref only", []Offer{Transactor}, foreignSuccessor},
			{"foreign-lookup", "a lookup finds no record of another scope", []Offer{Transactor}, foreignLookup},
			{"foreign-history", "a history has no record of another tenant, nor of another ref than the one it is asked for", []Offer{Transactor}, foreignHistory},
			{"foreign-document", "a document belongs to its scope, and a tenant's own to the tenant", []Offer{Transactor}, foreignDocument},
			{"foreign-due", "what is due is machinery of its own tenant, one of many", []Offer{Transactor, Scheduler}, foreignDue},
			{"foreign-changes", "what has changed in a scope is nothing of another", []Offer{Transactor, Versioned, Changes}, foreignChanges},
			{"foreign-events", "the outbox of one tenant has no event of another", []Offer{Transactor}, foreignEvents},
			{"foreign-waiting", "the events that wait are counted for their own tenant", []Offer{Transactor}, foreignWaiting},
			{"foreign-delivered", "delivering an event leaves another tenant's of the same run and id", []Offer{Transactor}, foreignDelivered},
			{"foreign-version", "a version of one tenant does not read another's memory", []Offer{Transactor, Versioned}, foreignVersion},
			{"foreign-intact", "erasing in one tenant or ref leaves the versions of others intact", []Offer{Transactor, Versioned}, foreignIntact},
			{"foreign-purge", "purging one tenant leaves every other as it is", []Offer{Transactor, Versioned}, foreignPurge},
		})
	return l
}

// lookalikes are names that a careless store takes for each other: prefixes,
// patterns, separators, case, spaces, and Unicode forms of the same letters.
var lookalikes = []string{
	"a", "ab", "A", "a_b", "a%b", "a%", "a*", "a?b", "[a]", "a.b", ".", "a/b", "a/", "/a", "a:b", "a|b", `a\b`, "a'b", `a"b`, "a;b",
	"a b", "a  b", " a", "a ", "é", "e\u0301", "\ufb01", "fi", "ß", "SS", "ss", "ı", "i", "İ", "I", "日本", "null", "0", "00", "%61", "a\u200b",
}

func readForeignTenant(w *world, r reader) {
	w.puts(at("acme", "support"), "mine")
	w.puts(at("globex", "support"), "theirs")
	w.sameIDs(r.read(w, at("acme", "support"), []string{"mine", "theirs"}), []string{"mine"})
	readLookalikes(w, r, func(name string) driver.Scope { return at(name, "lookalikes") })
}

func readForeignRef(w *world, r reader) {
	w.puts(at("acme", "support"), "here")
	w.puts(at("acme", "sales"), "there")
	w.sameIDs(r.read(w, at("acme", "support"), []string{"here", "there"}), []string{"here"})
	readLookalikes(w, r, func(name string) driver.Scope { return at("lookalikes", name) })
}

// readLookalikes puts an entry of its own into each scope: one id that all have, and
// one that no other has.
func readLookalikes(w *world, r reader, scope func(name string) driver.Scope) {
	own := func(i int) string { return fmt.Sprintf("own-%02d", i) }
	for i, name := range lookalikes {
		e := w.entry("same")
		e.Content = fmt.Sprint("belongs to name ", i)
		w.put(scope(name), e)
		w.puts(scope(name), own(i))
	}
	all := []string{"same"}
	for i := range lookalikes {
		all = append(all, own(i))
	}
	for i, name := range lookalikes {
		got := r.read(w, scope(name), all)
		slices.SortFunc(got, func(a, b driver.Entry) int { return strings.Compare(b.ID, a.ID) })
		w.sameIDs(got, []string{"same", own(i)})
		want := fmt.Sprint("belongs to name ", i)
		w.check(got[0].Content == want, want, "%s", got[0].Content)
	}
}

func foreignError(w *world, foreign driver.Scope) {
	w.puts(home, "mine")
	w.puts(foreign, "theirs")
	_, absent := w.tryGet(home, "never")
	_, err := w.tryGet(home, "theirs")
	w.mustBe(err, driver.ErrNotFound)
	w.check(absent != nil && err.Error() == absent.Error(), describeError(absent), "%s", describeError(err))
}

func foreignDelete(w *world, foreign driver.Scope) {
	w.puts(home, "mine")
	w.puts(foreign, "theirs")
	w.delete(home, "theirs", false)
	w.lists(foreign, "theirs")
}

func foreignPut(w *world) {
	for _, s := range []driver.Scope{home, at("globex", "support"), at("acme", "sales")} {
		e := w.entry("same")
		e.Content = "of " + s.Tenant + s.Ref
		w.put(s, e)
		w.get(s, e)
	}
}

// joinedNames writes to scopes whose names are the same once they are joined by a
// separator, or by none.
func joinedNames(w *world) {
	for _, sep := range []string{"", "/", ":", "::", "|", "#", ".", "-", "_", ",", " ", "%", "\\", "\u241f"} {
		x, y := at("a"+sep+"b", "c"), at("a", "b"+sep+"c")
		one, other := w.entry("one"+sep), w.entry("other"+sep)
		w.put(x, one)
		w.put(y, other)
		w.lists(x, one.ID)
		w.lists(y, other.ID)
		w.delete(x, other.ID, false)
	}
}

func longNames(w *world) {
	long := strings.Repeat("x", 255)
	wide := strings.Repeat("\U0001F9E0", 255) // a ref has 256 characters, of any width
	pairs := [][2]driver.Scope{
		{at(long+"1", "support"), at(long+"2", "support")},
		{at("acme", long+"1"), at("acme", long+"2")},
		{at("acme", wide+"\U0001F9E0"), at("acme", wide+"\U0001F9E1")},
	}
	for _, pair := range pairs {
		one, other := w.entry("one"), w.entry("other")
		w.put(pair[0], one)
		w.put(pair[1], other)
		w.lists(pair[0], "one")
		w.lists(pair[1], "other")
	}
}

func unknownScope(w *world) {
	w.lists(at("nobody", "support"))
	w.absent(at("nobody", "support"), "any")
	w.delete(at("nobody", "support"), "any", false)
	w.puts(home, "mine")
	w.lists(at("acme", "nothing"))
	w.absent(at("acme", "nothing"), "mine")
	w.delete(at("acme", "nothing"), "mine", false)
}

func foreignMutation(w *world) {
	for _, foreign := range []driver.Scope{at("globex", "support"), at("acme", "sales")} {
		w.puts(foreign, "theirs", "gone")
		w.apply(retired(retire(foreign, "gone", driver.Merged, "theirs")))
	}
	w.conflicts(driver.Mutation{Live: located(home, "theirs")})
	w.conflicts(retired(retire(home, "theirs", driver.Deleted, "")))
	w.conflicts(driver.Mutation{Restore: located(home, "gone")})
}

func foreignErase(w *world) {
	scopes := []driver.Scope{home, at("globex", "support"), at("acme", "sales")}
	for _, s := range scopes {
		w.puts(s, "same")
	}
	w.apply(driver.Mutation{Erase: located(home, "same")})
	w.lists(home)
	w.lists(scopes[1], "same")
	w.lists(scopes[2], "same")
}

func foreignSuccessor(w *world) {
	w.puts(home, "old")
	w.puts(at("acme", "sales"), "new")
	w.puts(at("globex", "support"), "new")
	w.conflicts(retired(retire(home, "old", driver.Superseded, "new")))
}

func foreignLookup(w *world) {
	w.puts(at("globex", "support"), "theirs")
	w.puts(at("acme", "sales"), "theirs")
	w.puts(home, "mine")
	w.purged(home, "theirs")
}

func foreignHistory(w *world) {
	for _, s := range []driver.Scope{home, at("acme", "sales"), at("globex", "support")} {
		e := w.entry("of " + s.Tenant + s.Ref)
		e.Subjects = []string{"customer:1"}
		w.put(s, e)
		w.puts(s, "new", "old of "+s.Tenant+s.Ref)
		w.apply(retired(retire(s, "old of "+s.Tenant+s.Ref, driver.Merged, "new")))
	}
	w.remembers("acme", driver.HistoryQuery{Ref: "support"}, "of acmesupport", "old of acmesupport", "new")
	w.remembers("acme", driver.HistoryQuery{Subject: "customer:1"}, "of acmesupport", "of acmesales")
	w.remembers("acme", driver.HistoryQuery{Ref: "sales", Subject: "customer:1"}, "of acmesales")
	w.remembers("acme", driver.HistoryQuery{Ref: "support", For: []string{"new"}}, "old of acmesupport")
	w.remembers("nobody", driver.HistoryQuery{})
}

func foreignDocument(w *world) {
	scopes := []driver.Scope{home, at("acme", ""), at("acme", "sales"), at("globex", "support"), at("globex", "")}
	var docs []driver.Document
	for _, s := range scopes {
		docs = append(docs, w.set(note(s, "lease", "of "+describeScope(s))))
	}
	for i, d := range docs {
		w.holds(d)
		for k, other := range docs {
			if i != k {
				d.Rev = other.Rev
				w.conflicts(acts(driver.Set, d))
			}
		}
	}
	w.lacks(note(at("globex", "sales"), "lease", ""))
}

func foreignDue(w *world) {
	for _, tenant := range []string{"acme", "globex"} {
		w.set(timer(at(tenant, "support"), "same", w.now))
	}
	w.removes(w.documents(driver.DocumentQuery{Tenant: "acme", Ref: "support"})[0])
	w.isDue("timer", 10, "globex support/timer/same")
}

func foreignChanges(w *world) {
	sales := at("acme", "sales")
	from := w.version("acme")
	w.puts(home, "mine")
	w.puts(sales, "theirs", "gone")
	w.delete(sales, "gone", true)
	w.puts(at("globex", "support"), "theirs")
	to := w.version("acme")
	w.changed(home, from, to, driver.ChangeSet{Put: []string{"mine"}})
	w.changed(at("acme", "nothing"), from, to, driver.ChangeSet{})
	w.did("ask what has changed in another tenant between the same")
	_, err := w.changes.Changes(w.ctx, at("globex", "support"), from, to)
	w.mustBe(err, driver.ErrSnapshotUnavailable)
}

func foreignWaiting(w *world) {
	w.queueForAll()
	w.apply(queue(w.event("run-3", "one more")))
	w.counts("acme", 100, 5)
	w.counts("globex", 100, 4)
	w.counts("Acme", 100, 0)
}

func foreignEvents(w *world) {
	for _, tenant := range []string{"acme", "acme2", "Acme"} {
		e := w.event("run-1", "event of "+tenant)
		e.Tenant = tenant
		_, err := w.tryApply(tenant, driver.Mutation{Events: []events.Record{e}})
		w.must(err)
	}
	w.waiting("acme", "run-1", "event of acme")
	w.waiting("Acme", "run-1", "event of Acme")
}

func foreignDelivered(w *world) {
	mine, theirs := w.event("run-1", "same"), w.event("run-1", "same")
	theirs.Tenant = "globex"
	w.apply(driver.Mutation{Events: []events.Record{mine}})
	_, err := w.tryApply("globex", driver.Mutation{Events: []events.Record{theirs}})
	w.must(err)
	w.delivered(mine)
	w.waiting("acme", "run-1")
	w.waiting("globex", "run-1", "same")
}

func foreignVersion(w *world) {
	w.puts(home, "mine")
	w.puts(at("globex", "support"), "theirs")
	v := w.version("acme")
	empty := w.version("nobody")
	_, err := w.tryListAt(at("nobody else", "support"), empty, driver.Query{At: w.now})
	w.mustBe(err, driver.ErrSnapshotUnavailable)
	for _, tenant := range []string{"globex", "nobody"} {
		_, err := w.tryListAt(at(tenant, "support"), v, driver.Query{At: w.now})
		w.mustBe(err, driver.ErrSnapshotUnavailable)
		_, err = w.tryGetAt(at(tenant, "support"), v, "theirs")
		w.mustBe(err, driver.ErrSnapshotUnavailable)
		w.did("ask whether it is intact for %s", tenant)
		_, err = w.versions.Intact(w.ctx, at(tenant, "support"), v)
		w.mustBe(err, driver.ErrSnapshotUnavailable)
	}
}

func foreignIntact(w *world) {
	w.puts(home, "mine")
	w.puts(at("globex", "support"), "theirs")
	w.puts(at("acme", "sales"), "theirs")
	v := w.version("acme")
	w.apply(driver.Mutation{Erase: located(at("globex", "support"), "theirs")})
	w.intact(home, v, true)
	w.apply(driver.Mutation{Erase: located(at("acme", "sales"), "theirs")})
	w.intact(home, v, true)
	w.intact(at("acme", "nothing"), v, true)
	w.intact(at("acme", "sales"), v, false)
}

func foreignPurge(w *world) {
	other := at("globex", "support")
	for _, s := range []driver.Scope{home, other} {
		w.puts(s, "kept", "deleted")
	}
	early := w.version("globex")
	for _, s := range []driver.Scope{home, other} {
		w.delete(s, "deleted", true)
	}
	w.purge("acme", w.version("acme"))
	w.listsAt(other, early, "kept", "deleted")
	w.record(other, "deleted")
}

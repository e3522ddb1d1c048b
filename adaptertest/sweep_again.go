package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// sweepAgain makes one change of each kind, and all reads before it and behind it with the
// same words, by each of the handles that open gives. An answer that a store has kept is
// found out, whatever change it did not hear of.
func sweepAgain(w *world, open func() []driver.Adapter) {
	handles := open()
	all := func(read func()) {
		for _, s := range handles {
			w.use(s)
			read()
		}
		w.use(handles[0])
	}
	after := func(change func()) {
		for _, do := range []func(){func() {}, change} {
			do()
			all(func() {
				w.readAgain()
				w.audit()
			})
		}
	}
	w.fillAgain()
	after(func() { w.puts(home, "put") })
	after(func() { w.puts(at(home.Tenant, "another"), "put") })
	after(func() { w.delete(home, "b", true) })
	if w.level == LevelAdapter {
		return
	}
	for _, m := range []driver.Mutation{
		retired(retire(home, "m", driver.Merged, "a")), retired(retire(home, "s", driver.Superseded, "a")), {Restore: located(home, "m")},
		{Put: append(w.placed(home, "put by a mutation"), w.placed(at(home.Tenant, "a third"), "put")...)}, {Erase: located(home, "e", "s")}, {Live: located(home, "a")},
		acts(driver.Set, note(at(home.Tenant, "a fourth"), "another", "x")), acts(driver.Set, file(at(home.Tenant, ""), "f", "customer:1")), queue(w.event("run-1", "two")),
	} {
		after(func() { w.apply(m) })
	}
	named := func(kind string) driver.Document {
		return w.ref.tenant(home.Tenant).documents[documentName{home.Ref, kind, kind}]
	}
	after(func() { d := named("timer"); d.Due = w.now.Add(time.Hour); w.retains(d) })
	after(func() { w.removes(named("note")) })
	after(func() { w.delivered(w.event("run-1", "one")) })
	if w.kept != nil {
		after(func() { w.emit(w.event("run-1", "three")) })
		after(func() { w.apply(logged(w.event("run-1", "four"))) })
		after(func() { w.emit(w.event("run-1", "five")) })
	}
	if w.level == LevelVersioned {
		after(func() { w.delete(at(home.Tenant, "another"), "put", true) })
		old := w.heldOf(home.Tenant)
		after(func() { w.purge(home.Tenant, w.version(home.Tenant)) })
		all(func() { w.refusedAgain(old) })
	}
	if w.tenants == nil {
		return
	}
	w.restart()
	handles = open()
	w.fillAgain()
	own, _ := w.known(home.Tenant)
	old := w.held
	all(w.readAgain)
	all(w.audit)
	w.drop(home.Tenant, 1000, 3)
	all(func() {
		w.auditScope(home, own[home.Ref], nil)
		w.auditRecords(home, own[home.Ref], nil)
		w.auditDocuments(home.Tenant)
		w.readAgain()
		w.refusedAgain(old)
		w.audit()
	})
}

// fillAgain makes something of each kind.
func (w *world) fillAgain() {
	e := w.entry("a")
	e.Tags, e.Subjects = []string{"tag"}, []string{"customer:1"}
	w.put(home, e)
	w.puts(home, "b", "m", "s", "e")
	w.puts(at("globex", home.Ref), "a")
	if w.level == LevelAdapter {
		return
	}
	w.sets(note(home, "note", "x"), timer(home, "timer", w.now), timer(at(home.Tenant, ""), "timer", w.now),
		digest(home, "d", "e"), digest(home, "c", "b"), file(home, "f", "customer:1"))
	w.apply(queue(w.event("run-1", "one")))
	if w.kept != nil {
		w.emit(w.event("run-1", "logged"))
	}
}

// readAgain reads with words that do not change what an audit asks for by others each time.
// It asks for nothing that could be refused: a store may forget what it kept then.
func (w *world) readAgain() {
	for _, tags := range [][]string{nil, {"tag"}} {
		q := driver.Query{At: w.now, Limit: 100, Tags: tags}
		want := w.ref.list(home, -1, q)
		w.unnoted(func() { w.sameEntries(w.list(home, q), want) })
	}
	if w.level != LevelAdapter {
		names := []string{"a", "b", "m", "s", "e", "put", "put by a mutation"}
		var want []driver.Record
		for _, id := range names {
			if held := w.ref.tenant(home.Tenant).find(home.Ref, id); held != nil {
				want = append(want, held.Record)
			}
		}
		w.unnoted(func() { w.sameRecords(w.lookUp(home, names...), want) })
		waiting := w.ref.undelivered(home.Tenant, "run-1")
		w.unnoted(func() { w.sameOutbox(w.undelivered(home.Tenant, "run-1"), waiting) })
		for _, tenant := range []string{home.Tenant, ""} {
			w.unnoted(func() { w.counts(tenant, 100, len(waiting)) })
		}
		if w.scheduler != nil {
			w.unnoted(func() { w.sameDue(w.due("timer", w.now, 100), w.ref.due("timer", w.now)) })
		}
		w.unnoted(func() { w.auditLog(home.Tenant) })
	}
	if w.tenants != nil {
		w.unnoted(func() { w.listed(driver.Scope{}, w.ref.scopes()...) })
	}
	if w.level == LevelVersioned {
		w.unnoted(func() { w.version(home.Tenant) })
		for _, h := range w.heldOf(home.Tenant) {
			w.unnoted(func() { w.getAt(home, h.store, "a") })
		}
	}
}

// refusedAgain expects that versions are refused with the words by which they were read.
func (w *world) refusedAgain(held []heldVersion) {
	for _, h := range held {
		if h.tenant == home.Tenant && h.number < w.ref.tenant(home.Tenant).horizon {
			w.unnoted(func() { w.refused(home, h.store) })
		}
	}
}

package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// contentCases are about what documents are made of.
func contentCases() []testCase {
	tx := []Offer{Transactor}
	return []testCase{
		{"content-needs-entries", "content can be made only of entries that its ref holds and has not erased", tx, contentNeedsEntries},
		{"content-of-any-state", "content can be made of retired and expired entries, and of such as its mutation puts", tx, contentOfAnyState},
		{"content-erased", "content goes in the mutation that erases any entry that it is made of", tx, contentGoesWithEntries},
		{"content-stays", "content stays when its entries are deleted, merged, restored or put again, and when others are erased", tx, contentStays},
		{"content-remade", "content goes with what it is made of now, not with what it was made of", tx, contentRemade},
		{"content-retained", "content that a mutation retains goes all the same if the mutation erases what it was made of", tx, contentRetained},
		{"content-purged", "a purge removes content with the entry, and leaves that of entries which stay", []Offer{Transactor, Versioned}, contentPurged},
		{"whole-erased", "content of a whole ref goes in the mutation that erases any entry of it, and with nothing else", tx, wholeErased},
		{"whole-purged", "a purge that removes a record removes the content of the whole ref with it", []Offer{Transactor, Versioned}, wholePurged},
		{"whole-in-two", "content of a whole ref has its value from its second revision on, which an erasure in between refuses", tx, wholeInTwo},
		{"named-twice", "an entry, and a subject, that a document names twice counts once", tx, namedTwice},
		{"host-text", "host text is found by each of its subjects, those that it has now", tx, hostTextBySubject},
	}
}

// whole is content of a whole ref.
func whole(s driver.Scope, key string) driver.Document {
	return driver.Document{Scope: s, Class: driver.Content, Kind: "whole", Key: key, Whole: true}
}

// setWhole stores content of a whole ref, with its value.
func (w *world) setWhole(s driver.Scope, key string) driver.Document {
	d := w.set(whole(s, key))
	d.Value = []byte("made of all of " + s.Ref)
	return w.set(d)
}

func wholeErased(w *world) {
	sales, foreign := at(home.Tenant, "sales"), at("globex", home.Ref)
	for _, s := range []driver.Scope{home, sales, foreign} {
		w.puts(s, "a", "b", "c")
	}
	w.setWhole(home, "d")
	w.setWhole(home, "e")
	stays, theirs := w.setWhole(sales, "d"), w.setWhole(foreign, "d")
	w.puts(home, "new")
	w.delete(home, "b", true)
	w.apply(retired(retire(home, "c", driver.Merged, "a")))
	w.apply(driver.Mutation{Restore: located(home, "c")})
	w.apply(driver.Mutation{Erase: located(home, "never")})
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref}, "support/whole/d", "support/whole/e")
	w.apply(driver.Mutation{Erase: located(home, "b")})
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref})
	w.holds(stays)
	w.holds(theirs)
	again := w.setWhole(home, "d")
	w.apply(driver.Mutation{Erase: located(home, "b")}) // which is erased
	w.holds(again)
	w.apply(driver.Mutation{Erase: located(sales, "a")})
	w.holds(again)
	again.Group = "group"
	w.holds(w.retains(again))
}

func wholePurged(w *world) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "a", "b")
	w.puts(sales, "a")
	d, stays := w.setWhole(home, "d"), w.setWhole(sales, "d")
	w.purge(home.Tenant, w.version(home.Tenant))
	w.holds(d)
	w.delete(home, "b", true)
	w.holds(d)
	w.purge(home.Tenant, w.version(home.Tenant))
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, "sales/whole/d")
	w.holds(stays)
	w.apply(driver.Mutation{Erase: located(home, "a")})
	d = w.setWhole(home, "d")
	w.purge(home.Tenant, w.version(home.Tenant)) // of what was erased before the document was made
	w.holds(d)
}

func wholeInTwo(w *world) {
	w.puts(home, "a", "b")
	m := acts(driver.Set, whole(home, "d"))
	m.Documents[0].Value = []byte("made of all")
	_, err := w.tryApply(home.Tenant, m)
	w.mustBe(err, driver.ErrValidation)
	d := w.set(whole(home, "d"))
	w.apply(driver.Mutation{Erase: located(home, "a")})
	d.Value = []byte("made of all, and of what is erased")
	w.conflicts(acts(driver.Set, d))
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true})
}

func contentNeedsEntries(w *world) {
	w.puts(home, "a", "erased")
	w.puts(at("acme", "sales"), "elsewhere")
	w.puts(at("globex", "support"), "foreign")
	w.apply(driver.Mutation{Erase: located(home, "erased")})
	d := w.set(digest(home, "held", "a"))
	for _, id := range []string{"never", "erased", "elsewhere", "foreign", "A"} {
		w.conflicts(acts(driver.Set, digest(home, "d", id)))
		w.conflicts(acts(driver.Set, digest(home, "d", "a", id)))
		other := d
		other.Of = []string{"a", id}
		w.conflicts(acts(driver.Retain, other))
	}
	m := acts(driver.Set, digest(home, "d", "a"))
	m.Erase = located(home, "a")
	w.conflicts(m)
	w.holds(d)
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, "support/digest/held")
	w.lists(home, "a")
}

func contentOfAnyState(w *world) {
	w.puts(home, "new", "merged", "superseded", "deleted")
	w.put(home, w.mortal("expired", time.Millisecond))
	w.apply(retired(retire(home, "merged", driver.Merged, "new"), retire(home, "superseded", driver.Superseded, "new"), retire(home, "deleted", driver.Deleted, "")))
	w.advance(time.Millisecond)
	for _, id := range []string{"new", "merged", "superseded", "deleted", "expired"} {
		w.holds(w.set(digest(home, id, id)))
	}
	m := acts(driver.Set, digest(home, "put", "put", "new"))
	m.Put = w.placed(home, "put")
	w.holds(w.commits(m)[0])
}

func contentGoesWithEntries(w *world) {
	for _, id := range []string{"a", "b", "c"} {
		w.puts(home, id+"1", id+"2", id+"3")
		docs := w.sets(digest(home, "all", id+"1", id+"2", id+"3"), digest(home, "one", id+"2"), digest(home, "other", id+"3"), note(home, id+"2", ""))
		if id == "b" {
			w.delete(home, "b2", true)
		}
		if id == "c" {
			w.apply(retired(retire(home, "c2", driver.Merged, "c1")))
		}
		w.apply(driver.Mutation{Erase: located(home, id+"2")})
		w.lacks(docs[0])
		w.lacks(docs[1])
		w.holds(docs[2])
		w.removes(docs[2])
		w.removes(docs[3])
	}
	docs := w.sets(digest(home, "a", "a1"), digest(home, "c", "c1", "a1"))
	w.apply(driver.Mutation{Erase: located(home, "never", "a1", "c1")})
	w.lacks(docs[0])
	w.lacks(docs[1])
	empty := digest(home, "empty", "b3")
	empty.Value = nil
	empty = w.set(empty)
	w.apply(driver.Mutation{Erase: located(home, "b3")})
	w.lacks(empty)
	anew := w.set(digest(home, "c", "c3"))
	w.check(anew.Rev > docs[1].Rev, "a revision above that of the document that went", "another one")
}

func contentStays(w *world) {
	w.puts(home, "a", "b", "c", "d")
	docs := w.sets(digest(home, "d", "a", "b", "c"), note(home, "d", "x"), file(home, "d", "a"))
	w.delete(home, "a", true)
	w.apply(retired(retire(home, "b", driver.Merged, "d"), retire(home, "c", driver.Deleted, "")))
	w.apply(driver.Mutation{Restore: located(home, "b")})
	w.puts(home, "a", "b")
	w.apply(driver.Mutation{Erase: located(home, "d")})
	for _, d := range docs {
		w.holds(d)
	}
}

func contentRemade(w *world) {
	w.puts(home, "a", "b", "c")
	docs := w.sets(digest(home, "set", "a", "c"), digest(home, "retained", "a", "c"))
	docs[0].Of, docs[1].Of = []string{"b"}, []string{"b"}
	docs = []driver.Document{w.set(docs[0]), w.retains(docs[1])}
	w.apply(driver.Mutation{Erase: located(home, "a")})
	w.holds(docs[0])
	w.holds(docs[1])
	w.apply(driver.Mutation{Erase: located(home, "b")})
	w.lacks(docs[0])
	w.lacks(docs[1])
}

func contentRetained(w *world) {
	w.puts(home, "a", "b")
	d := w.set(digest(home, "d", "a"))
	remade := d
	remade.Of = []string{"b"}
	m := acts(driver.Retain, remade)
	m.Erase = located(home, "a")
	w.apply(m)
	w.lacks(d)
	w.lists(home, "b")
}

func contentPurged(w *world) {
	sales := at(home.Tenant, "sales")
	w.puts(home, "kept", "deleted", "merged", "later", "new")
	w.put(home, w.mortal("expired", time.Millisecond))
	w.puts(sales, "deleted")
	docs := w.sets(digest(home, "1 kept", "kept"), digest(home, "2 merged", "merged"), digest(home, "3 later", "later"), digest(sales, "4", "deleted"),
		digest(home, "5 deleted", "deleted"), digest(home, "6 expired", "expired"), digest(home, "7 both", "kept", "deleted"), note(home, "deleted", ""))
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", driver.Merged, "new")))
	v := w.version(home.Tenant)
	w.delete(home, "later", true)
	w.delete(sales, "deleted", true)
	w.advance(time.Millisecond)
	w.purge(home.Tenant, v)
	for i, d := range docs {
		if i < 4 || i == 7 {
			w.holds(d)
		} else {
			w.lacks(d)
		}
	}
}

func namedTwice(w *world) {
	w.puts(home, "a", "b")
	docs := w.sets(digest(home, "set", "a", "b", "a"), digest(home, "retained", "b"), file(home, "f", "customer:1", "customer:2", "customer:1"), file(home, "g"))
	docs[1].Of, docs[3].Subjects = []string{"b", "a", "a"}, []string{"customer:1", "customer:1"}
	docs = []driver.Document{docs[0], w.retains(docs[1]), docs[2], w.retains(docs[3])}
	for _, d := range docs {
		w.holds(d)
	}
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Subject: "customer:1"}, "support/file/f", "support/file/g")
	w.apply(driver.Mutation{Erase: located(home, "a")})
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}, "support/file/f", "support/file/g")
}

func hostTextBySubject(w *world) {
	w.puts(home, "a")
	docs := w.sets(file(home, "f", "customer:1", "customer:2"), file(at("acme", "sales"), "g", "customer:1"), file(at("acme", ""), "h", "customer:2"), file(home, "i"))
	find := func(subject string, want ...string) {
		w.yields(driver.DocumentQuery{Tenant: "acme", EveryRef: true, Subject: subject}, want...)
	}
	find("customer:1", "sales/file/g", "support/file/f")
	find("customer:2", "/file/h", "support/file/f")
	find("a")
	docs[0].Subjects, docs[1].Subjects = []string{"customer:2", "customer:3"}, nil
	w.set(docs[0])
	w.retains(docs[1])
	find("customer:1")
	find("customer:3", "support/file/f")
	w.removes(docs[2])
	find("customer:2", "support/file/f")
	w.apply(driver.Mutation{Erase: located(home, "a")})
	find("customer:2", "support/file/f")
	for _, store := range []func(driver.Document) driver.Document{w.set, w.retains} {
		d := file(home, "emptied", "customer:9")
		d.Group = "group"
		d = w.set(d)
		d.Group, d.Subjects = "", nil
		d = store(d)
		w.holds(d)
		find("customer:9")
		w.yields(driver.DocumentQuery{Tenant: "acme", EveryRef: true, Group: "group"})
		w.removes(d)
	}
}

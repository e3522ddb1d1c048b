package adaptertest

import (
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func forgetLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "FORGET", number: "M10", says: "what is erased is gone everywhere, and nothing else is"}
	for _, c := range throughReaders("erased", "no read shows what was erased", readErased) {
		c.needs = append([]Offer{Transactor}, c.needs...)
		l.cases = append(l.cases, c)
	}
	l.cases = append(l.cases, []testCase{
		{"stub", "of an erased entry its id, state and successor stay, and nothing else", tx, erasedStubs},
		{"subject-exactly", "a subject label matches exactly, byte for byte", tx, subjectExactly},
		{"subject", "forgetting a subject reaches every ref, whatever was derived, and nothing of others", tx, forgetSubject},
		{"documents", "forgetting reaches the documents that are made of what is forgotten, and host text of the subject", tx, forgetDocuments},
		{"view", "an open view loses what is forgotten, and nothing else", []Offer{Transactor, Versioned}, forgetView},
	}...)
	return l
}

func readErased(w *world, r reader) {
	w.puts(home, "a", "b", "c")
	w.apply(driver.Mutation{Erase: located(home, "b")})
	w.sameIDs(r.read(w, home, []string{"c", "b", "a"}), []string{"c", "a"})
}

func erasedStubs(w *world) {
	w.puts(home, "new")
	for _, id := range []string{"live", "deleted", "merged", "superseded"} {
		e := w.whole(id)
		e.ExpiresAt = time.Time{}
		w.put(home, e)
	}
	w.delete(home, "deleted", true)
	w.apply(retired(retire(home, "merged", driver.Merged, "new"), retire(home, "superseded", driver.Superseded, "new")))
	w.apply(driver.Mutation{Erase: located(home, "live", "deleted", "merged", "superseded")})
	w.stub(home, "live", driver.Live, "")
	w.stub(home, "deleted", driver.Deleted, "")
	w.stub(home, "merged", driver.Merged, "new")
	w.stub(home, "superseded", driver.Superseded, "new")
	for _, rec := range w.history(home.Tenant, driver.HistoryQuery{Ref: home.Ref}) {
		if rec.Entry.ID != "new" {
			w.sameEntry(&rec.Entry, &driver.Entry{ID: rec.Entry.ID})
		}
	}
}

// forget forgets customer:1 of home's tenant.
func (h *host) forget() memory.Forgotten {
	h.w.did("forget customer:1")
	done, err := h.bank.Forget(h.w.ctx, home.Tenant, "customer:1")
	h.w.must(err)
	return done
}

func forgetSubject(w *world) {
	h := w.host()
	job, other := h.job(home.Tenant, nil), h.job("globex", nil)
	w.did("entries of customers 1, 11 and 2 in two refs, one merged with another, and the same label of another tenant")
	a := h.note(job, home.Ref, "a of 1", "customer:1")
	b := h.note(job, home.Ref, "b of 2", "customer:2")
	h.note(job, home.Ref, "c of 11", "customer:11")
	h.note(job, "sales", "d of 1 and 2", "customer:2", "customer:1")
	h.note(job, "sales", "e of 2", "customer:2")
	h.note(other, home.Ref, "f of 1", "customer:1")
	h.merge(job, home.Ref, "a and b", a, b)
	h.forget()
	w.sameTexts(h.contents(home.Tenant, home.Ref), "c of 11", "b of 2")
	w.sameTexts(h.contents(home.Tenant, "sales"), "e of 2")
	w.sameTexts(h.contents("globex", home.Ref), "f of 1")
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:1"})
}

func forgetView(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	h.note(job, home.Ref, "a", "customer:1")
	h.note(job, home.Ref, "b", "customer:2")
	run := h.run(home.Tenant, "run-1", "")
	h.note(run, home.Ref, "c", "customer:1")
	w.did("a run that sees entries of customers 1 and 2 and writes one of customer 1")
	h.forget()
	w.sameTexts(w.contents(run.Memory(), home.Ref), "b")
}

func subjectExactly(w *world) {
	labels := append([]string{"customer:1", "customer:11", "Customer:1", "customer_1", "customer%", "customer:1 ", "customer:1,customer:2"}, lookalikes...)
	for i, label := range labels {
		e := w.entry(strings.Repeat("i", i+1))
		e.Subjects = []string{"everyone", label}
		w.put(home, e)
	}
	for i, label := range labels {
		w.remembers(home.Tenant, driver.HistoryQuery{Subject: label}, strings.Repeat("i", i+1))
	}
	w.remembers(home.Tenant, driver.HistoryQuery{Subject: "customer:2"})
}

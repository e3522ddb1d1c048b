package adaptertest

import (
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func forgetLaw() law {
	tx := []Offer{Transactor}
	return law{name: "FORGET", number: "M10", says: "what is erased is gone everywhere, and nothing else is", cases: append(generate(
		generation{name: "erased", says: "no read shows what was erased, and of its record its id, state and successor stay", needs: tx,
			topics: []topic{basic, entries}, plans: alone, sequences: [3]int{20, 100, 1000}, steps: 12, shared: true},
	), []testCase{
		{"subject", "forgetting a subject reaches every ref, all that was derived, and nothing of others", tx, forgetSubject},
		{"documents", "forgetting reaches the documents that are made of what is forgotten, and host text of the subject", tx, forgetDocuments},
		{"view", "an open view loses what is forgotten, and nothing else", append(tx, Versioned), forgetView},
	}...)}
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

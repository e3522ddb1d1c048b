package adaptertest

import (
	"fmt"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// That an erasure reaches every read is in every audit; these are those of a bank.
func forgetLaw() law {
	tx := []Offer{Transactor}
	return law{name: "FORGET", number: "M10", says: "what is erased is gone everywhere, and nothing else is", cases: []testCase{
		{"subject", "forgetting a subject reaches every ref, whatever was derived, and nothing of others", tx, forgetSubject},
		{"documents", "forgetting reaches the documents that are made of what is forgotten, and host text of the subject", tx, forgetDocuments},
		{"view", "an open view loses what is forgotten, and nothing else", []Offer{Transactor, Versioned}, forgetView},
		{"scan-under-way", "a scan under way does not yield what is erased meanwhile", []Offer{Transactor, Scanner}, scanErased},
	}}
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

// readAhead is how many entries a scan may have read before the loop asks for them.
const readAhead = 512

func scanErased(w *world) {
	all := w.putMany(home, 1100, nil)
	erased := map[string]bool{}
	n := 0
	w.quietly("scan, and at the second entry erase all later ones of odd place", func() {
		for e, err := range w.scanner.Scan(w.ctx, home, driver.Query{At: w.now}) {
			w.must(err)
			if n++; n == 2 {
				var places []driver.Located
				for i := 3; i < len(all); i += 2 {
					erased[all[i]] = true
					places = append(places, located(home, all[i])...)
				}
				w.apply(driver.Mutation{Erase: places})
			}
			w.check(!erased[e.ID] || n <= 2+readAhead, fmt.Sprintf("nothing erased, beyond the %d entries that may be read ahead", readAhead),
				"%q as entry %d", e.ID, n)
		}
	})
	w.check(n >= len(all)-len(erased), fmt.Sprintf("at least %d entries", len(all)-len(erased)), "%d", n)
}

// forgetDocuments lets a bank forget a subject whose words are in documents.
func forgetDocuments(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	w.did("a job puts an entry of customer 1 and one of customer 2, and documents made of each, of both and of none")
	a, b := h.note(job, home.Ref, "a", "customer:1"), h.note(job, home.Ref, "b", "customer:2")
	_, err := job.Rewrite(w.ctx, home.Ref, memory.Rewrite{Documents: func([]driver.Entry) []driver.DocumentSwap {
		return acts(driver.Set, digest(home, "a", a.ID), digest(home, "b", b.ID), digest(home, "both", b.ID, a.ID), note(home, "n", "x"),
			file(home, "of 1", "customer:2", "customer:1"), file(home, "of 2", "customer:2")).Documents
	}})
	w.must(err)
	h.forget()
	w.yields(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref}, "support/digest/b", "support/file/of 2", "support/note/n")
}

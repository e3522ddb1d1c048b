package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func dueLaw() law {
	due := []Offer{Transactor, Scheduler}
	return law{name: "DUE", number: "K3, K9", says: "what is due is found over all tenants, in order, and nothing else", cases: []testCase{
		{"order", "what is due comes by its instant, of all tenants and refs, and a limit keeps what is due first", due, dueInOrder},
	}}
}

func dueInOrder(w *world) {
	var want []string
	places := []driver.Scope{home, at("globex", "support"), at("acme", ""), at("Acme", "sales"), at("acme", "sales")}
	for i, s := range places {
		d := timer(s, fmt.Sprint("t", 9-i), w.now.Add(time.Duration(i)*time.Millisecond))
		want = append(want, d.Tenant+" "+nameIn(&d))
	}
	for _, i := range w.rng.Perm(len(places)) {
		w.set(timer(places[i], fmt.Sprint("t", 9-i), w.now.Add(time.Duration(i)*time.Millisecond)))
	}
	w.advance(time.Second)
	for n := 1; n <= len(want); n++ {
		w.isDue("timer", n, want[:n]...)
	}
}

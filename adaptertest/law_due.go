package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func dueLaw() law {
	due := []Offer{Transactor, Scheduler}
	return law{name: "DUE", number: "K3, K9", says: "what is due is found over all tenants, in order, and nothing else", cases: []testCase{
		{"instant", "a document is due from the very millisecond on, at the instant that the call carries", due, dueInstant},
		{"order", "what is due comes by its instant, of all tenants and refs, and a limit keeps what is due first", due, dueInOrder},
		{"moved", "what is stored anew, with its value or without, is due at its new instant only, and never if it has none", due, dueMoved},
		{"undated", "what has no instant is never due, of whatever class", due, undatedIsNotDue},
	}}
}

func dueInstant(w *world) {
	w.set(timer(home, "t", w.now.Add(5*time.Millisecond)))
	w.set(timer(at("globex", ""), "u", w.now.Add(6*time.Millisecond).In(time.FixedZone("", -36000))))
	w.advance(4 * time.Millisecond)
	w.isDue("timer", 10)
	w.advance(time.Millisecond)
	w.isDue("timer", 10, "acme support/timer/t")
	w.advance(time.Millisecond)
	w.isDue("timer", 10, "acme support/timer/t", "globex /timer/u")
	w.now = w.now.Add(-time.Hour)
	w.isDue("timer", 10)
	w.now = time.Date(2387, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	w.isDue("timer", 10, "acme support/timer/t", "globex /timer/u")
}

func dueInOrder(w *world) {
	var want []string
	places := []driver.Scope{home, at("globex", "support"), at("acme", ""), at("Acme", "sales"), at("acme", "sales")}
	for i, s := range places {
		d := timer(s, fmt.Sprint("t", 9-i), w.now.Add(time.Duration(i)*time.Millisecond))
		want = append(want, d.Tenant+" "+nameIn(&d))
	}
	for _, i := range w.rng.Perm(len(places)) {
		d := timer(places[i], fmt.Sprint("t", 9-i), w.now.Add(time.Duration(i)*time.Millisecond))
		other := d
		other.Kind, other.Due = "tim", d.Due.Add(-time.Hour) // of another kind, and due before
		w.set(d)
		w.set(other)
	}
	w.advance(time.Second)
	for n := 1; n <= len(want); n++ {
		w.isDue("timer", n, want[:n]...)
	}
}

func dueMoved(w *world) {
	soon, late := w.now.Add(time.Millisecond), w.now.Add(time.Hour)
	for _, store := range []func(driver.Document) driver.Document{w.retains, w.set} {
		d := w.set(timer(home, "t", soon))
		d.Due = late
		d = store(d)
		w.advance(time.Minute)
		w.isDue("timer", 10)
		w.now = late
		w.isDue("timer", 10, "acme support/timer/t")
		d.Due = time.Time{}
		d = store(d)
		w.isDue("timer", 10)
		d.Due = soon
		d = store(d)
		w.isDue("timer", 10, "acme support/timer/t")
		w.removes(d)
		w.isDue("timer", 10)
		soon, late = w.now.Add(time.Millisecond), w.now.Add(time.Hour)
	}
}

func undatedIsNotDue(w *world) {
	w.puts(home, "a")
	c, h, n := digest(home, "d", "a"), file(home, "f"), note(home, "n", "")
	c.Kind, h.Kind, n.Kind = "timer", "timer", "timer"
	w.sets(c, h, n)
	w.isDue("timer", 10)
	w.now = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	w.isDue("timer", 10)
}

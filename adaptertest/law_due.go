package adaptertest

import "time"

func dueLaw() law {
	due := []Offer{Transactor, Scheduler}
	return law{name: "DUE", number: "K3, K9", says: "what is due is found over all tenants, in order, and nothing else", cases: []testCase{
		{"instant", "a document is due from the very millisecond on, at the instant that the call carries", due, dueInstant},
		{"order", "what is due comes by its instant, of all tenants and refs, and a limit keeps what is due first", due, dueInOrder},
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
	for _, i := range []int{2, 0, 4, 1, 3} {
		d := timer(at([]string{"globex", "acme"}[i%2], "support"), string("edcba"[i]), w.now.Add(time.Duration(i)*time.Millisecond))
		other := d
		other.Kind, other.Due = "tim", d.Due.Add(-time.Hour) // of another kind, and due before
		w.sets(d, other)
	}
	for i, tenant := range []string{"globex", "acme", "globex", "acme", "globex"} {
		want = append(want, tenant+" support/timer/"+string("edcba"[i]))
	}
	w.advance(time.Second)
	for n := 1; n <= len(want); n++ {
		w.isDue("timer", n, want[:n]...)
	}
}

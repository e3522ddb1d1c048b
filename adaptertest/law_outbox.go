package adaptertest

import (
	"fmt"
	"reflect"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func outboxLaw() law {
	tx := []Offer{Transactor}
	return law{name: "OUTBOX", number: "E3", says: "an event commits with its mutation, and waits in commit order until it is delivered", cases: []testCase{
		{"order", "events wait in the order in which they were committed", tx, eventOrder},
		{"deliver-in-loop", "a loop over the outbox may deliver, and every event that waits comes once", tx, deliverInLoop},
		{"count", "what waits is counted, up to the limit", tx, countEvents},
		{"count-hidden", "what was handed out and not delivered is counted still, and counting hands out nothing", tx, countHidden},
		{"payloads", "an event comes back whole, whatever its payload", tx, eventPayloads},
		{"relay", "a bank relays every event once, whatever was relayed before", tx, relayEvents},
		{"racing-relays", "banks that relay at once lose no event", tx, racingRelays},
	}}
}

func queue(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs} }

func eventOrder(w *world) {
	w.apply(queue(w.event("run-1", "c"), w.event("run-1", "a")))
	late := w.event("run-1", "b")
	late.Time = w.now.Add(-1e9) // the commit counts, not the event's own time
	w.apply(queue(late))
	w.waiting(home.Tenant, "run-1", "c", "a", "b")
}

// counts expects so many events of a tenant to wait, or of all if it is empty.
func (w *world) counts(tenant string, limit, want int) {
	if w.noting() {
		w.did("count what waits of tenant %q, up to %d", tenant, limit)
	}
	n, err := w.tx.Waiting(w.ctx, tenant, limit)
	w.must(err)
	if want < limit {
		w.check(n == want, fmt.Sprint(want), "%d", n)
	} else {
		w.check(n >= limit && n <= want, fmt.Sprintf("%d, or up to %d", limit, want), "%d", n)
	}
}

func eventPayloads(w *world) {
	for i, p := range append(samplePayloads(), events.HostPayload{Type: "run.started", JSON: []byte(`{"input":["a",1.5,null]}`)}) {
		want := events.Record{ID: fmt.Sprint("ev", i), Tenant: home.Tenant, RunID: "run-1", NodeID: "node 1", Time: w.now, Payload: p}
		switch i % 4 {
		case 1:
			want.CausationID = "ev-before"
		case 2:
			want.EngineVersion = "2.1 <x>"
		case 3:
			want.SchemaVersion = 1 << 53 / 2
		}
		w.must(want.Validate())
		w.apply(queue(want))
		recs := w.undelivered(home.Tenant, "run-1")
		w.sameEvents(recs, want.ID)
		got := recs[0]
		w.check(got.Time.Equal(want.Time), describeTime(want.Time), "%s", describeTime(got.Time))
		got.Time = want.Time
		w.check(reflect.DeepEqual(got, want), describeEvent(&want), "%s", describeEvent(&got))
		w.delivered(want)
	}
}

func relayEvents(w *world) {
	h := w.host()
	job := h.job(home.Tenant, nil)
	w.did("a job puts three entries, with a relay after the second and after the third")
	h.note(job, home.Ref, "one")
	h.note(job, home.Ref, "two")
	_, err := h.bank.Maintain(w.ctx)
	w.must(err)
	h.note(job, home.Ref, "three")
	w.must(job.End(w.ctx))
	got := h.log.Events(home.Tenant, "pass")
	w.check(len(got) == 3, "3 events in the log", "%d", len(got))
	w.waiting(home.Tenant, "pass")
}

func racingRelays(w *world) {
	first := w.host()
	job := first.job(home.Tenant, nil)
	w.quietly("put 50 entries through a bank with events", func() {
		for i := range 50 {
			first.note(job, home.Ref, fmt.Sprint(i))
		}
	})
	w.quietly("relay by four banks at once, then flush the run", func() {
		hosts := []*host{first}
		for range 3 {
			hosts = append(hosts, w.host())
		}
		w.parallel(4, func(i int) {
			_, err := hosts[i].bank.Maintain(w.ctx)
			w.must(err)
		})
		w.must(job.End(w.ctx))
		seen := map[string]bool{}
		for _, h := range hosts {
			for _, e := range h.log.All() {
				seen[e.ID] = true
			}
		}
		w.check(len(seen) == 50, "50 events, each in the log of one bank or of several", "%d", len(seen))
	})
	w.waiting(home.Tenant, "pass")
}

// queueForAll queues two events for each of two runs of two tenants.
func (w *world) queueForAll() {
	for _, tenant := range []string{"acme", "globex"} {
		for _, run := range []string{"run-1", "run-2"} {
			for _, n := range []string{"1", "2"} {
				e := w.event(run, tenant+" "+run+" "+n)
				e.Tenant = tenant
				_, err := w.tryApply(tenant, queue(e))
				w.must(err)
			}
		}
	}
}

func deliverInLoop(w *world) {
	var want, got []string
	for i := range 300 {
		want = append(want, fmt.Sprint("ev", i))
	}
	w.quietly("queue 300 events of three runs", func() {
		for i, id := range want {
			w.apply(queue(w.event(fmt.Sprint("run-", i%3), id)))
		}
	})
	w.quietly("read the outbox, and in the loop deliver each event of two runs", func() {
		for e, err := range w.tx.Undelivered(w.ctx, "", "") {
			w.must(err)
			got = append(got, e.ID)
			if e.RunID != "run-1" {
				w.delivered(e)
			}
		}
	})
	w.came(got, want...)
	w.counts(home.Tenant, 1000, 100)
}

func countEvents(w *world) {
	w.counts("", 10, 0)
	w.queueForAll()
	w.counts("", 100, 8)
	w.counts("acme", 100, 4)
	w.counts("", 5, 8)
	w.counts("acme", 1, 4)
	w.delivered(w.event("run-1", "unknown"), w.event("run-1", "acme run-1 1"), w.event("unknown", "acme run-1 2"))
	w.counts("", 100, 7)
	w.counts("acme", 100, 3)
}

func countHidden(w *world) {
	w.queueForAll()
	for range 3 {
		w.counts("", 100, 8)
	}
	all := w.undelivered("", "")
	w.check(len(all) == 8, "8 events: counting has not handed them out", "%d", len(all))
	w.counts("", 100, 8)
	w.counts("globex", 100, 4)
	w.waiting("acme", "run-2", "acme run-2 1", "acme run-2 2")
}

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
		{"count-hidden", "what was handed out and not delivered is counted still, and counting hands out nothing", tx, countHidden},
		{"payloads", "an event comes back whole, whatever its payload", tx, eventPayloads},
		{"racing-relays", "banks that relay at once lose no event", tx, racingRelays},
	}}
}

func queue(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs} }

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

func countHidden(w *world) {
	w.queueForAll()
	for range 3 {
		w.counts("", 100, 8)
	}
	all := w.undelivered(driver.OutboxQuery{})
	w.check(len(all) == 8, "8 events: counting has not handed them out", "%d", len(all))
	w.counts("", 100, 8)
	w.counts("globex", 100, 4)
	w.waiting("acme", "run-2", "acme run-2 1", "acme run-2 2")
}

func eventPayloads(w *world) {
	for i, p := range append(samplePayloads(), events.HostPayload{Type: "run.started", JSON: []byte(`{"input":["a",1.5,null]}`)}) {
		want := events.Record{ID: fmt.Sprint("ev", i), Tenant: home.Tenant, RunID: "run-1", NodeID: "node 1", Time: w.now, Payload: p}
		w.must(want.Validate())
		w.apply(queue(want))
		recs := w.undelivered(driver.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"})
		w.sameEvents(recs, want.ID)
		got := recs[0]
		w.check(got.Time.Equal(want.Time), describeTime(want.Time), "%s", describeTime(got.Time))
		got.Time = want.Time
		w.check(reflect.DeepEqual(got, want), describeEvent(&want), "%s", describeEvent(&got))
		w.delivered(want)
	}
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
			_, err := hosts[i].bank.Relay(w.ctx)
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

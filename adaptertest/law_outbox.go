package adaptertest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func outboxLaw() law {
	tx := []Offer{Transactor}
	return law{name: "OUTBOX", number: "E3", says: "an event commits with its mutation, and waits in commit order until it is delivered", cases: []testCase{
		{"order", "events wait in the order in which they were committed", tx, eventOrder},
		{"all-tenants", "a query without a tenant has the events of all", tx, eventsOfAll},
		{"run", "a query for a run has that run's events only", tx, eventsOfRun},
		{"except", "runs can be passed over, each by tenant and id", tx, eventsExcept},
		{"limit", "a limit keeps the oldest", tx, eventLimit},
		{"many", "more events than a page wait, and can be delivered", tx, manyEvents},
		{"delivered", "a delivered event is gone, the others wait", tx, eventDelivered},
		{"returns", "an event that was delivered may come again", tx, eventReturns},
		{"payloads", "an event comes back whole, whatever its payload", tx, eventPayloads},
		{"relay", "a bank relays every event once, whatever was relayed before", tx, relayEvents},
		{"racing-relays", "banks that relay at once lose no event", tx, racingRelays},
	}}
}

func queue(recs ...events.Record) memory.Mutation { return memory.Mutation{Events: recs} }

func eventOrder(w *world) {
	w.apply(queue(w.event("run-1", "c"), w.event("run-1", "a")))
	late := w.event("run-1", "b")
	late.Time = w.now.Add(-1e9) // the commit counts, not the event's own time
	w.apply(queue(late))
	w.waiting(home.Tenant, "run-1", "c", "a", "b")
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

func eventsOfAll(w *world) {
	w.queueForAll()
	w.sameEvents(w.undelivered(memory.OutboxQuery{}),
		"acme run-1 1", "acme run-1 2", "acme run-2 1", "acme run-2 2", "globex run-1 1", "globex run-1 2", "globex run-2 1", "globex run-2 2")
}

func eventsOfRun(w *world) {
	w.queueForAll()
	w.waiting("acme", "run-2", "acme run-2 1", "acme run-2 2")
	w.waiting("globex", "run-1", "globex run-1 1", "globex run-1 2")
	w.waiting("globex", "run-")
}

func eventsExcept(w *world) {
	w.queueForAll()
	w.sameEvents(w.undelivered(memory.OutboxQuery{Except: []memory.RunName{{Tenant: "acme", RunID: "run-1"}, {Tenant: "globex", RunID: "run-2"}}}),
		"acme run-2 1", "acme run-2 2", "globex run-1 1", "globex run-1 2")
}

func eventLimit(w *world) {
	w.apply(queue(w.event("run-1", "c"), w.event("run-1", "b"), w.event("run-1", "a")))
	w.sameEvents(w.undelivered(memory.OutboxQuery{Tenant: home.Tenant, RunID: "run-1", Limit: 2}), "c", "b")
}

func manyEvents(w *world) {
	var want []string
	var recs []events.Record
	for i := range 1100 {
		want = append(want, fmt.Sprint("ev", i))
		recs = append(recs, w.event("run-1", want[i]))
	}
	w.quietly("queue 1100 events", func() {
		for part := range slices.Chunk(recs, 100) {
			w.apply(queue(part...))
		}
	})
	w.waiting(home.Tenant, "run-1", want...)
	w.quietly("deliver all but the last", func() { w.delivered(recs[:1099]...) })
	w.waiting(home.Tenant, "run-1", "ev1099")
}

func eventDelivered(w *world) {
	one, two, three := w.event("run-1", "one"), w.event("run-1", "two"), w.event("run-2", "two")
	w.apply(queue(one, two, three))
	w.delivered(two)
	w.waiting(home.Tenant, "run-1", "one")
	w.waiting(home.Tenant, "run-2", "two")
	w.delivered(one, three)
	w.waiting(home.Tenant, "run-1")
	w.waiting(home.Tenant, "run-2")
}

// eventReturns: only waiting events are dropped as doubles. A sink knows the rest.
func eventReturns(w *world) {
	e := w.event("run-1", "one")
	w.apply(queue(e))
	w.delivered(e)
	w.apply(queue(e))
	w.waiting(home.Tenant, "run-1", "one")
}

func eventPayloads(w *world) {
	updated := true
	for i, p := range []events.Payload{
		events.MemoryWritten{MemoryRef: "support", MemoryID: "m1", NodeID: "n1", AgentID: "a1", Tags: []string{"t,1", "é"}},
		events.MemoryCompacted{MemoryRef: "support", OutputID: "m2", SourceIDs: []string{"m1"}, SourceCount: 1, Trigger: events.CompactionHostManaged,
			ByteSize: 42, Distillation: &events.Distillation{TokenBudget: 100, TokensUsed: 99, IndexUpdated: &updated}},
		events.MemoryConsolidated{MemoryRef: "support", InputCount: 3, OutputCount: 2, MergedIDs: []string{"m1", "m2"}, Trigger: events.ConsolidationScheduled},
		events.CommitmentFired{CommitmentID: "c1", MemoryRef: "support", MemoryID: "m1", Condition: events.ConditionTime, EnqueuedRunID: "run-9"},
		events.WorkspaceUpdated{Path: "a/b.md", Version: events.MaxInteger},
		events.ProposalCreated{ProposalID: "p1", Kind: events.KindAgentPack, SourceRunIDs: []string{"run-1"}, DuplicateOf: "p0"},
		events.ProposalActivated{ProposalID: "p1", Kind: events.KindPromptTemplate, ApprovalID: "ap1", InstalledArtifactRef: "art1"},
	} {
		want := events.Record{ID: fmt.Sprint("ev", i), Tenant: home.Tenant, RunID: "run-1", NodeID: "node 1", Time: w.now, Payload: p}
		w.must(want.Validate())
		w.apply(queue(want))
		recs := w.undelivered(memory.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"})
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
	_, err := h.bank.Relay(w.ctx)
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

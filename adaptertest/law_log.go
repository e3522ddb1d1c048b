package adaptertest

import (
	"context"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

func logLaw() law {
	log := []Offer{Transactor, Events}
	l := law{name: "LOG", number: "E3", says: "a kept event has its sequence in its run when its mutation commits", cases: []testCase{
		{"numbered", "kept events of a run have sequences without gaps, and do not wait", log, loggedEvents},
		{"once", "an event that is kept takes no number again, and one that waits takes none", log, loggedOnce},
		{"refused", "a mutation that is refused keeps nothing, and its number is the next one's", log, loggedRefused},
		{"invalid", "a mutation with an event that breaks its schema is refused as a whole", log, loggedInvalid},
		{"versions", "kept events alone make no version, beside anything else they do", []Offer{Transactor, Versioned, Events}, loggedVersions},
		{"limits", "kept events do not wait, so that no limit of those is for them", log, loggedLimits},
		{"erased", "what is kept stays when its entry is erased", log, loggedErased},
		{"purged", "what is kept of a run goes as a whole, once its newest event is old, and later ones begin at 0", log, loggedPurged},
		{"purged-by-parts", "a purge of kept events removes at most as many runs as it is asked to, and says whether there are more", log, loggedPurgedByParts},
		{"dropped", "what is kept of a dropped tenant is gone, another's is not, and a run begins at 0 again", []Offer{Transactor, Tenants, Events}, loggedDropped},
		{"dropped-by-parts", "a tenant with many kept events is dropped by calls with a small limit", []Offer{Transactor, Tenants, Events}, loggedDroppedByParts},
		{"durable", "kept events outlive the store, and a later one has the next number", []Offer{Transactor, Durable, Events}, loggedDurable},
		{"shared", "events by two open stores have sequences in common", []Offer{Transactor, Shared, Events}, loggedShared},
		{"racing", "of kept events that race, alone and beside entries, none is lost, doubled or without its place", log, loggedRacing},
		{"bank", "a bank that keeps events relays nothing, and a run's own events stand in their order", []Offer{Transactor, Versioned, Events}, loggedBank},
	}}
	for _, c := range logCases {
		if c.needs == nil {
			l.cases = append(l.cases, testCase{"log-" + c.name, c.proves, log, func(w *world) { w.proveLog(c) }})
		}
	}
	return l
}

// proveLog runs a case of [RunLog] on the events that the store keeps.
func (w *world) proveLog(c logCase) {
	w.quietly("keep events", func() {
		cfg := LogConfig{Seed: w.seed, New: func(context.Context) (events.RunLog, error) { return keptLog{w.kept}, nil }}
		if err := cfg.prove(w.ctx, c); err != nil {
			w.fail(c.proves, err.Error())
		}
	})
	w.unmirrored()
}

// keptLog is a log that keeps its events in a store. It does not show that the store can be
// closed.
type keptLog struct{ store driver.EventKeeper }

func (l keptLog) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	return l.store.Read(ctx, tenant, runID, from, limit)
}

// Emit keeps the events of each tenant by a mutation, in which each is named once.
func (l keptLog) Emit(ctx context.Context, recs ...events.Record) error {
	byTenant := map[string]*driver.Mutation{}
	seen := map[eventName]events.Payload{}
	for _, rec := range recs {
		if err := rec.Validate(); err != nil {
			return err
		}
		name := eventName{rec.Tenant, rec.RunID, rec.ID}
		if there := seen[name]; there != nil {
			if !events.SamePayload(there, rec.Payload) {
				return events.ErrTaken
			}
			continue
		}
		seen[name] = rec.Payload
		if byTenant[rec.Tenant] == nil {
			byTenant[rec.Tenant] = &driver.Mutation{Keep: true}
		}
		byTenant[rec.Tenant].Events = append(byTenant[rec.Tenant].Events, rec)
	}
	for tenant, m := range sorted(byTenant) {
		if _, err := l.store.Apply(ctx, tenant, *m); err != nil {
			return err
		}
	}
	return nil
}

func logged(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs, Keep: true} }

// emit keeps events, those of a tenant by a mutation of nothing else.
func (w *world) emit(recs ...events.Record) {
	w.quietly(fmt.Sprintf("keep %d events, the first being %s of run %s", len(recs), short(recs[0].ID), short(recs[0].RunID)), func() {
		w.must(keptLog{w.kept}.Emit(w.ctx, recs...))
	})
	if w.ref == nil {
		return
	}
	for _, rec := range recs {
		m := logged(rec)
		w.mirrored(nil, func(r *reference) error {
			_, err := r.apply(rec.Tenant, &m, nil, false)
			return err
		})
	}
}

// purgeEvents removes kept events of runs whose newest one is from before an instant.
func (w *world) purgeEvents(before time.Time) {
	w.did("purge the events of runs that ended before %s", describeTime(before))
	more, err := w.kept.PurgeEvents(w.ctx, before, 1000)
	w.must(err)
	w.check(!more, "no more of them", "more")
	if w.ref != nil {
		w.ref.purgeEvents(before)
	}
}

// logs expects a run's log to have these events, in this order.
func (w *world) logs(tenant, run string, want ...string) {
	w.did("read the log of run %s of %s", short(run), short(tenant))
	got := []string{}
	for _, ev := range w.readLog(tenant, run) {
		got = append(got, ev.ID)
	}
	w.came(got, want...)
}

// readLog reads the log of a run, whose sequences are to begin at 0 and have no gaps.
func (w *world) readLog(tenant, run string) (all []events.RunEvent) {
	for {
		page, err := w.kept.Read(w.ctx, tenant, run, int64(len(all)), 7)
		w.must(err)
		if len(page) == 0 {
			return all
		}
		for _, ev := range page {
			w.check(ev.Sequence == int64(len(all)), fmt.Sprint("the sequence ", len(all)), "%d", ev.Sequence)
			all = append(all, ev)
		}
	}
}

// auditLog compares the log of a tenant with the reference.
func (w *world) auditLog(tenant string) {
	for name, want := range w.ref.log.runs {
		if w.kept == nil || name.tenant != tenant {
			continue
		}
		got := w.readLog(tenant, name.run)
		for i := range got {
			w.check(i < len(want) && sameRunEvent(&got[i], &want[min(i, len(want)-1)]), fmt.Sprintf("%d events as they were logged", len(want)),
				"as number %d %s, with sequence %d", i, describeEvent(&got[i].Record), got[i].Sequence)
		}
		w.check(len(got) == len(want), fmt.Sprintf("%d events in the log of run %s", len(want), short(name.run)), "%d", len(got))
	}
}

func loggedEvents(w *world) {
	host := w.event("run-1", "started")
	host.Payload = events.HostPayload{Type: "run.started", JSON: []byte(`{"input":{"n":1}}`)}
	w.emit(host)
	w.puts(home, "a")
	m := logged(w.event("run-1", "c"), w.event("run-2", "x"), w.event("run-1", "b"))
	m.Events[0].CausationID, m.Events[0].EngineVersion, m.Events[0].SchemaVersion = "started", "engine", 1
	m.Put = w.placed(home, "e")
	w.apply(m)
	w.emit(w.event("run-1", "a"))
	w.apply(logged(w.event("run-1", "0")))
	w.logs(home.Tenant, "run-1", "started", "c", "b", "a", "0")
	w.logs(home.Tenant, "run-2", "x")
	w.logs(home.Tenant, "run-3")
	w.waiting(home.Tenant, "run-1")
	w.counts(home.Tenant, 10, 0)
	w.apply(queue(w.event("run-1", "queued")))
	w.waiting(home.Tenant, "run-1", "queued")
	w.logs(home.Tenant, "run-1", "started", "c", "b", "a", "0")
}

func loggedOnce(w *world) {
	one, two := w.event("run-1", "one"), w.event("run-1", "two")
	w.apply(logged(one))
	w.emit(one, two, one)
	w.apply(logged(two, one, w.event("run-1", "three")))
	w.emit(two)
	changed := two
	changed.Payload = events.WorkspaceUpdated{Path: "another", Version: 9}
	w.conflicts(logged(w.event("run-1", "four"), changed))
	other := two
	other.Tenant = "globex"
	w.emit(other)
	w.apply(logged(w.event("run-2", "one")))
	w.logs(home.Tenant, "run-1", "one", "two", "three")
	w.logs(home.Tenant, "run-2", "one")
	w.logs("globex", "run-1", "two")
}

func loggedRefused(w *world) {
	w.puts(home, "a")
	w.apply(logged(w.event("run-1", "one")))
	m := logged(w.event("run-1", "no"))
	m.Put = w.placed(home, "b")
	m.Live = located(home, "missing")
	w.conflicts(m)
	w.logs(home.Tenant, "run-1", "one")
	m.Live, m.Put = nil, w.placed(home, "a")
	m.Put[0].Entry.Content = "another"
	w.conflicts(m)
	w.apply(logged(w.event("run-1", "two")))
	w.logs(home.Tenant, "run-1", "one", "two")
}

func loggedInvalid(w *world) {
	bad := w.event("run-1", "bad")
	bad.Payload = events.MemoryWritten{MemoryRef: "support"}
	m := logged(w.event("run-1", "good"), bad)
	m.Put = w.placed(home, "b")
	_, err := w.tryApply(home.Tenant, m)
	w.mustBe(err, driver.ErrValidation)
	w.logs(home.Tenant, "run-1")
	w.lists(home)
}

func loggedVersions(w *world) {
	before := w.version(home.Tenant)
	w.emit(w.event("run-1", "one"))
	after := w.version(home.Tenant)
	w.check(after == before, "the same version", "%s and %s", w.name(before), w.name(after))
	m := logged(w.event("run-1", "two"))
	m.Put = w.placed(home, "a")
	made := w.apply(m)
	w.check(made.Version != "" && made.Version != before, "another version", "%s", w.name(made.Version))
	m = logged(w.event("run-1", "three"))
	m.Documents = acts(driver.Set, note(home, "n", "x")).Documents
	again := w.apply(m)
	w.check(again.Version != "" && again.Version != made.Version, "another version", "%s", w.name(again.Version))
}

func loggedLimits(w *world) {
	w.apply(queue(w.event("run-1", "waits")))
	m := logged(w.event("run-1", "one"), w.event("run-1", "two"))
	m.Limits.Waiting = 1
	w.apply(m)
	w.logs(home.Tenant, "run-1", "one", "two")
	m = queue(w.event("run-1", "three"))
	m.Limits.Waiting = 1
	_, err := w.tryApply(home.Tenant, m)
	w.mustBe(err, driver.ErrBacklog)
}

func loggedErased(w *world) {
	m := logged(w.event("run-1", "one"))
	m.Put = w.placed(home, "m-one")
	w.apply(m)
	w.apply(driver.Mutation{Erase: located(home, "m-one")})
	w.logs(home.Tenant, "run-1", "one")
}

func loggedPurged(w *world) {
	w.apply(queue(w.event("run-1", "waits")))
	w.emit(w.event("run-1", "one"), w.event("run-1", "two"), w.event("run-2", "one"))
	other := w.event("run-1", "theirs")
	other.Tenant = "globex"
	w.emit(other)
	begun := w.now
	w.advance(time.Minute)
	w.emit(w.event("run-2", "two"))
	w.purgeEvents(begun)
	w.logs(home.Tenant, "run-1", "one", "two")
	w.purgeEvents(begun.Add(time.Millisecond))
	w.logs(home.Tenant, "run-1")
	w.logs("globex", "run-1")
	w.logs(home.Tenant, "run-2", "one", "two")
	w.waiting(home.Tenant, "run-1", "waits")
	w.emit(w.event("run-1", "three"), w.event("run-1", "two"), w.event("run-1", "waits"))
	w.logs(home.Tenant, "run-1", "three", "two")
	w.purgeEvents(w.now)
	w.logs(home.Tenant, "run-2", "one", "two")
	w.advance(time.Hour)
	w.purgeEvents(w.now)
	w.logs(home.Tenant, "run-2")
}

func loggedPurgedByParts(w *world) {
	for i := range 10 {
		w.emit(w.event(fmt.Sprint("run-", i), "one"), w.event(fmt.Sprint("run-", i), "two"))
	}
	w.advance(time.Hour)
	w.emit(w.event("run-3", "three"))
	left := func() (runs int) {
		for i := range 10 {
			all := w.readLog(home.Tenant, fmt.Sprint("run-", i))
			w.check(len(all) == 0 || len(all) == 2+map[bool]int{i == 3: 1}[true], "all events of a run or none", "%d", len(all))
			runs += min(len(all), 1)
		}
		return runs
	}
	more := true
	for round := 0; more && round < 10; round++ {
		before := left()
		w.did("purge at most four runs")
		var err error
		more, err = w.kept.PurgeEvents(w.ctx, w.now, 4)
		w.must(err)
		removed := before - left()
		w.check(removed <= 4, "at most four runs fewer", "%d", removed)
	}
	w.check(!more && left() == 1, "in the end the run whose newest event is not old", "%d runs, more: %v", left(), more)
	w.unmirrored()
}

func loggedDropped(w *world) {
	others := []string{"globex", home.Tenant + "2", home.Tenant[:3], "ACME", home.Tenant + " ", "a_me", "a%"}
	for _, tenant := range others {
		other := w.event("run-1", "theirs")
		other.Tenant = tenant
		w.emit(other)
	}
	w.emit(w.event("run-1", "one"), w.event("run-2", "two"))
	w.apply(logged(w.event("run-1", "three")))
	w.drop(home.Tenant, 100, 3)
	w.logs(home.Tenant, "run-1")
	w.logs(home.Tenant, "run-2")
	for _, tenant := range others {
		w.logs(tenant, "run-1", "theirs")
	}
	w.apply(logged(w.event("run-1", "three"), w.event("run-1", "one")))
	w.logs(home.Tenant, "run-1", "three", "one")
}

func loggedDroppedByParts(w *world) {
	for i := range 30 {
		w.emit(w.event(fmt.Sprint("run-", i%2), fmt.Sprint("e", i)))
	}
	w.drop(home.Tenant, 7, 20)
	w.logs(home.Tenant, "run-0")
	w.logs(home.Tenant, "run-1")
	w.emit(w.event("run-1", "e1"))
	w.logs(home.Tenant, "run-1", "e1")
}

func loggedDurable(w *world) {
	w.apply(logged(w.event("run-1", "b"), w.event("run-1", "a")))
	w.emit(w.event("run-1", "c"))
	w.reopen()
	w.logs(home.Tenant, "run-1", "b", "a", "c")
	w.emit(w.event("run-1", "a"), w.event("run-1", "0"))
	w.logs(home.Tenant, "run-1", "b", "a", "c", "0")
}

func loggedShared(w *world) {
	first, second := w.store, w.second()
	var want []string
	for i := range 6 {
		w.did("go on with the other store")
		w.use(second)
		id := fmt.Sprint("e", i)
		if i%3 == 0 {
			w.apply(logged(w.event("run-1", id)))
		} else {
			w.emit(w.event("run-1", id))
		}
		want = append(want, id)
		w.logs(home.Tenant, "run-1", want...)
		first, second = second, first
	}
}

func loggedRacing(w *world) {
	const callers, each = 6, 10
	w.quietly("half of six callers commit mutations with two events, half emit two, over one run", func() {
		w.parallel(callers, func(c int) {
			for i := range each {
				one, two := w.event("run-1", fmt.Sprintf("%d-%d-0", c, i)), w.event("run-1", fmt.Sprintf("%d-%d-1", c, i))
				var err error
				if c%2 == 0 {
					err = keptLog{w.kept}.Emit(w.ctx, one, two)
				} else {
					m := logged(one, two)
					m.At, m.Put = w.now, w.placed(home, fmt.Sprintf("%d-%d", c, i))
					_, err = w.tx.Apply(w.ctx, home.Tenant, m)
				}
				w.must(err)
			}
		})
	})
	w.did("read the log")
	got := w.readLog(home.Tenant, "run-1")
	w.check(len(got) == 2*callers*each, fmt.Sprint(2*callers*each, " events"), "%d", len(got))
	next := map[int]int{}
	for i, ev := range got {
		var c, n, half int
		_, err := fmt.Sscanf(ev.ID, "%d-%d-%d", &c, &n, &half)
		w.check(err == nil && half == i%2 && next[c] == 2*n+half, "the events of each caller in its order, two by two",
			"as number %d the event %s with sequence %d", i, ev.ID, ev.Sequence)
		next[c]++
	}
}

func loggedBank(w *world) {
	w.unmirrored()
	bank, err := memory.New(w.store, memory.Config{KeepEvents: time.Hour, WriteEvents: true, Now: func() time.Time { return w.now }})
	w.must(err)
	run, err := bank.Start(w.ctx, memory.RunConfig{ID: "run-1", Tenant: home.Tenant, Redactor: redact.New(redact.Config{})})
	w.must(err)
	w.did("a run emits, puts, emits, and ends with its terminal event")
	own := func(id string, typ events.Type) events.Record {
		return events.Record{ID: id, Payload: events.HostPayload{Type: typ, JSON: []byte("{}")}}
	}
	w.must(run.Emit(w.ctx, own("1", "run.started")))
	_, err = run.Put(w.ctx, home.Ref, memory.Draft{Content: "one"})
	w.must(err)
	w.must(run.Emit(w.ctx, own("3", "node.completed")))
	w.must(run.Flush(w.ctx))
	w.must(run.End(w.ctx, own("4", "run.completed")))
	var types []string
	for _, ev := range w.readLog(home.Tenant, "run-1") {
		types = append(types, string(ev.Payload.EventType()))
	}
	w.came(types, "run.started", "memory.written", "node.completed", "run.completed")
	w.counts("", 10, 0)
}

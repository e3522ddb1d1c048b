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
		{"kept", "kept events have sequences in the order of their mutations, an id takes one number, and what is refused takes none", log, keptEvents},
		{"purged-by-parts", "a purge of kept events removes at most as many runs as it is asked to, and says whether there are more", log, loggedPurgedByParts},
		{"dropped-by-parts", "a tenant with many kept events is dropped by calls with a small limit", append(log, Tenants), func(w *world) {
			for i := range 30 {
				w.emit(w.event(fmt.Sprint("run-", i%2), fmt.Sprint("e", i)))
			}
			w.drop(home.Tenant, 7, 20)
			w.emit(w.event("run-1", "e1"))
		}},
		{"durable", "kept events outlive the store, and a later one has the next number", append(log, Durable), func(w *world) {
			keptEvents(w)
			w.reopen()
			w.emit(w.event("run-1", "a"), w.event("run-1", "0"))
		}},
		{"racing", "of kept events that race, alone and beside entries, none is lost, doubled or without its place", log, loggedRacing},
		{"bank", "a bank that keeps events relays nothing, and a run's own events stand in their order", append(log, Versioned), loggedBank},
	}}
	for _, c := range logCases {
		if c.needs == nil && c.name != "names" { // which CTI-1 tries of a store
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
			if i >= len(want) || !sameRunEvent(&got[i], &want[i]) {
				w.fail(fmt.Sprintf("%d events as they were logged", len(want)), fmt.Sprintf("as number %d %s, with sequence %d", i, describeEvent(&got[i].Record), got[i].Sequence))
			}
		}
		w.check(len(got) == len(want), fmt.Sprintf("%d events in the log of run %s", len(want), short(name.run)), "%d", len(got))
	}
}

// keptEvents keeps events by mutations that do something else too, by such as do not, and by
// some that are refused.
func keptEvents(w *world) {
	w.emit(w.event("run-1", "started"))
	m := logged(w.event("run-1", "c"), w.event("run-2", "x"), w.event("run-1", "b"))
	m.Put = w.placed(home, "e")
	w.apply(m)
	m = logged(w.event("run-1", "refused"))
	m.Live = located(home, "missing")
	w.conflicts(m)
	other := w.event("run-1", "c")
	other.Payload = events.WorkspaceUpdated{Path: "another", Version: 9}
	w.conflicts(logged(w.event("run-1", "no"), other))
	w.emit(w.event("run-1", "a"), w.event("run-1", "b"), w.event("run-2", "a"))
	w.apply(queue(w.event("run-1", "waits")))
	w.apply(driver.Mutation{Erase: located(home, "e")})
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

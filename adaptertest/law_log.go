package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func logLaw() law {
	log := []Offer{Transactor, Events}
	return law{name: "LOG", number: "E3", says: "a kept event has its sequence in its run when its mutation commits", cases: []testCase{
		{"kept", "kept events have sequences in the order of their mutations, an id takes one number, and what is refused takes none", log, keptEvents},
		{"purged-by-parts", "a purge of kept events removes at most as many runs as it is asked to, and says whether there are more", log, loggedPurgedByParts},
		{"dropped-by-parts", "a tenant with many kept events is dropped by calls with a small limit", append(log, Tenants), func(w *world) {
			for i := range 30 {
				w.emit(w.event(fmt.Sprint("run-", i%2), fmt.Sprint("e", i)))
			}
			w.drop(home.Tenant, 7, 20)
			w.emit(w.event("run-1", "e1"))
		}},
		{"racing", "of kept events that race, alone and beside entries, none is lost, doubled, torn or without its place", log, loggedRacing},
	}}
}

func logged(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs, Keep: true} }

// emit keeps events, those in a row of one tenant by one mutation of nothing else.
func (w *world) emit(recs ...events.Record) {
	w.quietly(fmt.Sprintf("keep %d events, the first being %s of run %s", len(recs), short(recs[0].ID), short(recs[0].RunID)), func() {
		for from, i := 0, 1; i <= len(recs); i++ {
			if tenant := recs[from].Tenant; i == len(recs) || recs[i].Tenant != tenant {
				_, err := w.tryApply(tenant, logged(recs[from:i]...))
				w.must(err)
				from = i
			}
		}
	})
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
	for i, p := range samplePayloads() {
		rec := w.event("run-1", fmt.Sprint("sample-", i))
		rec.Payload = p
		w.emit(rec)
	}
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
	w.quietly("six writers commit batches of events, each batch twice, half of them beside an entry", func() {
		w.parallel(logWriters+1, func(i int) {
			for n := range logBatches {
				if i == logWriters {
					w.must(wholeBatches(w.readLog(home.Tenant, "run-1"), false))
					continue
				}
				m := logged(batchOf(i, n)...)
				if i%2 == 0 {
					m.At, m.Put = w.now, w.placed(home, fmt.Sprintf("%d-%d", i, n))
				}
				_, err := w.tx.Apply(w.ctx, home.Tenant, m)
				w.must(err)
			}
		})
	})
	w.did("read the log")
	w.must(wholeBatches(w.readLog(home.Tenant, "run-1"), true))
}

package adaptertest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func keptRacing(w *world) { logRacing(&logWorld{world: w, log: &keptLog{Reader: w.kept, w: w}}) }

func logged(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs, Keep: true} }

// keptLog is the log that a store keeps of home's tenant. One batch in two is kept beside an entry.
type keptLog struct {
	events.Reader
	w       *world
	batches atomic.Int64
}

func (l *keptLog) Emit(ctx context.Context, recs ...events.Record) error {
	m := logged(recs...)
	if l.batches.Add(1)%2 == 0 {
		m.At, m.Put = l.w.now, l.w.placed(home, recs[0].ID)
	}
	_, err := l.w.tx.Apply(ctx, home.Tenant, m)
	return err
}

// purgeEvents removes kept events of runs that ended before an instant, by calls for one run each. A
// store that sequences share has runs that the reference does not know.
func (w *world) purgeEvents(before time.Time) {
	runs := w.ref.purgeEvents(before)
	for calls := 1; calls < 1000; calls++ {
		w.did("purge the events of one run that ended before %s", before)
		more, err := w.kept.PurgeEvents(w.ctx, before, 1)
		w.must(err)
		if !more {
			w.check(calls >= runs, fmt.Sprintf("one of the %d runs at each call", runs), "no more after %d calls", calls)
			return
		}
	}
	w.fail("an end", "more after 1000 calls")
}

// auditLog compares the log of a tenant with the reference.
func (w *world) auditLog(tenant string) {
	for run := range w.ref.log.runs {
		if w.kept != nil && run.tenant == tenant {
			w.readRun(w.kept, &w.ref.log, run)
		}
	}
}

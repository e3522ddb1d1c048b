package adaptertest

import (
	"fmt"
	"time"

	"github.com/openwop/agentmemory/commitment"
)

func enginesAtOnce(w *world) {
	first := w.host()
	const timed, engines = 40, 4
	w.quietly(fmt.Sprintf("arm %d instants and a predicate; from %d engines, tick and observe 5 changes of it", timed, engines), func() {
		job := first.job("pass", home.Tenant)
		arm := func(a commitment.Arm) {
			_, err := first.engine().Arm(w.ctx, job, commitment.Source{Ref: home.Ref, MemoryID: first.note(job, "x").ID}, a)
			w.must(err)
		}
		for range timed {
			arm(commitment.Arm{At: w.now.Add(time.Hour)})
		}
		arm(commitment.Arm{Predicate: "signed"})
		w.now = w.now.Add(2 * time.Hour)
		w.parallel(engines, func(int) {
			engine := (&host{w: w, bank: first.bank, queue: first.queue}).engine()
			for n := range int64(5) {
				_, err := engine.Tick(w.ctx)
				w.must(err)
				_, err = engine.Observe(w.ctx, commitment.Observation{Tenant: home.Tenant, Predicate: "signed", Position: n, State: []byte{byte(n)}, Holds: true})
				w.must(err)
			}
		})
		for range 8 {
			w.now = w.now.Add(2 * time.Minute)
			_, err := first.engine().Tick(w.ctx)
			w.must(err)
		}
	})
	// A change may pass unseen if an engine was told of a later one first.
	n := len(first.queue.byKey)
	w.check(n > timed && n <= timed+5, fmt.Sprintf("%d to %d runs", timed+1, timed+5), "%d", n)
	w.check(first.queue.deliveries == n, fmt.Sprint(n, " deliveries, one of each firing"), "%d", first.queue.deliveries)
}

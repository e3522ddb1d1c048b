package adaptertest

import (
	"fmt"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func queue(recs ...events.Record) driver.Mutation { return driver.Mutation{Events: recs} }

// counts expects so many events of a tenant to wait, or of all if it is empty.
func (w *world) counts(tenant string, limit, want int) {
	w.did("count what waits of tenant %q, up to %d", tenant, limit)
	n, err := w.tx.Waiting(w.ctx, tenant, limit)
	w.must(err)
	if want < limit {
		w.check(n == want, fmt.Sprint(want), "%d", n)
	} else {
		w.check(n >= limit && n <= want, fmt.Sprintf("%d, or up to %d", limit, want), "%d", n)
	}
}

func racingRelays(w *world) {
	first := w.host()
	job := first.job("pass", home.Tenant)
	w.quietly("put 50 entries through a bank with events", func() {
		for i := range 50 {
			first.note(job, fmt.Sprint(i))
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
	w.sameOutbox(w.undelivered(home.Tenant, "pass"), nil)
}

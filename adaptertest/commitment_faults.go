package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

func commitmentFaultLaw() commitmentLaw {
	return commitmentLaw{name: "FAULT", number: "K2, K3", says: "whatever fails, a swap took place whole or not at all", cases: []commitmentCase{
		{"context", "nothing happens under a context that is done", nil, func(w *commitmentWorld) {
			c := w.swap(whole("acme", "cmt_1"))
			done, cancel := context.WithCancel(w.ctx)
			cancel()
			w.did("make every call with a context that is done")
			_, err := w.store.Get(done, "acme", "cmt_1")
			w.mustBe(err, context.Canceled)
			_, err = w.store.Swap(done, c)
			w.mustBe(err, context.Canceled)
			_, err = w.store.Swap(done, whole("acme", "cmt_2"))
			w.mustBe(err, context.Canceled)
			_, err = w.store.Due(done, epoch, 1)
			w.mustBe(err, context.Canceled)
			err = nil
			for _, err = range w.store.OfTenant(done, "acme", "") {
			}
			w.mustBe(err, context.Canceled)
			w.holds(c)
			w.absent("acme", "cmt_2")
		}},
		{"cancelled-midway", "a swap that was cancelled at any moment took place whole or not at all", nil, func(w *commitmentWorld) {
			c := w.swap(whole("acme", "cmt_1"))
			for i := range 200 {
				ctx := fadingAfter(w.ctx, i)
				next := c
				next.Fired++
				next.Due = c.Due.Add(time.Minute)
				next.Arm.Predicate = fmt.Sprint("p", i)
				w.did("swap under a context that ends when it is looked at for the %d. time", i+1)
				_, err := w.store.Swap(ctx, next)
				w.check(err == nil || isContext(err), "success or an error of the context", "%s", describeError(err))
				now := w.unheard(c, next)
				w.check(err != nil || now.Rev > c.Rev, "what was acknowledged", "what was there before")
				c = now
				if err == nil && !ctx.ended(0) {
					return
				}
			}
		}},
		{"lost", "a swap whose acknowledgement was lost cannot be done twice", nil, func(w *commitmentWorld) {
			old := w.swap(whole("acme", "cmt_1"))
			next := old
			next.Fence++
			now := w.swap(next)
			w.did("do the same again, as one who did not hear of it")
			w.refused(next)
			w.check(w.unheard(old, next).Rev == now.Rev, "the swap that was made", "another revision")
			first := armed("acme", "cmt_2", time.Time{})
			w.swap(first)
			w.did("do the same again, as one who did not hear of it")
			w.refused(first)
		}},
		{"no-text", "errors hold nothing of a commitment", nil, func(w *commitmentWorld) {
			c := whole("acme-secret", "cmt-secret")
			c.Ref, c.RunID, c.Arm.Predicate = "ref-secret", "run-secret", "predicate-secret"
			w.swap(c)
			_, conflict := w.store.Swap(w.ctx, c)
			w.mustBe(conflict, memory.ErrConflict)
			_, missing := w.store.Get(w.ctx, "acme-secret", "other-secret")
			w.mustBe(missing, memory.ErrNotFound)
			for _, err := range []error{conflict, missing} {
				for ; err != nil; err = errors.Unwrap(err) {
					w.check(!strings.Contains(err.Error(), "secret"), "a text without names", "%s", describeError(err))
				}
			}
		}},
	}}
}

func commitmentDurableLaw() commitmentLaw {
	return commitmentLaw{name: "DURABLE", number: "K2, K3", says: "a store that is opened again has everything that it had", cases: []commitmentCase{
		{"reopened", "commitments, instants, lists and revisions outlive the store", []Offer{Durable}, func(w *commitmentWorld) {
			old := w.swap(whole("acme", "cmt_1"))
			now := w.swap(old)
			timed := w.swap(armed("globex", "cmt_2", epoch))
			w.reopen()
			w.holds(now)
			w.holds(timed)
			w.refused(old)
			w.texts(w.due(epoch.Add(time.Hour), 10), "globex/cmt_2", "acme/cmt_1")
			w.texts(w.listed("acme", "signed"), "cmt_1")
			w.swap(now)
		}},
		{"two-at-once", "two who have the data open see each other's swaps", []Offer{Shared}, func(w *commitmentWorld) {
			first, second := w.store, w.second()
			c := w.swap(armed("acme", "cmt_1", epoch))
			w.store = second
			w.holds(c)
			w.texts(w.due(epoch, 10), "acme/cmt_1")
			old := c
			c.Due = epoch.Add(time.Hour)
			c = w.swap(c)
			w.store = first
			w.refused(old)
			w.holds(c)
			w.texts(w.due(epoch, 10))
		}},
		{"race", "of those who swap one revision through two stores at once, one succeeds", []Offer{Shared}, func(w *commitmentWorld) {
			both := []commitment.Store{w.store, w.second()}
			w.race(func(i int) commitment.Store { return both[i%2] })
		}},
	}}
}

package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/openwop/agentmemory/memory/driver"
)

func faultLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "FAULT", number: "M8, E3", says: "a failed call, a lost acknowledgement or a cancelled context leaves memory whole, and the same again completes it"}
	l.cases = methodCases("cancelled", "a call whose context is done returns the context's error, or all that there is, and changes nothing", sweepCancelled)
	l.cases = append(l.cases, methodCases("resources", "no call leaves a goroutine, a file or a connection behind, however it ends", sweepResources)...)
	l.cases = append(l.cases,
		testCase{"cancelled-midway-put", "a put whose context ends under way has happened or has not", nil, putCancelledMidway},
		testCase{"cancelled-midway-delete", "a delete whose context ends under way has happened or has not", nil, deleteCancelledMidway},
		testCase{"cancelled-midway-apply", "a mutation whose context ends under way has happened whole or not at all", tx, func(w *world) { applyCancelledMidway(w, false) }},
		testCase{"cancelled-midway-kept", "so has one whose events are kept", append(tx, Events), func(w *world) { applyCancelledMidway(w, true) }},
	)
	l.cases = append(l.cases, failedWork)
	return l
}

// cancelled is a context that is done.
func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

// fading is a context that is done from the n-th time on that somebody looks at it.
type fading struct {
	context.Context
	mu   sync.Mutex
	left int
	done chan struct{}
}

func fadingAfter(ctx context.Context, looks int) *fading {
	return &fading{Context: ctx, left: looks, done: make(chan struct{})}
}

// ended counts a look.
func (f *fading) ended(look int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	over := f.left < 0
	if f.left -= look; f.left < 0 && !over {
		close(f.done)
	}
	return f.left < 0
}

func (f *fading) Done() <-chan struct{} { f.ended(1); return f.done }

func (f *fading) Err() error {
	if f.ended(1) {
		return context.Canceled
	}
	return f.Context.Err()
}

// midway makes a call under contexts that end ever later, until one outlasts it.
func (w *world) midway(call func(ctx context.Context, i int) error, check func(i int, err error)) {
	w.unmirrored()
	for i := range 200 {
		ctx := fadingAfter(w.ctx, i)
		w.did("make call %d under a context that ends when it is looked at for the %d. time", i+1, i+1)
		err := call(ctx, i)
		check(i, err)
		if err == nil && !ctx.ended(0) {
			return
		}
	}
}

func putCancelledMidway(w *world) {
	w.midway(func(ctx context.Context, i int) error {
		return w.store.Put(ctx, home, w.entry(fmt.Sprint("e", i)))
	}, func(i int, err error) {
		e := w.entry(fmt.Sprint("e", i))
		if err == nil {
			w.get(home, e)
		}
		w.put(home, e) // the same again completes it
		w.get(home, e)
	})
}

func deleteCancelledMidway(w *world) {
	w.midway(func(ctx context.Context, i int) error {
		w.puts(home, fmt.Sprint("e", i))
		_, err := w.store.Delete(ctx, home, fmt.Sprint("e", i), w.now)
		return err
	}, func(i int, err error) {
		id := fmt.Sprint("e", i)
		if _, absent := w.tryGet(home, id); absent == nil {
			w.check(err != nil, "the entry deleted, as the call said", "the entry")
			w.delete(home, id, true)
		}
		w.absent(home, id)
	})
}

func applyCancelledMidway(w *world, log bool) {
	sales := at(home.Tenant, "sales")
	w.midway(func(ctx context.Context, i int) error {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
		w.puts(home, old)
		m := retired(retire(home, old, driver.Superseded, fresh))
		m.At, m.Put = w.now, append(w.placed(home, fresh), w.placed(sales, fresh)...)
		m.Documents = acts(driver.Set, note(home, fresh, "x"), digest(home, fresh, fresh)).Documents
		m.Events, m.Keep = queue(w.event(fresh, fresh)).Events, log
		_, err := w.tx.Apply(ctx, home.Tenant, m)
		return err
	}, func(i int, err error) {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
		var happened []bool
		_, missing := w.tryGet(home, fresh)
		happened = append(happened, missing == nil)
		_, missing = w.tryGet(sales, fresh)
		happened = append(happened, missing == nil)
		_, missing = w.tryGet(home, old)
		happened = append(happened, missing != nil)
		happened = append(happened, len(w.documents(driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref, Key: fresh})) == 2)
		recs := w.undelivered(home.Tenant, fresh)
		if log {
			logged, err := w.kept.Read(w.ctx, home.Tenant, fresh, 0, 2)
			w.must(err)
			for _, e := range logged {
				recs = append(recs, e.Record)
			}
		}
		happened = append(happened, len(recs) > 0)
		whole := !slices.Contains(happened, !happened[0])
		w.check(whole, "all parts or none", "put %v, put elsewhere %v, retired %v, documents %v, event %v", happened[0], happened[1], happened[2], happened[3], happened[4])
		w.check(err != nil || happened[0], "everything done, as the call said", "nothing")
	})
}

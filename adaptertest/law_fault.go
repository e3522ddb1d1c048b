package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func faultLaw() law {
	tx := []Offer{Transactor}
	l := law{name: "FAULT", number: "M8, E3", says: "a failed call, a lost acknowledgement or a cancelled context leaves memory whole, and the same again completes it"}
	for _, c := range cancellable {
		l.cases = append(l.cases, testCase{"cancelled-" + c.name, "under a context that is done the call returns the context's error, and nothing happens", c.needs,
			func(w *world) { callCancelled(w, c.call) }})
	}
	l.cases = append(l.cases,
		testCase{"cancelled-midway-put", "a put whose context ends under way has happened or has not", nil, putCancelledMidway},
		testCase{"cancelled-midway-delete", "a delete whose context ends under way has happened or has not", nil, deleteCancelledMidway},
		testCase{"cancelled-midway-apply", "a mutation whose context ends under way has happened whole or not at all", tx, applyCancelledMidway},
	)
	for _, p := range slices.Concat(passes, enginePasses) {
		l.cases = append(l.cases, testCase{p.name, p.says, p.needs, func(w *world) { failEachCall(w, p) }})
	}
	return l
}

// walked goes through what a store yields.
func walked[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// errorOf is the error of a call.
func errorOf[T any](_ T, err error) error { return err }

// cancelled is a context that is done.
func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

// cancellable are all calls that take a context, in the world of callCancelled.
var cancellable = []struct {
	name  string
	needs []Offer
	call  func(ctx context.Context, w *world) error
}{
	{"get", nil, func(ctx context.Context, w *world) error { return errorOf(w.store.Get(ctx, home, "a", w.now)) }},
	{"list", nil, func(ctx context.Context, w *world) error {
		return errorOf(w.store.List(ctx, home, driver.Query{At: w.now}))
	}},
	{"put", nil, func(ctx context.Context, w *world) error { return w.store.Put(ctx, home, w.entry("new")) }},
	{"delete", nil, func(ctx context.Context, w *world) error { return errorOf(w.store.Delete(ctx, home, "a", w.now)) }},
	{"apply", []Offer{Transactor}, func(ctx context.Context, w *world) error {
		m := driver.Mutation{At: w.now, Put: w.placed(home, "new"), Erase: located(home, "a")}
		return errorOf(w.tx.Apply(ctx, home.Tenant, m))
	}},
	{"lookup", []Offer{Transactor}, func(ctx context.Context, w *world) error { return errorOf(w.tx.Lookup(ctx, home, []string{"a"})) }},
	{"history", []Offer{Transactor}, func(ctx context.Context, w *world) error {
		return walked(w.tx.History(ctx, home.Tenant, driver.HistoryQuery{}))
	}},
	{"documents", []Offer{Transactor}, func(ctx context.Context, w *world) error {
		return walked(w.tx.Documents(ctx, driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true}))
	}},
	{"undelivered", []Offer{Transactor}, func(ctx context.Context, w *world) error {
		return walked(w.tx.Undelivered(ctx, driver.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"}))
	}},
	{"waiting", []Offer{Transactor}, func(ctx context.Context, w *world) error { return errorOf(w.tx.Waiting(ctx, home.Tenant, 10)) }},
	{"due", []Offer{Transactor, Scheduler}, func(ctx context.Context, w *world) error {
		return errorOf(w.scheduler.Due(ctx, "timer", w.now, 10))
	}},
	{"changes", []Offer{Transactor, Versioned, Changes}, func(ctx context.Context, w *world) error {
		return errorOf(w.changes.Changes(ctx, home, w.view, w.view))
	}},
	{"scopes", []Offer{Transactor, Tenants}, func(ctx context.Context, w *world) error {
		return walked(w.tenants.Scopes(ctx, driver.Scope{}))
	}},
	{"drop-tenant", []Offer{Transactor, Tenants}, func(ctx context.Context, w *world) error {
		return errorOf(w.tenants.DropTenant(ctx, home.Tenant, 10))
	}},
	{"delivered", []Offer{Transactor}, func(ctx context.Context, w *world) error {
		return w.tx.Delivered(ctx, queue(w.event("run-1", "ev1")).Events)
	}},
	{"version", []Offer{Transactor, Versioned}, func(ctx context.Context, w *world) error {
		return errorOf(w.versions.Version(ctx, home.Tenant))
	}},
	{"list-at", []Offer{Transactor, Versioned}, func(ctx context.Context, w *world) error {
		return errorOf(w.versions.ListAt(ctx, home, w.view, driver.Query{At: w.now}))
	}},
	{"get-at", []Offer{Transactor, Versioned}, func(ctx context.Context, w *world) error {
		return errorOf(w.versions.GetAt(ctx, home, w.view, []string{"a"}, w.now))
	}},
	{"intact", []Offer{Transactor, Versioned}, func(ctx context.Context, w *world) error {
		return errorOf(w.versions.Intact(ctx, home, w.view))
	}},
	{"purge", []Offer{Transactor, Versioned}, func(ctx context.Context, w *world) error {
		return errorOf(w.versions.Purge(ctx, home.Tenant, w.view, w.now))
	}},
	{"search", []Offer{Searcher}, func(ctx context.Context, w *world) error {
		return errorOf(w.searcher.Search(ctx, home, driver.Search{Limit: 10, At: w.now}))
	}},
	{"scan", []Offer{Scanner}, func(ctx context.Context, w *world) error {
		return walked(w.scanner.Scan(ctx, home, driver.Query{At: w.now}))
	}},
}

func callCancelled(w *world, call func(ctx context.Context, w *world) error) {
	w.puts(home, "b", "a", "gone")
	w.delete(home, "gone", true)
	if w.tx != nil {
		w.apply(queue(w.event("run-1", "ev1")))
	}
	if w.versions != nil {
		w.view = w.version(home.Tenant)
	}
	done, cancel := cancelled(w.ctx)
	defer cancel()
	late, cancel := context.WithDeadline(w.ctx, time.Now().Add(-time.Hour))
	defer cancel()
	for _, ctx := range []context.Context{done, late} {
		w.did("make the call with a context that is done: %v", ctx.Err())
		err := call(ctx, w)
		w.check(errors.Is(err, ctx.Err()), describeError(ctx.Err()), "%s", describeError(err))
	}
	w.lists(home, "b", "a")
	if w.tx != nil {
		w.waiting(home.Tenant, "run-1", "ev1")
		w.looksUp(home, w.entry("gone"), driver.Deleted, "")
	}
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

func applyCancelledMidway(w *world) {
	sales := at(home.Tenant, "sales")
	w.midway(func(ctx context.Context, i int) error {
		old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
		w.puts(home, old)
		m := retired(retire(home, old, driver.Superseded, fresh))
		m.At, m.Put = w.now, append(w.placed(home, fresh), w.placed(sales, fresh)...)
		m.Documents = acts(driver.Set, note(home, fresh, "x"), digest(home, fresh, fresh)).Documents
		m.Events = queue(w.event("run-1", fresh)).Events
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
		recs := w.undelivered(driver.OutboxQuery{Tenant: home.Tenant, RunID: "run-1"})
		happened = append(happened, len(recs) > 0)
		w.delivered(recs...)
		whole := !slices.Contains(happened, !happened[0])
		w.check(whole, "all parts or none", "put %v, put elsewhere %v, retired %v, documents %v, event %v", happened[0], happened[1], happened[2], happened[3], happened[4])
		w.check(err != nil || happened[0], "everything done, as the call said", "nothing")
	})
}

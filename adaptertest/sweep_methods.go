package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// method is one of a store's, by which a sweep calls it. A test holds the methods against the
// interfaces of package driver.
type method struct {
	name   string
	of     Offer // empty: one of the four operations
	writes bool
	call   func(w *world, x words) answer
}

var methods = []method{
	{"Put", "", true, func(w *world, x words) answer { return one(nothing{}, w.store.Put(x.ctx, x.scope, x.entry)) }},
	{"Get", "", false, func(w *world, x words) answer { return one(w.store.Get(x.ctx, x.scope, x.id, w.now)) }},
	{"List", "", false, func(w *world, x words) answer {
		return one(w.store.List(x.ctx, x.scope, driver.Query{At: w.now, Tags: x.tags}))
	}},
	{"Delete", "", true, func(w *world, x words) answer { return one(w.store.Delete(x.ctx, x.scope, x.id, w.now)) }},
	{"Apply", Transactor, true, applying(func(w *world, x words) driver.Mutation {
		m := acts(driver.Set, driver.Document{Scope: x.scope, Kind: "kind", Key: x.id, Value: []byte(x.text), Group: x.id})
		m.Live, m.Put = located(x.scope, x.id), []driver.Placed{{Scope: x.scope, Entry: x.entry}}
		return m
	})},
	{"Apply", Transactor, true, applying(func(w *world, x words) driver.Mutation { return acts(driver.Set, note(x.scope, x.id, "")) })},
	{"Apply", Transactor, true, applying(func(w *world, x words) driver.Mutation { return acts(driver.Set, file(x.scope, x.id)) })},
	{"Apply", Transactor, true, applying(func(w *world, x words) driver.Mutation {
		return driver.Mutation{Put: w.placed(x.scope, "limited"), Limits: driver.Limits{Entries: 1000}}
	})},
	{"Apply", Transactor, true, applying(func(w *world, x words) driver.Mutation { return queue(x.event()) })},
	{"Lookup", Transactor, false, func(w *world, x words) answer { return one(w.tx.Lookup(x.ctx, x.scope, []string{x.id, "b"})) }},
	{"Lookup", Transactor, false, func(w *world, x words) answer { return one(w.tx.Lookup(x.ctx, x.scope, nil)) }},
	{"History", Transactor, false, func(w *world, x words) answer {
		return each(w, x, w.tx.History(x.ctx, x.scope.Tenant, driver.HistoryQuery{Ref: x.scope.Ref}))
	}},
	{"Documents", Transactor, false, func(w *world, x words) answer {
		return each(w, x, w.tx.Documents(x.ctx, driver.DocumentQuery{Tenant: x.scope.Tenant, EveryRef: true}))
	}},
	{"Undelivered", Transactor, false, func(w *world, x words) answer { return each(w, x, w.tx.Undelivered(x.ctx, x.scope.Tenant, x.text)) }},
	{"Waiting", Transactor, false, func(w *world, x words) answer { return one(w.tx.Waiting(x.ctx, x.scope.Tenant, 10)) }},
	{"Delivered", Transactor, true, func(w *world, x words) answer { return one(nothing{}, w.tx.Delivered(x.ctx, queue(x.event()).Events)) }},
	{"Delivered", Transactor, true, func(w *world, x words) answer { return one(nothing{}, w.tx.Delivered(x.ctx, nil)) }},
	{"Version", Versioned, false, func(w *world, x words) answer { return one(w.versions.Version(x.ctx, x.scope.Tenant)) }},
	{"Intact", Versioned, false, func(w *world, x words) answer { return one(w.versions.Intact(x.ctx, x.scope, x.version)) }},
	{"Purge", Versioned, true, func(w *world, x words) answer { return one(w.versions.Purge(x.ctx, x.scope.Tenant, x.version, w.now)) }},
	{"Due", Scheduler, false, func(w *world, x words) answer { return one(w.scheduler.Due(x.ctx, x.text, w.now, 10)) }},
	{"Changes", Changes, false, func(w *world, x words) answer { return one(w.changes.Changes(x.ctx, x.scope, x.version, x.version)) }},
	{"Read", Events, false, func(w *world, x words) answer { return one(w.kept.Read(x.ctx, x.scope.Tenant, x.text, 0, 10)) }},
	{"PurgeEvents", Events, true, func(w *world, x words) answer { return one(w.kept.PurgeEvents(x.ctx, w.now, 10)) }},
	{"Scopes", Tenants, false, func(w *world, x words) answer { return each(w, x, w.tenants.Scopes(x.ctx, x.scope)) }},
	{"DropTenant", Tenants, true, func(w *world, x words) answer { return one(w.tenants.DropTenant(x.ctx, x.scope.Tenant, 10)) }},
}

// applying applies a mutation, one of each kind that a store may commit in its own way.
func applying(make func(w *world, x words) driver.Mutation) func(w *world, x words) answer {
	return func(w *world, x words) answer {
		m := make(w, x)
		m.At = w.now
		return one(w.tx.Apply(x.ctx, x.scope.Tenant, m))
	}
}

// words are what a call is made with.
type words struct {
	ctx     context.Context
	scope   driver.Scope
	id      string
	entry   driver.Entry
	version driver.Version
	text    string // a string that a method takes beside those
	tags    []string
	each    func(n int) bool // the body of a loop, at its n-th element; nil goes on
}

func (x words) event() events.Record {
	return withPayload(events.Record{ID: x.id, Tenant: x.scope.Tenant, RunID: x.text, Time: epoch})
}

// answer is what came of a call.
type answer struct {
	values []string
	err    error
}

type nothing struct{}

// one is the answer of a call that gives one thing.
func one[T any](x T, err error) answer { return answer{[]string{described(x)}, err} }

// each is what a loop yields, to its end, the first error, or where its body leaves it.
func each[T any](w *world, x words, all iter.Seq2[T, error]) (got answer) {
	for value, err := range all {
		w.check(got.err == nil, "nothing after an error", "more")
		if got.err = err; err != nil {
			continue
		}
		if got.values = append(got.values, described(value)); x.each != nil && !x.each(len(got.values)) {
			break
		}
	}
	return got
}

// described is an answer without what two calls may give differently.
func described(x any) string {
	if c, is := x.(driver.ChangeSet); is {
		return describeChanges(c)
	}
	return describe(x)
}

// prepareMethods makes a memory in which every method has something to answer.
func (w *world) prepareMethods() words {
	p := w.newPlan(home, func(p *plan) { p.many = 12 })
	for _, name := range members {
		p.fill(name)
	}
	w.puts(home, "b", "a", "gone")
	w.puts(at(home.Tenant, "sales"), "a")
	w.puts(at("globex", "support"), "a")
	w.delete(home, "gone", true)
	x := words{ctx: w.ctx, scope: home, id: "a", entry: w.entry("new"), text: "timer", tags: []string{p.tag}}
	if w.tx != nil {
		m := acts(driver.Set, timer(home, "t", w.now), timer(at(home.Tenant, ""), "u", w.now), file(home, "f", "customer:1"), digest(home, "d", "a"))
		m.Events = []events.Record{w.event("timer", "a"), w.event("timer", "b")}
		w.apply(m)
	}
	if w.kept != nil {
		w.apply(logged(w.event("timer", "c"), w.event("timer", "d")))
	}
	if w.versions != nil {
		x.version = w.version(home.Tenant)
	}
	return x
}

// methodCases are one sweep of each kind for the methods of each ability.
func methodCases(name, says string, run func(w *world, all []method)) (cases []testCase) {
	for _, of := range []Offer{"", Transactor, Versioned, Scheduler, Changes, Events, Tenants} {
		all := slices.DeleteFunc(slices.Clone(methods), func(m method) bool { return m.of != of })
		needs := map[Offer][]Offer{Transactor: {Transactor}, Tenants: {Tenants}, Changes: {Transactor, Versioned, Changes}}[of]
		if needs == nil && of != "" {
			needs = []Offer{Transactor, of}
		}
		ability := cmp.Or(string(of), "adapter")
		cases = append(cases, testCase{name + "-" + ability, fmt.Sprintf("by every method of the %s: %s", ability, says), needs, func(w *world) { run(w, all) }})
	}
	return cases
}

// sweepCancelled calls methods with contexts that are done: before the call, at each
// look that a store takes at them, and in the body of a loop. A read then gives all that
// there is or the context's error, and nothing is changed by a call that was done before
// it began.
func sweepCancelled(w *world, all []method) {
	x := w.prepareMethods()
	unknown := words{scope: at("never written", "ref"), id: "never", entry: w.entry("never"), text: "never"}
	if w.versions != nil {
		unknown.version = w.version(unknown.scope.Tenant)
	}
	late, cancel := context.WithDeadline(w.ctx, time.Now().Add(-time.Hour))
	defer cancel()
	caused, because := context.WithCancelCause(w.ctx)
	because(errors.New("a cause, which is not the context's error"))
	contexts := []context.Context{cancelled(w.ctx), late, caused}
	for _, m := range all {
		for _, ctx := range contexts {
			w.did("call %s with a context that is done: %v", m.name, ctx.Err())
			for _, x := range []words{x, unknown} {
				x.ctx = ctx
				err := m.call(w, x).err
				w.check(errors.Is(err, ctx.Err()), describeError(ctx.Err()), "%s", describeError(err))
			}
		}
		if !m.writes {
			w.sweepFading(m, x)
		}
	}
}

// sweepFading reads with contexts that end under way.
func (w *world) sweepFading(m method, x words) {
	whole := m.call(w, x)
	w.must(whole.err)
	slices.Sort(whole.values)
	wholeOrCancelled := func(ctx context.Context) {
		x.ctx = ctx
		got := m.call(w, x)
		slices.Sort(got.values)
		if got.err != nil {
			w.mustBe(got.err, context.Canceled)
		} else if !slices.Equal(got.values, whole.values) {
			w.fail("the whole answer or the error of the context: "+describe(whole.values), describe(got.values))
		}
	}
	for looks := range 40 {
		ctx := fadingAfter(w.ctx, looks)
		w.did("call %s with a context that ends when it is looked at for the %d. time", m.name, looks+1)
		wholeOrCancelled(ctx)
		if ctx.left.Load() >= 0 {
			break
		}
	}
	for _, at := range []int{1, len(whole.values) / 2} {
		ctx, cancel := context.WithCancel(w.ctx)
		x.each = func(n int) bool {
			if n >= at {
				cancel()
			}
			return true
		}
		w.did("call %s with a context that ends at number %d, if it is a loop", m.name, at)
		wholeOrCancelled(ctx)
		cancel()
	}
}

// sweepErrors makes methods fail in every way that there is, with words that no error may hold.
func sweepErrors(w *world, all []method) {
	w.prepareMethods()
	e := w.telling()
	put := at("tenant-"+canary, "ref-"+canary)
	w.put(put, e)
	other := e
	other.Content += " changed"
	missing := other
	missing.ID = "missing-" + canary
	said := []words{
		{scope: put, id: e.ID, entry: other, text: "text-" + canary, tags: e.Tags[:1]},
		{scope: put, id: "missing-" + canary, entry: missing, version: "version-" + canary, text: canary},
		{scope: at("other-"+canary, "ref-"+canary), id: e.ID, entry: other, version: "1." + canary, text: canary},
	}
	if w.versions != nil {
		said[0].version = w.version("globex") // of another tenant
	}
	if w.tx != nil { // what was erased
		gone := at(put.Tenant, "gone-"+canary)
		w.put(gone, e)
		_, err := w.tryApply(gone.Tenant, driver.Mutation{Erase: located(gone, e.ID)})
		w.must(err)
		said = append(said, words{scope: gone, id: e.ID, entry: e, text: canary})
		if w.versions != nil {
			said[3].version = w.version(put.Tenant)
		}
	}
	for _, m := range all {
		for _, x := range said {
			for _, ctx := range []context.Context{cancelled(w.ctx), fadingAfter(w.ctx, 1), fadingAfter(w.ctx, 3), w.ctx} {
				w.did("call %s with words that no error may hold", m.name)
				x.ctx = ctx
				w.silentError(m.call(w, x).err)
			}
		}
	}
	w.unmirrored() // some have happened and some have not
}

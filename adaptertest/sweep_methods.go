package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// ability is an interface of a store. Its methods are found by reflection, so that one
// that is added there is swept here, or the kit says that it does not know how.
type ability struct {
	name    string
	needs   []Offer
	methods reflect.Type
	of      func(w *world) any
}

var abilities = []ability{
	{"adapter", nil, reflect.TypeFor[driver.Adapter](), func(w *world) any { return w.store }},
	{"transactor", []Offer{Transactor}, reflect.TypeFor[driver.Transactor](), func(w *world) any { return w.tx }},
	{"versioned", []Offer{Transactor, Versioned}, reflect.TypeFor[driver.Versioned](), func(w *world) any { return w.versions }},
	{"scheduler", []Offer{Transactor, Scheduler}, reflect.TypeFor[driver.Scheduler](), func(w *world) any { return w.scheduler }},
	{"changes", []Offer{Transactor, Versioned, Changes}, reflect.TypeFor[driver.Changes](), func(w *world) any { return w.changes }},
	{"events", []Offer{Transactor, Events}, reflect.TypeFor[driver.EventKeeper](), func(w *world) any { return w.kept }},
	{"tenants", []Offer{Tenants}, reflect.TypeFor[driver.Tenants](), func(w *world) any { return w.tenants }},
}

// method is one of an ability, ready to be called.
type method struct {
	name   string
	call   reflect.Value
	writes bool
}

// writers are the methods that change something. Any other only reads.
var writers = []string{"Put", "Delete", "Apply", "Delivered", "Purge", "DropTenant", "PurgeEvents"}

// methodsOf are the methods of an ability that no interface below it has.
func (a *ability) methodsOf(w *world) []method {
	var all []method
	for i := range a.methods.NumMethod() {
		name := a.methods.Method(i).Name
		inherited := slices.ContainsFunc(abilities[:3], func(below ability) bool {
			_, has := below.methods.MethodByName(name)
			return has && below.methods != a.methods && a.methods.Implements(below.methods)
		})
		if !inherited {
			all = append(all, method{name, reflect.ValueOf(a.of(w)).MethodByName(name), slices.Contains(writers, name)})
		}
	}
	return all
}

// words are what a call is made with, by the types of the parameters.
type words struct {
	scope   driver.Scope
	id      string
	entry   driver.Entry
	version driver.Version
	text    string // a string that a method takes beside those
	tag     string
	at      time.Time
	leave   bool // a loop at its first element
}

// arguments are those of a call. A parameter of a type that nobody thought of fails the
// case: the sweep must learn it.
func (w *world) arguments(ctx context.Context, m method, x words) []reflect.Value {
	mutation := driver.Mutation{At: x.at, Live: located(x.scope, x.id), Put: []driver.Placed{{Scope: x.scope, Entry: x.entry}}}
	mutation.Documents = acts(driver.Set, driver.Document{Scope: x.scope, Kind: "kind", Key: x.id, Value: []byte(x.text), Group: x.id}).Documents
	event := w.event(x.text, x.id)
	event.Tenant = x.scope.Tenant
	known := map[reflect.Type]any{
		reflect.TypeFor[driver.Scope]():         x.scope,
		reflect.TypeFor[driver.Entry]():         x.entry,
		reflect.TypeFor[driver.Version]():       x.version,
		reflect.TypeFor[time.Time]():            x.at,
		reflect.TypeFor[int]():                  10,
		reflect.TypeFor[int64]():                int64(0), // a sequence
		reflect.TypeFor[[]string]():             []string{x.id, "b"},
		reflect.TypeFor[driver.Query]():         driver.Query{At: x.at, Tags: slices.DeleteFunc([]string{x.tag}, func(t string) bool { return t == "" })},
		reflect.TypeFor[driver.Mutation]():      mutation,
		reflect.TypeFor[driver.HistoryQuery]():  driver.HistoryQuery{Ref: x.scope.Ref},
		reflect.TypeFor[driver.DocumentQuery](): driver.DocumentQuery{Tenant: x.scope.Tenant, EveryRef: true},
		reflect.TypeFor[[]events.Record]():      []events.Record{event},
	}
	args := []reflect.Value{reflect.ValueOf(ctx)}
	signature := m.call.Type()
	for i := 1; i < signature.NumIn(); i++ {
		parameter := signature.In(i)
		value, ok := known[parameter]
		switch {
		case ok:
		case parameter.Kind() != reflect.String:
			w.fail("a parameter of "+m.name+" that the sweep knows", parameter.String())
		case m.name == "Get" || m.name == "Delete":
			value = x.id
		case m.name == "Due", (m.name == "Read" || m.name == "Undelivered") && i == 2:
			value = x.text
		default:
			value = x.scope.Tenant
		}
		args = append(args, reflect.ValueOf(value).Convert(parameter))
	}
	return args
}

// try makes a call, walks through what it yields, and returns what came and the error.
func (w *world) try(ctx context.Context, m method, x words) (answer []string, err error) {
	call := m.call.Call
	if m.call.Type().IsVariadic() {
		call = m.call.CallSlice
	}
	for _, out := range call(w.arguments(ctx, m, x)) {
		switch {
		case out.Type() == reflect.TypeFor[error]():
			err, _ = out.Interface().(error)
		case out.Kind() == reflect.Func:
			for value, failed := range out.Seq2() {
				w.check(err == nil, "nothing after an error", "more")
				if err, _ = failed.Interface().(error); err == nil {
					answer = append(answer, described(value.Interface()))
				}
				if x.leave {
					break
				}
			}
		default:
			answer = append(answer, described(out.Interface()))
		}
	}
	return answer, err
}

// described is an answer without what two calls may give differently.
func described(x any) string {
	switch x := x.(type) {
	case driver.Document:
		return describeDocument(&x)
	case driver.Record:
		return describeRecord(&x)
	case events.Record:
		return describeEvent(&x)
	case driver.ChangeSet:
		return describeChanges(x)
	case []driver.Document:
		return describe(x)
	}
	return fmt.Sprint(x)
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
	x := words{scope: home, id: "a", entry: w.entry("new"), text: "timer", tag: p.tag, at: w.now}
	if w.tx != nil {
		m := acts(driver.Set, timer(home, "t", w.now), timer(at(home.Tenant, ""), "u", w.now), file(home, "f", "customer:1"), digest(home, "d", "a"))
		m.Events = []events.Record{w.event("timer", "a"), w.event("timer", "b")}
		w.apply(m)
	}
	if w.kept != nil {
		w.emit(w.event("timer", "c"), w.event("timer", "d"))
	}
	if w.versions != nil {
		x.version = w.version(home.Tenant)
	}
	return x
}

// methodCases are one sweep of each kind for each ability.
func methodCases(name, says string, run func(w *world, a *ability)) []testCase {
	var cases []testCase
	for i := range abilities {
		a := &abilities[i]
		cases = append(cases, testCase{name + "-" + a.name, fmt.Sprintf("by every method of the %s: %s", a.name, says), a.needs, func(w *world) { run(w, a) }})
	}
	return cases
}

// sweepCancelled calls every method with contexts that are done: before the call, at each
// look that a store takes at them, and in the body of a loop. A read then gives all that
// there is or the context's error, and nothing is changed by a call that was done before
// it began.
func sweepCancelled(w *world, a *ability) {
	x := w.prepareMethods()
	nothing := words{scope: at("never written", "ref"), id: "never", entry: w.entry("never"), text: "never", at: w.now}
	if w.versions != nil {
		nothing.version = w.version(nothing.scope.Tenant)
	}
	done, cancel := cancelled(w.ctx)
	defer cancel()
	late, cancel := context.WithDeadline(w.ctx, time.Now().Add(-time.Hour))
	defer cancel()
	caused, because := context.WithCancelCause(w.ctx)
	because(errors.New("a cause, which is not the context's error"))
	contexts := []context.Context{done, late, caused}
	for _, m := range a.methodsOf(w) {
		if m.name == "Apply" {
			w.cancelledMutations(contexts)
		}
		for _, ctx := range contexts {
			w.did("call %s with a context that is done: %v", m.name, ctx.Err())
			for _, x := range []words{x, nothing} {
				_, err := w.try(ctx, m, x)
				w.check(errors.Is(err, ctx.Err()), describeError(ctx.Err()), "%s", describeError(err))
			}
		}
		if m.writes {
			continue
		}
		whole, err := w.try(w.ctx, m, x)
		w.must(err)
		slices.Sort(whole)
		for looks := range 40 {
			ctx := fadingAfter(w.ctx, looks)
			w.did("call %s with a context that ends when it is looked at for the %d. time", m.name, looks+1)
			w.wholeOrCancelled(ctx, m, x, whole)
			if !ctx.ended(0) {
				break
			}
		}
		w.cancelInLoop(m, x, whole)
	}
}

// cancelledMutations applies mutations of every kind with contexts that are done.
func (w *world) cancelledMutations(contexts []context.Context) {
	limited := driver.Mutation{Put: w.placed(home, "limited"), Limits: driver.Limits{Entries: 1000}}
	for _, m := range []driver.Mutation{acts(driver.Set, note(home, "never", "")), acts(driver.Set, file(home, "never")), queue(w.event("never", "never")), limited} {
		for _, ctx := range contexts {
			w.did("with a context that is done apply %s", m)
			_, err := w.makeOn(ctx, w.store, m)
			w.check(errors.Is(err, ctx.Err()), describeError(ctx.Err()), "%s", describeError(err))
		}
	}
}

// wholeOrCancelled expects a call to give the context's error, or all that there is.
func (w *world) wholeOrCancelled(ctx context.Context, m method, x words, whole []string) {
	answer, err := w.try(ctx, m, x)
	if err != nil {
		w.check(errors.Is(err, context.Canceled), describeError(context.Canceled), "%s", describeError(err))
		return
	}
	slices.Sort(answer)
	w.check(slices.Equal(answer, whole), "the whole answer or the error of the context: "+describe(whole), "%s", describe(answer))
}

// cancelInLoop ends the context in the body of a loop.
func (w *world) cancelInLoop(m method, x words, whole []string) {
	if m.call.Type().Out(0).Kind() != reflect.Func {
		return
	}
	for _, at := range []int{1, len(whole) / 2} {
		ctx, cancel := context.WithCancel(w.ctx)
		w.did("walk through %s with a context that ends in the loop, at number %d", m.name, at)
		n := 0
		var err error
		for _, failed := range m.call.Call(w.arguments(ctx, m, x))[0].Seq2() {
			if err, _ = failed.Interface().(error); err != nil {
				break
			}
			if n++; n >= at {
				cancel()
			}
		}
		cancel()
		w.check(err == nil && n == len(whole) || errors.Is(err, context.Canceled), fmt.Sprintf("all %d or the error of the context", len(whole)), "%d, %s", n, describeError(err))
	}
}

// sweepErrors makes every method fail in every way that there is, with words that no error
// may hold.
func sweepErrors(w *world, a *ability) {
	w.prepareMethods()
	e := w.telling()
	put := at("tenant-"+canary, "ref-"+canary)
	w.put(put, e)
	other := e
	other.Content += " changed"
	missing := other
	missing.ID = "missing-" + canary
	all := []words{
		{scope: put, id: e.ID, entry: other, text: "text-" + canary, tag: e.Tags[0], at: w.now},
		{scope: put, id: "missing-" + canary, entry: missing, version: "version-" + canary, text: canary, at: w.now},
		{scope: at("other-"+canary, "ref-"+canary), id: e.ID, entry: other, version: "1." + canary, text: canary, at: w.now},
	}
	if w.versions != nil {
		all[0].version = w.version("globex") // of another tenant
	}
	if w.tx != nil { // what was erased
		gone := at(put.Tenant, "gone-"+canary)
		w.put(gone, e)
		w.apply(driver.Mutation{Erase: located(gone, e.ID)})
		all = append(all, words{scope: gone, id: e.ID, entry: e, text: canary, at: w.now})
		if w.versions != nil {
			all[len(all)-1].version = w.version(put.Tenant)
		}
	}
	done, cancel := cancelled(w.ctx)
	defer cancel()
	for _, m := range a.methodsOf(w) {
		for _, x := range all {
			for _, ctx := range []context.Context{done, fadingAfter(w.ctx, 1), fadingAfter(w.ctx, 3), w.ctx} {
				w.did("call %s with words that no error may hold", m.name)
				_, err := w.try(ctx, m, x)
				w.silentError(err)
			}
		}
	}
	w.unmirrored() // some have happened and some have not
}

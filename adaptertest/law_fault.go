package adaptertest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// midwayCases are mutations of some kinds, each under contexts that end under way.
func midwayCases() (cases []testCase) {
	for _, c := range []struct {
		name  string
		needs []Offer
		make  func(w *world, i int) driver.Mutation
	}{
		{"put", nil, func(w *world, i int) driver.Mutation { return driver.Mutation{Put: w.placed(home, fmt.Sprint("e", i))} }},
		{"delete", nil, func(w *world, i int) driver.Mutation {
			w.puts(home, fmt.Sprint("e", i))
			return retired(retire(home, fmt.Sprint("e", i), driver.Deleted, ""))
		}},
		{"apply", transactor, everyKind},
		{"kept", []Offer{Transactor, Events}, func(w *world, i int) driver.Mutation {
			m := everyKind(w, i)
			m.Keep = true
			return m
		}},
	} {
		cases = append(cases, testCase{"cancelled-midway-" + c.name, "a mutation whose context ends under way has happened whole or not at all", c.needs, func(w *world) { w.midway(c.make) }})
	}
	return cases
}

// cancelled is a context that is done.
func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// fading is a context that is done once it was asked a number of times whether it is.
type fading struct {
	context.Context
	cancel func()
	left   atomic.Int64
}

func fadingAfter(ctx context.Context, looks int) *fading {
	f := new(fading)
	f.Context, f.cancel = context.WithCancel(ctx)
	f.left.Store(int64(looks))
	return f
}

func (f *fading) look() context.Context {
	if f.left.Add(-1) < 0 {
		f.cancel()
	}
	return f.Context
}

func (f *fading) Done() <-chan struct{} { return f.look().Done() }
func (f *fading) Err() error            { return f.look().Err() }

// everyKind is a mutation of parts of every kind.
func everyKind(w *world, i int) driver.Mutation {
	old, fresh := fmt.Sprint("old", i), fmt.Sprint("new", i)
	w.puts(home, old)
	m := retired(retire(home, old, driver.Superseded, fresh))
	m.Put = append(w.placed(home, fresh), w.placed(at(home.Tenant, "sales"), fresh)...)
	m.Documents = acts(driver.Set, note(home, fresh, "x"), digest(home, fresh, fresh)).Documents
	m.Events = []events.Record{w.event(fresh, fresh)}
	return m
}

// midway makes mutations under contexts that end ever later, until one outlasts its mutation. Those of which a first part
// has happened are taken on the reference, so that an audit finds what else has not, or has.
func (w *world) midway(make func(w *world, i int) driver.Mutation) {
	for i := range 200 {
		m := make(w, i)
		ctx := fadingAfter(w.ctx, i)
		w.did("under a context that ends when it is looked at for the %d. time apply %s", i+1, m)
		applied, err := w.makeOn(ctx, w.store, m)
		happened := w.happened(&m)
		w.check(err != nil || happened, "everything done, as the call said", "nothing")
		revs := applied.Revs
		if happened && err != nil {
			for i := range m.Documents {
				for _, d := range w.documents(exactly(&m.Documents[i].Document)) {
					revs = append(revs, d.Rev)
				}
			}
			w.check(len(revs) == len(m.Documents), "all parts or none", "an entry without its documents")
		}
		if happened {
			_, failed := w.ref.apply(home.Tenant, &m, revs, w.level == LevelAdapter)
			w.must(failed)
		}
		if err == nil && ctx.left.Load() >= 0 {
			return
		}
	}
}

// happened looks whether the first part of a mutation has happened.
func (w *world) happened(m *driver.Mutation) bool {
	if len(m.Put) > 0 {
		_, missing := w.tryGet(home, m.Put[0].Entry.ID)
		return missing == nil
	}
	_, missing := w.tryGet(home, m.Retire[0].ID)
	return missing != nil
}

package adaptertest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// broken is an in-memory store with one defect. The defect replaces some of the functions
// below, each of which does at first what the in-memory store does.
type broken struct {
	*inmem.Store
	opened int  // how often the data was opened before
	killed bool // it was opened after a kill

	list      func(context.Context, driver.Scope, driver.Query) ([]driver.Entry, error)
	get       func(context.Context, driver.Scope, string, time.Time) (driver.Entry, error)
	put       func(context.Context, driver.Scope, driver.Entry) error
	del       func(context.Context, driver.Scope, string, time.Time) (bool, error)
	apply     func(context.Context, string, driver.Mutation) (driver.Applied, error)
	lookup    func(context.Context, driver.Scope, []string) ([]driver.Record, error)
	history   func(context.Context, string, driver.HistoryQuery) iter.Seq2[driver.Record, error]
	documents func(context.Context, driver.DocumentQuery) iter.Seq2[driver.Document, error]
	outbox    func(context.Context, string, string) iter.Seq2[events.Record, error]
	due       func(context.Context, string, time.Time, int) ([]driver.Document, error)
	changes   func(context.Context, driver.Scope, driver.Version, driver.Version) (driver.ChangeSet, error)
	scopes    func(context.Context, driver.Scope) iter.Seq2[driver.Scope, error]
	drop      func(context.Context, string, int) (bool, error)
	read      func(context.Context, string, string, int64, int) ([]events.RunEvent, error)
	text      func() string

	was *past
}

// past is all that was ever put by any handle of the data.
type past struct {
	mu      sync.Mutex
	entries map[driver.Scope]map[string]driver.Entry
}

// newBroken opens a store with a defect, or the data of another once more.
func newBroken(defect func(b *broken), data *broken) *broken {
	b := &broken{Store: inmem.New(), was: &past{entries: map[driver.Scope]map[string]driver.Entry{}}}
	if data != nil {
		b.Store, b.was, b.opened, b.killed = data.Store, data.was, data.opened+1, data.killed
	}
	in := b.Store
	b.list, b.get, b.put, b.del, b.apply, b.lookup, b.documents = in.List, in.Get, in.Put, in.Delete, in.Apply, in.Lookup, in.Documents
	b.outbox, b.due, b.changes, b.scopes, b.drop, b.read = in.Undelivered, in.Due, in.Changes, in.Scopes, in.DropTenant, in.Read
	b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
		all, err := collect(in.History(ctx, tenant, q))
		slices.SortFunc(all, func(a, b driver.Record) int {
			return slices.Compare([]string{a.Ref, a.Entry.ID}, []string{b.Ref, b.Entry.ID})
		})
		return sequence(all, err) // in one order, so that texts are the same in each run
	}
	b.text = func() string { return "a store" }
	defect(b)
	return b
}

// configOf is the kit's view of stores with a defect. Their data outlives them as long as one of
// them is held.
func configOf(defect func(b *broken)) Config {
	again := func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
		return newBroken(defect, a.(*broken)), nil
	}
	return Config{
		Short:  true,
		New:    func(context.Context) (driver.Adapter, error) { return newBroken(defect, nil), nil },
		Reopen: again,
	}
}

func (b *broken) Durable() bool  { return true }
func (b *broken) ReadOnly() bool { return false }
func (b *broken) String() string { return b.text() }

func (b *broken) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return b.list(ctx, s, q)
}

func (b *broken) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	return b.get(ctx, s, id, at)
}

func (b *broken) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	b.was.keep(s, e)
	return b.put(ctx, s, e)
}

func (b *broken) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	return b.del(ctx, s, id, at)
}

func (b *broken) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	for _, p := range m.Put {
		b.was.keep(p.Scope, p.Entry)
	}
	return b.apply(ctx, tenant, m)
}

func (b *broken) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	return b.lookup(ctx, s, ids)
}

func (b *broken) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return b.history(ctx, tenant, q)
}

func (b *broken) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return b.documents(ctx, q)
}

func (b *broken) Undelivered(ctx context.Context, tenant, run string) iter.Seq2[events.Record, error] {
	return b.outbox(ctx, tenant, run)
}

func (b *broken) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return b.due(ctx, kind, at, limit)
}

func (b *broken) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	return b.changes(ctx, s, from, to)
}

func (b *broken) Scopes(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error] {
	return b.scopes(ctx, after)
}

func (b *broken) DropTenant(ctx context.Context, tenant string, limit int) (bool, error) {
	return b.drop(ctx, tenant, limit)
}

func (b *broken) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	return b.read(ctx, tenant, run, from, limit)
}

func (p *past) keep(s driver.Scope, e driver.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries[s] == nil {
		p.entries[s] = map[string]driver.Entry{}
	}
	if _, known := p.entries[s][e.ID]; !known {
		p.entries[s][e.ID] = e
	}
}

// others are entries that were ever put in a scope, were not found, and whose record is of a kind.
func (b *broken) others(s driver.Scope, found []driver.Entry, kind func(r driver.Record) bool) (all []driver.Entry) {
	b.was.mu.Lock()
	defer b.was.mu.Unlock()
	for id, e := range sorted(b.was.entries[s]) {
		if !slices.Contains(ids(found), id) && kind(b.record(s, id)) {
			all = append(all, e)
		}
	}
	return all
}

// known are the scopes in which anything was ever put.
func (b *broken) known(match func(s driver.Scope) bool) (all []driver.Scope) {
	b.was.mu.Lock()
	defer b.was.mu.Unlock()
	for s := range b.was.entries {
		if match(s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, compareScopes)
	return all
}

// record is what the store holds of an entry, or nothing.
func (b *broken) record(s driver.Scope, id string) (rec driver.Record) {
	if recs, _ := b.Store.Lookup(context.Background(), s, []string{id}); len(recs) > 0 {
		rec = recs[0]
	}
	return rec
}

// document is a document as the store has it; its revision is 0 if there is none.
func (b *broken) document(d *driver.Document) driver.Document {
	for held := range b.Store.Documents(context.Background(), exactly(d)) {
		return held
	}
	return driver.Document{}
}

// changed alters entries as they are put.
func changed(f func(e driver.Entry) driver.Entry) func(b *broken) {
	return func(b *broken) {
		b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error { return b.Store.Put(ctx, s, f(e)) }
		mutated(func(_ *broken, m *driver.Mutation) {
			m.Put = slices.Clone(m.Put)
			for i := range m.Put {
				m.Put[i].Entry = f(m.Put[i].Entry)
			}
		})(b)
	}
}

// mutated changes a mutation before the store has it.
func mutated(f func(b *broken, m *driver.Mutation)) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			f(b, &m)
			return b.Store.Apply(ctx, tenant, m)
		}
	}
}

// swapped changes swaps before the store has them.
func swapped(f func(b *broken, x *driver.DocumentSwap) error) func(b *broken) {
	return func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			m.Documents = slices.Clone(m.Documents)
			for i := range m.Documents {
				if err := f(b, &m.Documents[i]); err != nil {
					return driver.Applied{}, err
				}
			}
			return b.Store.Apply(ctx, tenant, m)
		}
	}
}

// listed makes something else of what a list has found, now or at a version.
func listed(f func(b *broken, s driver.Scope, q driver.Query, found []driver.Entry) []driver.Entry) func(b *broken) {
	return func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			found, err := b.Store.List(ctx, s, q)
			if err == nil {
				found = f(b, s, q, slices.Clone(found))
			}
			return found, err
		}
	}
}

// lingering shows content that goes with an erasure, if stays says so.
func lingering(stays func(d driver.Document) bool) func(b *broken) {
	return func(b *broken) {
		var mu sync.Mutex
		var kept []driver.Document
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			before, _ := collect(b.Store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true}))
			made, err := b.Store.Apply(ctx, tenant, m)
			mu.Lock()
			defer mu.Unlock()
			for _, d := range before {
				if err == nil && len(m.Erase) > 0 && d.Class == driver.Content && b.document(&d).Rev == 0 && stays(d) {
					kept = append(kept, d)
				}
			}
			return made, err
		}
		b.documents = func(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
			docs, err := collect(b.Store.Documents(ctx, q))
			mu.Lock()
			defer mu.Unlock()
			for _, d := range kept {
				if q.Tenant == d.Tenant && (q.EveryRef || q.Ref == d.Ref) && (q.Kind == "" || q.Kind == d.Kind) && (q.Key == "" || q.Key == d.Key) && q.Group == "" && q.Subject == "" {
					docs = append(docs, d)
				}
			}
			return sequence(docs, err)
		}
	}
}

// pause lets other goroutines go on.
func pause() {
	for range 100 {
		runtime.Gosched()
	}
}

var errLocked = errors.New("the database is locked")

func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for x, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// sequence yields a list, and then an error if there is one.
func sequence[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func newestFirst(a, b driver.Entry) int { return a.Compare(&b) }

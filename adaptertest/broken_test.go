package adaptertest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// broken is an in-memory store with one defect. The defect replaces one of the
// functions below, each of which does at first what the in-memory store does.
type broken struct {
	in *inmem.Store
	// handle counts how often the data was opened before.
	handle int

	// What is said of the six ways to read: from which scopes, as of which instant,
	// and what is shown of what was found.
	from    map[string]func(s memory.Scope) []memory.Scope
	instant map[string]func(at time.Time) time.Time
	show    map[string]func(s memory.Scope, at time.Time, found []memory.Entry) []memory.Entry
	// What is said of the queries of list, scan and list-at.
	query map[string]func(s memory.Scope, q memory.Query) memory.Query

	list        func(context.Context, memory.Scope, memory.Query) ([]memory.Entry, error)
	get         func(context.Context, memory.Scope, string, time.Time) (memory.Entry, error)
	put         func(context.Context, memory.Scope, memory.Entry) error
	del         func(context.Context, memory.Scope, string, time.Time) (bool, error)
	apply       func(context.Context, string, memory.Mutation) (memory.Version, error)
	lookup      func(context.Context, memory.Scope, string) (memory.Record, error)
	history     func(context.Context, string, memory.HistoryQuery) iter.Seq2[memory.Record, error]
	cell        func(context.Context, memory.Scope, string) ([]byte, error)
	undelivered func(context.Context, memory.OutboxQuery) ([]events.Record, error)
	delivered   func(context.Context, []events.Record) error
	version     func(context.Context, string) (memory.Version, error)
	listAt      func(context.Context, memory.Scope, memory.Version, memory.Query) ([]memory.Entry, error)
	getAt       func(context.Context, memory.Scope, memory.Version, string, time.Time) (memory.Entry, error)
	intact      func(context.Context, string, memory.Version) (bool, error)
	purge       func(context.Context, string, memory.Version, time.Time) (int, error)
	search      func(context.Context, memory.Scope, memory.Search) ([]memory.Entry, error)
	scan        func(context.Context, memory.Scope, memory.Query) iter.Seq2[memory.Entry, error]
	text        func() string

	mu     *sync.Mutex
	scopes map[memory.Scope][]memory.Entry // all that was ever put
}

// memo is what a broken store notes for itself. Stores are used from goroutines, and a
// defect is to be wrong in its one way only.
type memo[K comparable, V any] struct{ notes sync.Map }

func (m *memo[K, V]) set(key K, value V) { m.notes.Store(key, value) }

func (m *memo[K, V]) find(key K) (value V, known bool) {
	if found, ok := m.notes.Load(key); ok {
		return found.(V), true
	}
	return value, false
}

func (m *memo[K, V]) get(key K) V {
	value, _ := m.find(key)
	return value
}

// newBroken opens a store with a defect, or the data of another once more.
func newBroken(defect func(b *broken), data *broken) *broken {
	b := &broken{in: inmem.New(), mu: new(sync.Mutex), scopes: map[memory.Scope][]memory.Entry{}}
	if data != nil {
		b.in, b.mu, b.scopes, b.handle = data.in, data.mu, data.scopes, data.handle+1
	}
	b.from = map[string]func(memory.Scope) []memory.Scope{}
	b.instant = map[string]func(time.Time) time.Time{}
	b.show = map[string]func(memory.Scope, time.Time, []memory.Entry) []memory.Entry{}
	b.query = map[string]func(memory.Scope, memory.Query) memory.Query{}
	b.list, b.get, b.put, b.del = b.in.List, b.in.Get, b.in.Put, b.in.Delete
	b.apply, b.lookup, b.history, b.cell = b.in.Apply, b.in.Lookup, b.inOrder, b.in.Cell
	b.undelivered, b.delivered, b.version = b.in.Undelivered, b.in.Delivered, b.in.Version
	b.listAt, b.getAt, b.intact, b.purge = b.in.ListAt, b.in.GetAt, b.in.Intact, b.in.Purge
	b.search, b.scan = b.in.Search, b.in.Scan
	b.text = func() string { return "a store" }
	defect(b)
	return b
}

// configOf is the kit's view of stores with a defect. Their data outlive them as
// long as somebody holds them.
func configOf(defect func(b *broken)) Config {
	return Config{
		New: func(context.Context) (memory.Adapter, error) { return newBroken(defect, nil), nil },
		Reopen: func(_ context.Context, a memory.Adapter) (memory.Adapter, error) {
			return newBroken(defect, a.(*broken)), nil
		},
	}
}

func (b *broken) Traits() memory.Traits { return memory.Traits{Durable: true} }
func (b *broken) String() string        { return b.text() }

// keep remembers what was put.
func (b *broken) keep(s memory.Scope, e memory.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.scopes[s], func(o memory.Entry) bool { return o.ID == e.ID }) {
		b.scopes[s] = append(b.scopes[s], e)
	}
}

// kept are the entries that were ever put in a scope.
func (b *broken) kept(s memory.Scope) []memory.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.scopes[s])
}

// others are entries that were ever put in a scope, are not among those found, and
// whose record is of a certain kind.
func (b *broken) others(s memory.Scope, found []memory.Entry, kind func(r memory.Record) bool) []memory.Entry {
	var out []memory.Entry
	for _, e := range b.kept(s) {
		rec, err := b.in.Lookup(context.Background(), s, e.ID)
		if err == nil && kind(rec) && !slices.ContainsFunc(found, func(o memory.Entry) bool { return o.ID == e.ID }) {
			out = append(out, e)
		}
	}
	return out
}

// known are the scopes to which anything was ever put.
func (b *broken) known(match func(s memory.Scope) bool) []memory.Scope {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []memory.Scope
	for s := range b.scopes {
		if match(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b memory.Scope) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref))
	})
	return out
}

// inOrder is the history of the store in one order, so that what a defect makes of it
// does not depend on chance.
func (b *broken) inOrder(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		all, err := collect(b.in.History(ctx, tenant, q))
		if err != nil {
			yield(memory.Record{}, err)
			return
		}
		slices.SortFunc(all, func(a, b memory.Record) int {
			return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Entry.ID, b.Entry.ID))
		})
		for _, rec := range all {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// read is a read by one of the six ways, with the defect that it has.
func (b *broken) read(way string, s memory.Scope, at time.Time, do func(s memory.Scope, at time.Time) ([]memory.Entry, error)) ([]memory.Entry, error) {
	judged := at
	if f := b.instant[way]; f != nil {
		judged = f(at)
	}
	from := []memory.Scope{s}
	if f := b.from[way]; f != nil {
		from = f(s)
	}
	var found []memory.Entry
	for _, s := range from {
		part, err := do(s, judged)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	if len(from) > 1 {
		slices.SortFunc(found, newestFirst)
	}
	if f := b.show[way]; f != nil {
		found = f(s, at, slices.Clone(found))
	}
	return found, nil
}

func newestFirst(a, b memory.Entry) int {
	if a.Before(&b) {
		return -1
	}
	return 1
}

// one turns a get into a read.
func one(e memory.Entry, err error) ([]memory.Entry, error) {
	if err == memory.ErrNotFound {
		return nil, nil
	}
	return []memory.Entry{e}, err
}

func first(found []memory.Entry, err error) (memory.Entry, error) {
	if err != nil {
		return memory.Entry{}, err
	}
	if len(found) == 0 {
		return memory.Entry{}, memory.ErrNotFound
	}
	return found[0], nil
}

func (b *broken) List(ctx context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	q = b.narrow("list", s, q)
	return b.read("list", s, q.At, func(s memory.Scope, at time.Time) ([]memory.Entry, error) {
		q.At = at
		return b.list(ctx, s, q)
	})
}

func (b *broken) narrow(way string, s memory.Scope, q memory.Query) memory.Query {
	if f := b.query[way]; f != nil {
		return f(s, q)
	}
	return q
}

func (b *broken) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	if b.from["get"] == nil && b.instant["get"] == nil && b.show["get"] == nil {
		return b.get(ctx, s, id, at)
	}
	return first(b.read("get", s, at, func(s memory.Scope, at time.Time) ([]memory.Entry, error) { return one(b.get(ctx, s, id, at)) }))
}

func (b *broken) Search(ctx context.Context, s memory.Scope, q memory.Search) ([]memory.Entry, error) {
	return b.read("search", s, q.At, func(s memory.Scope, at time.Time) ([]memory.Entry, error) {
		q.At = at
		return b.search(ctx, s, q)
	})
}

func (b *broken) Scan(ctx context.Context, s memory.Scope, q memory.Query) iter.Seq2[memory.Entry, error] {
	q = b.narrow("scan", s, q)
	if b.from["scan"] == nil && b.instant["scan"] == nil && b.show["scan"] == nil {
		return b.scan(ctx, s, q)
	}
	return func(yield func(memory.Entry, error) bool) {
		found, err := b.read("scan", s, q.At, func(s memory.Scope, at time.Time) ([]memory.Entry, error) {
			q.At = at
			return collect(b.scan(ctx, s, q))
		})
		if err != nil {
			yield(memory.Entry{}, err)
			return
		}
		erased := func(e memory.Entry) bool {
			rec, err := b.in.Lookup(ctx, s, e.ID)
			return err == nil && rec.Erased
		}
		before := make([]bool, len(found))
		for i, e := range found {
			before[i] = erased(e)
		}
		for i, e := range found {
			if !before[i] && erased(e) {
				continue // an erasure reaches what was read ahead
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

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

func (b *broken) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	asked := s
	q = b.narrow("list-at", s, q)
	return b.read("list-at", s, q.At, func(s memory.Scope, at time.Time) ([]memory.Entry, error) {
		q.At = at
		return b.listAt(ctx, s, b.at(ctx, asked, s, v), q)
	})
}

func (b *broken) GetAt(ctx context.Context, s memory.Scope, v memory.Version, id string, at time.Time) (memory.Entry, error) {
	if b.from["get-at"] == nil && b.instant["get-at"] == nil && b.show["get-at"] == nil {
		return b.getAt(ctx, s, v, id, at)
	}
	asked := s
	return first(b.read("get-at", s, at, func(s memory.Scope, at time.Time) ([]memory.Entry, error) {
		return one(b.getAt(ctx, s, b.at(ctx, asked, s, v), id, at))
	}))
}

// at is the version of a read that wanders from the tenant that was asked into another.
func (b *broken) at(ctx context.Context, asked, s memory.Scope, v memory.Version) memory.Version {
	if _, err := b.in.Intact(ctx, asked.Tenant, v); err == nil && s.Tenant != asked.Tenant {
		v, _ = b.in.Version(ctx, s.Tenant)
	}
	return v
}

func (b *broken) Put(ctx context.Context, s memory.Scope, e memory.Entry) error {
	b.keep(s, e)
	return b.put(ctx, s, e)
}

func (b *broken) Delete(ctx context.Context, s memory.Scope, id string, at time.Time) (bool, error) {
	return b.del(ctx, s, id, at)
}

func (b *broken) Apply(ctx context.Context, tenant string, m memory.Mutation) (memory.Version, error) {
	for _, p := range m.Put {
		b.keep(p.Scope, p.Entry)
	}
	return b.apply(ctx, tenant, m)
}

func (b *broken) Lookup(ctx context.Context, s memory.Scope, id string) (memory.Record, error) {
	return b.lookup(ctx, s, id)
}

func (b *broken) History(ctx context.Context, tenant string, q memory.HistoryQuery) iter.Seq2[memory.Record, error] {
	return b.history(ctx, tenant, q)
}

func (b *broken) Cell(ctx context.Context, s memory.Scope, name string) ([]byte, error) {
	return b.cell(ctx, s, name)
}

func (b *broken) Undelivered(ctx context.Context, q memory.OutboxQuery) ([]events.Record, error) {
	return b.undelivered(ctx, q)
}

func (b *broken) Delivered(ctx context.Context, recs []events.Record) error {
	return b.delivered(ctx, recs)
}

func (b *broken) Version(ctx context.Context, tenant string) (memory.Version, error) {
	return b.version(ctx, tenant)
}

func (b *broken) Intact(ctx context.Context, tenant string, v memory.Version) (bool, error) {
	return b.intact(ctx, tenant, v)
}

func (b *broken) Purge(ctx context.Context, tenant string, v memory.Version, at time.Time) (int, error) {
	return b.purge(ctx, tenant, v, at)
}

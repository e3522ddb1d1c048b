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
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// broken is an in-memory store with one defect. The defect replaces one of the
// functions below, each of which does at first what the in-memory store does.
type broken struct {
	in sound
	// handle counts how often the data was opened before.
	handle int

	// What is said of the six ways to read: from which scopes, as of which instant,
	// and what is shown of what was found.
	from    map[string]func(s driver.Scope) []driver.Scope
	instant map[string]func(at time.Time) time.Time
	show    map[string]func(s driver.Scope, at time.Time, found []driver.Entry) []driver.Entry
	// What is said of the queries of list and list-at.
	query map[string]func(s driver.Scope, q driver.Query) driver.Query

	list        func(context.Context, driver.Scope, driver.Query) ([]driver.Entry, error)
	get         func(context.Context, driver.Scope, string, time.Time) (driver.Entry, error)
	put         func(context.Context, driver.Scope, driver.Entry) error
	del         func(context.Context, driver.Scope, string, time.Time) (bool, error)
	apply       func(context.Context, string, driver.Mutation) (driver.Applied, error)
	lookup      func(context.Context, driver.Scope, string) (driver.Record, error) // of one id; nil for lookups
	lookups     func(context.Context, driver.Scope, []string) ([]driver.Record, error)
	history     func(context.Context, string, driver.HistoryQuery) iter.Seq2[driver.Record, error]
	documents   func(context.Context, driver.DocumentQuery) iter.Seq2[driver.Document, error]
	undelivered func(context.Context, outboxQuery) ([]events.Record, error) // nil for outbox
	outbox      func(context.Context, outboxQuery) iter.Seq2[events.Record, error]
	waiting     func(context.Context, string, int) (int, error)
	delivered   func(context.Context, []events.Record) error
	version     func(context.Context, string) (driver.Version, error)
	listAt      func(context.Context, driver.Scope, driver.Version, driver.Query) ([]driver.Entry, error)
	getAt       func(context.Context, driver.Scope, driver.Version, string, time.Time) (driver.Entry, error) // of one id; nil for getsAt
	getsAt      func(context.Context, driver.Scope, driver.Version, []string, time.Time) ([]driver.Entry, error)
	intact      func(context.Context, driver.Scope, driver.Version) (bool, error)
	purge       func(context.Context, string, driver.Version, time.Time) (int, error)
	due         func(context.Context, string, time.Time, int) ([]driver.Document, error)
	changes     func(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error)
	listed      func(ctx context.Context, after driver.Scope) iter.Seq2[driver.Scope, error]
	drop        func(ctx context.Context, tenant string, limit int) (bool, error)
	emit        func(ctx context.Context, recs []events.Record) error // of mutations that only keep events; nil for apply
	purgeEvents func(ctx context.Context, before time.Time, limit int) (bool, error)
	readLog     func(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error)
	text        func() string
	purged      memo[string, int64] // by run, the first sequence that a defect shows

	mu     *sync.Mutex
	scopes map[driver.Scope][]driver.Entry // all that was ever put
	gone   int                             // events that were delivered
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
	b := &broken{in: sound{inmem.New()}, mu: new(sync.Mutex), scopes: map[driver.Scope][]driver.Entry{}}
	if data != nil {
		b.in, b.mu, b.scopes, b.handle = data.in, data.mu, data.scopes, data.handle+1
	}
	b.from = map[string]func(driver.Scope) []driver.Scope{}
	b.instant = map[string]func(time.Time) time.Time{}
	b.show = map[string]func(driver.Scope, time.Time, []driver.Entry) []driver.Entry{}
	b.query = map[string]func(driver.Scope, driver.Query) driver.Query{}
	b.list, b.get, b.put, b.del = b.in.List, b.in.Get, b.in.Put, b.in.Delete
	b.apply, b.lookups, b.history, b.documents = b.in.Apply, b.in.Lookup, b.inOrder, b.in.Documents
	b.outbox, b.waiting, b.delivered, b.version = b.in.allOutbox, b.in.Waiting, b.in.Delivered, b.in.Version
	b.listAt, b.getsAt, b.intact, b.purge = b.in.ListAt, b.in.GetAt, b.in.Intact, b.in.Purge
	b.due, b.changes, b.listed, b.drop = b.in.Due, b.in.Changes, b.in.Scopes, b.in.DropTenant
	b.readLog, b.purgeEvents = b.in.Read, b.in.PurgeEvents
	b.text = func() string { return "a store" }
	defect(b)
	return b
}

// configOf is the kit's view of stores with a defect. Their data outlive them as
// long as somebody holds them.
func configOf(defect func(b *broken)) Config {
	return Config{
		short: true,
		New:   func(context.Context) (driver.Adapter, error) { return newBroken(defect, nil), nil },
		Reopen: func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
			return newBroken(defect, a.(*broken)), nil
		},
	}
}

func (b *broken) Durable() bool  { return true }
func (b *broken) ReadOnly() bool { return false }
func (b *broken) String() string { return b.text() }

func (b *broken) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	return b.readLog(ctx, tenant, run, from, limit)
}

func (b *broken) PurgeEvents(ctx context.Context, before time.Time, limit int) (bool, error) {
	return b.purgeEvents(ctx, before, limit)
}

// keep remembers what was put.
func (b *broken) keep(s driver.Scope, e driver.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.scopes[s], func(o driver.Entry) bool { return o.ID == e.ID }) {
		b.scopes[s] = append(b.scopes[s], e)
	}
}

// kept are the entries that were ever put in a scope.
func (b *broken) kept(s driver.Scope) []driver.Entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.scopes[s])
}

// others are entries that were ever put in a scope, are not among those found, and
// whose record is of a certain kind.
func (b *broken) others(s driver.Scope, found []driver.Entry, kind func(r driver.Record) bool) []driver.Entry {
	var out []driver.Entry
	for _, e := range b.kept(s) {
		rec, err := b.in.find(context.Background(), s, e.ID)
		if err == nil && kind(rec) && !slices.ContainsFunc(found, func(o driver.Entry) bool { return o.ID == e.ID }) {
			out = append(out, e)
		}
	}
	return out
}

// known are the scopes to which anything was ever put.
func (b *broken) known(match func(s driver.Scope) bool) []driver.Scope {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []driver.Scope
	for s := range b.scopes {
		if match(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b driver.Scope) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Ref, b.Ref))
	})
	return out
}

// inOrder is the history of the store in one order, so that what a defect makes of it
// does not depend on chance.
func (b *broken) inOrder(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		all, err := collect(b.in.History(ctx, tenant, q))
		if err != nil {
			yield(driver.Record{}, err)
			return
		}
		slices.SortFunc(all, func(a, b driver.Record) int {
			return cmp.Or(strings.Compare(a.Ref, b.Ref), strings.Compare(a.Entry.ID, b.Entry.ID))
		})
		for _, rec := range all {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// read is a read by one of the ways, with the defect that it has.
func (b *broken) read(way string, s driver.Scope, at time.Time, do func(s driver.Scope, at time.Time) ([]driver.Entry, error)) ([]driver.Entry, error) {
	judged := at
	if f := b.instant[way]; f != nil {
		judged = f(at)
	}
	from := []driver.Scope{s}
	if f := b.from[way]; f != nil {
		from = f(s)
	}
	var found []driver.Entry
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

// sound is the in-memory store, by one id and by lists.
type sound struct{ *inmem.Store }

func (st sound) find(ctx context.Context, s driver.Scope, id string) (driver.Record, error) {
	return first(st.Lookup(ctx, s, []string{id}))
}

func (st sound) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	q.Version = v
	return st.List(ctx, s, q)
}

func (st sound) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	return st.List(ctx, s, driver.Query{At: at, Version: v, IDs: ids})
}

func (st sound) getAt(ctx context.Context, s driver.Scope, v driver.Version, id string, at time.Time) (driver.Entry, error) {
	return first(st.GetAt(ctx, s, v, []string{id}, at))
}

// outboxQuery asks for what waits: of all, of a tenant, or of a run of it.
type outboxQuery struct{ Tenant, RunID string }

func (st sound) outbox(ctx context.Context, q outboxQuery) ([]events.Record, error) {
	return collect(st.allOutbox(ctx, q))
}

func (st sound) allOutbox(ctx context.Context, q outboxQuery) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		for r, err := range st.Undelivered(ctx, "", "") {
			if err == nil && (q.Tenant != "" && q.Tenant != r.Tenant || q.RunID != "" && q.RunID != r.RunID) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Emit keeps events.
func (st sound) Emit(ctx context.Context, recs ...events.Record) error {
	return keptLog{st.Store}.Emit(ctx, recs...)
}

// first is what came of one id.
func first[T any](found []T, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, driver.ErrNotFound
	}
	return found[0], nil
}

// each reads ids one by one.
func each[T any](ids []string, get func(id string) (T, error)) ([]T, error) {
	var out []T
	for _, id := range ids {
		x, err := get(id)
		if err == nil {
			out = append(out, x)
		} else if err != driver.ErrNotFound {
			return nil, err
		}
	}
	return out, nil
}

// sequence yields a list.
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

func newestFirst(a, b driver.Entry) int {
	if a.Before(&b) {
		return -1
	}
	return 1
}

// one turns a get into a read.
func one(e driver.Entry, err error) ([]driver.Entry, error) {
	if err == driver.ErrNotFound {
		return nil, nil
	}
	return []driver.Entry{e}, err
}

func (b *broken) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	if q.Version != "" && len(q.IDs) > 0 {
		return b.namedAt(ctx, s, q)
	}
	if q.Version != "" {
		return b.pageAt(ctx, s, q)
	}
	way := "list"
	if len(q.IDs) > 0 {
		way = "by-ids"
	}
	q = b.narrow("list", s, q)
	return b.read(way, s, q.At, func(s driver.Scope, at time.Time) ([]driver.Entry, error) {
		q.At = at
		return b.list(ctx, s, q)
	})
}

func (b *broken) narrow(way string, s driver.Scope, q driver.Query) driver.Query {
	if f := b.query[way]; f != nil {
		return f(s, q)
	}
	return q
}

func (b *broken) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	if b.from["get"] == nil && b.instant["get"] == nil && b.show["get"] == nil {
		return b.get(ctx, s, id, at)
	}
	return first(b.read("get", s, at, func(s driver.Scope, at time.Time) ([]driver.Entry, error) { return one(b.get(ctx, s, id, at)) }))
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

// pageAt lists at a version.
func (b *broken) pageAt(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	asked, v := s, q.Version
	q = b.narrow("list-at", s, q)
	return b.read("list-at", s, q.At, func(s driver.Scope, at time.Time) ([]driver.Entry, error) {
		q.At = at
		return b.listAt(ctx, s, b.at(ctx, asked, s, v), q)
	})
}

// namedAt lists entries at a version by their ids.
func (b *broken) namedAt(ctx context.Context, asked driver.Scope, q driver.Query) ([]driver.Entry, error) {
	narrow := q
	narrow.Limit, narrow.At = 0, time.Time{}
	found, err := b.read("get-at", asked, q.At, func(s driver.Scope, at time.Time) ([]driver.Entry, error) {
		v := q.Version
		if b.from["get-at"] != nil {
			v = b.at(ctx, asked, s, v)
		}
		if b.getAt == nil {
			return b.getsAt(ctx, s, v, q.IDs, at)
		}
		ids := slices.Clone(q.IDs)
		slices.Sort(ids)
		found, err := each(slices.Compact(ids), func(id string) (driver.Entry, error) { return b.getAt(ctx, s, v, id, at) })
		slices.SortFunc(found, newestFirst)
		return found, err
	})
	found = slices.DeleteFunc(found, func(e driver.Entry) bool { e.ExpiresAt = time.Time{}; return !narrow.Matches(&e) })
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, err
}

// at is the version of a read that wanders from the tenant that was asked into another.
func (b *broken) at(ctx context.Context, asked, s driver.Scope, v driver.Version) driver.Version {
	if _, err := b.in.Intact(ctx, asked, v); err == nil && s.Tenant != asked.Tenant {
		v, _ = b.in.Version(ctx, s.Tenant)
	}
	return v
}

func (b *broken) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	b.keep(s, e)
	return b.put(ctx, s, e)
}

func (b *broken) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	return b.del(ctx, s, id, at)
}

func (b *broken) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	for _, p := range m.Put {
		b.keep(p.Scope, p.Entry)
	}
	if b.emit != nil && m.Keep && m.Unversioned() && m.Validate(tenant) == nil {
		return driver.Applied{}, b.emit(ctx, m.Events)
	}
	return b.apply(ctx, tenant, m)
}

func (b *broken) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	if b.lookup != nil {
		return each(ids, func(id string) (driver.Record, error) { return b.lookup(ctx, s, id) })
	}
	return b.lookups(ctx, s, ids)
}

func (b *broken) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return b.history(ctx, tenant, q)
}

func (b *broken) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return b.documents(ctx, q)
}

func (b *broken) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	q := outboxQuery{tenant, runID}
	if b.undelivered != nil {
		return sequence(b.undelivered(ctx, q))
	}
	return b.outbox(ctx, q)
}

func (b *broken) Waiting(ctx context.Context, tenant string, limit int) (int, error) {
	return b.waiting(ctx, tenant, limit)
}

func (b *broken) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return b.due(ctx, kind, at, limit)
}

func (b *broken) Changes(ctx context.Context, s driver.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	return b.changes(ctx, s, from, to)
}

func (b *broken) Delivered(ctx context.Context, recs []events.Record) error {
	return b.delivered(ctx, recs)
}

func (b *broken) Version(ctx context.Context, tenant string) (driver.Version, error) {
	return b.version(ctx, tenant)
}

func (b *broken) Intact(ctx context.Context, s driver.Scope, v driver.Version) (bool, error) {
	return b.intact(ctx, s, v)
}

func (b *broken) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	return b.purge(ctx, tenant, v, at)
}

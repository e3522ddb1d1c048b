package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// everything is what both stores offer.
type everything interface {
	driver.Versioned
	driver.Searcher
	driver.Scanner
	driver.Scheduler
	driver.Changes
}

// twins are the store of this package and the one in memory, which have had the same
// calls. What a store chooses itself, its versions and revisions, is kept in pairs.
type twins struct {
	t        *testing.T
	rand     *rand.Rand
	stores   [2]everything
	versions map[string][][2]driver.Version // of a tenant
	revs     map[driver.Located][][2]int64  // of a document, by its scope, kind and key
	at       time.Time
}

var (
	twinTenants = []string{"acme", "globex"}
	twinRefs    = []string{"a", "b", strings.Repeat("長", 200) + "1", strings.Repeat("長", 200) + "2"}
	twinIDs     = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	twinKinds   = []string{"k/1", "k/2"}
	twinLabels  = []string{"s1", "s2", strings.Repeat("l", 500)}
)

func pick[T any](w *twins, from []T) T { return from[w.rand.IntN(len(from))] }

func (w *twins) scope(tenant string) driver.Scope {
	return driver.Scope{Tenant: tenant, Ref: pick(w, twinRefs)}
}

// located is an entry, mostly one that is as fits says.
func (w *twins) located(s driver.Scope, fits func(r *driver.Record) bool) driver.Located {
	ids := twinIDs
	if w.some(0.95) {
		recs := must(w.stores[1].Lookup(context.Background(), s, twinIDs))
		recs = slices.DeleteFunc(recs, func(r driver.Record) bool { return !fits(&r) })
		if len(recs) > 0 {
			ids = []string{pick(w, recs).Entry.ID}
		}
	}
	return driver.Located{Scope: s, ID: pick(w, ids)}
}

func (w *twins) live(r *driver.Record) bool {
	return r.State == driver.Live && !r.Erased && r.Entry.LiveAt(w.at)
}

func whole(r *driver.Record) bool { return !r.Erased }

func retired(r *driver.Record) bool {
	return !r.Erased && (r.State == driver.Merged || r.State == driver.Superseded)
}

func (w *twins) some(p float64) bool { return w.rand.Float64() < p }

func (w *twins) entry() driver.Entry {
	e := driver.Entry{ID: pick(w, twinIDs), Content: fmt.Sprint("Text ", w.rand.IntN(2)), CreatedAt: now.Add(time.Duration(w.rand.IntN(3)) * time.Second), RunID: "r"}
	if w.some(0.3) {
		e.ExpiresAt = w.at.Add(time.Duration(w.rand.IntN(60)) * time.Second)
	}
	if w.some(0.5) {
		e.Tags, e.Subjects, e.Sources = []string{pick(w, []string{"x", "y"}), `q"{},\`}, []string{pick(w, twinLabels)}, []string{"0", "1"}
	}
	return e
}

// swap is a random swap, once as each store has the revision of the document.
func (w *twins) swap(tenant string) (x [2]driver.DocumentSwap) {
	d := driver.Document{Scope: w.scope(tenant), Kind: pick(w, twinKinds), Key: pick(w, twinIDs[:3])}
	if w.some(0.2) {
		d.Ref = ""
	}
	d.Class = driver.Class(w.rand.IntN(3))
	known := w.revs[driver.Located{Scope: d.Scope, ID: d.Kind + d.Key}]
	var rev [2]int64
	if n := len(known); n > 0 && w.some(0.9) {
		rev = known[n-1]
		if w.some(0.1) {
			rev = pick(w, known)
		}
	}
	if w.some(0.8) { // of the class that it has
		for got, err := range w.stores[1].Documents(context.Background(), driver.DocumentQuery{Tenant: tenant, Ref: d.Ref, Kind: d.Kind, Key: d.Key}) {
			require.NoError(w.t, err)
			d.Class = got.Class
		}
	}
	act := pick(w, []driver.Act{driver.Set, driver.Set, driver.Set, driver.Retain, driver.Check, driver.Remove})
	d.Value = []byte(fmt.Sprint("value ", w.rand.IntN(100)))
	d.Group = pick(w, []string{"", "g1", "g2"})
	switch d.Class {
	case driver.Machinery:
		if w.some(0.5) {
			d.Due = now.Add(time.Duration(w.rand.IntN(100)) * time.Second)
		}
	case driver.Content:
		d.Of = []string{w.located(d.Scope, whole).ID, w.located(d.Scope, whole).ID}
	case driver.HostText:
		d.Subjects = []string{pick(w, twinLabels)}
	}
	for i := range x {
		x[i] = driver.DocumentSwap{Document: d, Act: act}
		x[i].Rev = rev[i]
	}
	return x
}

// mutation is a random mutation, for each store. Few of its parts make it likely that it
// holds.
func (w *twins) mutation(tenant string) (m [2]driver.Mutation) {
	c := driver.Mutation{At: w.at}
	for range w.rand.IntN(4) / 2 {
		c.Put = append(c.Put, driver.Placed{Scope: w.scope(tenant), Entry: w.entry()})
	}
	if w.some(0.2) {
		c.Live = append(c.Live, w.located(w.scope(tenant), w.live))
	}
	for range w.rand.IntN(5) / 3 {
		l := w.located(w.scope(tenant), w.live)
		x := driver.Retirement{Located: l, State: driver.State(1 + w.rand.IntN(3)), For: w.located(l.Scope, w.live).ID}
		if x.State == driver.Deleted {
			x.For = ""
		}
		c.Retire = append(c.Retire, x)
	}
	if w.some(0.2) {
		c.Restore = append(c.Restore, w.located(w.scope(tenant), retired))
	}
	for range w.rand.IntN(6) / 4 {
		c.Erase = append(c.Erase, w.located(w.scope(tenant), whole))
	}
	for range w.rand.IntN(3) / 2 {
		c.Events = append(c.Events, events.Record{ID: pick(w, twinIDs), Tenant: tenant, RunID: pick(w, twinRefs), NodeID: "n", Time: w.at,
			Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
	}
	if w.some(0.4) { // machinery only, or documents only
		c = driver.Mutation{At: w.at}
	}
	m[0], m[1] = c, c
	for range w.rand.IntN(6) / 2 {
		x := w.swap(tenant)
		if len(c.Erase) > 0 && x[0].Act == driver.Retain {
			continue // whether the value was made from what is erased, only the store knows
		}
		for i := range m {
			m[i].Documents = append(m[i].Documents, x[i])
		}
	}
	return m
}

// step makes one random call of both stores, which end alike.
func (w *twins) step(ctx context.Context) {
	w.at = w.at.Add(time.Duration(w.rand.IntN(3)) * time.Second)
	tenant := pick(w, twinTenants)
	switch n := w.rand.IntN(20); {
	case n < 2:
		s, e := w.scope(tenant), w.entry()
		w.both(func(st everything, _ int) (any, error) { return nil, st.Put(ctx, s, e) })
	case n < 4:
		l := w.located(w.scope(tenant), w.live)
		w.both(func(st everything, _ int) (any, error) { return st.Delete(ctx, l.Scope, l.ID, w.at) })
	case n < 5:
		v := pick(w, w.versions[tenant])
		w.both(func(st everything, i int) (any, error) { return st.Purge(ctx, tenant, v[i], w.at.Add(-30*time.Second)) })
	case n < 6:
		var recs []events.Record
		for range 3 {
			recs = append(recs, events.Record{ID: pick(w, twinIDs), Tenant: tenant, RunID: pick(w, twinRefs)})
		}
		w.both(func(st everything, _ int) (any, error) { return nil, st.Delivered(ctx, recs) })
	default:
		m := w.mutation(tenant)
		var done [2]driver.Applied
		ok := w.both(func(st everything, i int) (any, error) {
			var err error
			done[i], err = st.Apply(ctx, tenant, m[i])
			return len(done[i].Revs), err
		})
		if !ok {
			return
		}
		require.Equal(w.t, done[0].Version == "", done[1].Version == "")
		if done[0].Version != "" {
			w.versions[tenant] = append(w.versions[tenant], [2]driver.Version{done[0].Version, done[1].Version})
		}
		for k, x := range m[0].Documents {
			at := driver.Located{Scope: x.Scope, ID: x.Kind + x.Key}
			rev := [2]int64{done[0].Revs[k], done[1].Revs[k]}
			require.Equal(w.t, rev[0] == 0, rev[1] == 0)
			if x.Act != driver.Check {
				w.revs[at] = append(w.revs[at], rev)
			}
		}
	}
}

// both calls both stores, which must answer alike, and reports whether without an error.
func (w *twins) both(call func(st everything, i int) (any, error)) bool {
	var answers [2]any
	var ends [2]error
	for i, st := range w.stores {
		answers[i], ends[i] = call(st, i)
	}
	for i, err := range ends {
		kind := (*driver.Kind)(nil)
		for _, k := range []*driver.Kind{driver.ErrNotFound, driver.ErrConflict, driver.ErrValidation, driver.ErrSnapshotUnavailable} {
			if errors.Is(err, k) {
				kind = k
			}
		}
		if err != nil && kind == nil {
			require.NoError(w.t, err, "%d %v", i, errors.Unwrap(err))
		}
		if kind != nil {
			ends[i] = kind
		}
	}
	require.Equal(w.t, ends[1], ends[0])
	require.Equal(w.t, answers[1], answers[0])
	return ends[0] == nil
}

// look compares every kind of read.
func (w *twins) look(ctx context.Context) {
	tenant := pick(w, twinTenants)
	s := w.scope(tenant)
	entries := func(list []driver.Entry, err error) (any, error) { return append([]driver.Entry{}, list...), err }
	for _, q := range []driver.Query{{}, {Limit: 2}, {Tag: "x"}, {After: driver.Cursor{CreatedAt: now.Add(time.Second), ID: "5"}}} {
		q.At = w.at
		w.both(func(st everything, _ int) (any, error) { return entries(st.List(ctx, s, q)) })
		w.both(func(st everything, _ int) (any, error) { return drain(st.Scan(ctx, s, q)) })
	}
	w.both(func(st everything, _ int) (any, error) {
		return entries(st.Search(ctx, s, driver.Search{Text: "TEXT 1", Limit: 3, At: w.at}))
	})
	l := w.located(s, w.live)
	w.both(func(st everything, _ int) (any, error) { return st.Get(ctx, l.Scope, l.ID, w.at) })
	ids := append([]string{"5", "none", "5"}, twinIDs...)
	w.both(func(st everything, _ int) (any, error) {
		recs, err := st.Lookup(ctx, s, ids)
		return append([]driver.Record{}, recs...), err
	})
	for range 3 {
		from, to := pick(w, w.versions[tenant]), pick(w, w.versions[pick(w, twinTenants)])
		w.both(func(st everything, i int) (any, error) {
			return entries(st.ListAt(ctx, s, from[i], driver.Query{At: w.at}))
		})
		w.both(func(st everything, i int) (any, error) { return entries(st.GetAt(ctx, s, from[i], ids, w.at)) })
		w.both(func(st everything, i int) (any, error) { return st.Intact(ctx, s, from[i]) })
		w.both(func(st everything, i int) (any, error) {
			c, err := st.Changes(ctx, s, from[i], to[i])
			for _, list := range []*[]string{&c.Put, &c.Retired, &c.Restored, &c.Erased} {
				*list = slices.Sorted(slices.Values(*list))
			}
			return c, err
		})
	}
	for _, q := range []driver.HistoryQuery{{}, {Ref: s.Ref}, {Subject: pick(w, twinLabels)}, {Ref: s.Ref, Subject: "s1"},
		{Ref: s.Ref, For: []string{"3", "1", "3", "none"}}, {Ref: s.Ref, Subject: "s1", For: twinIDs}} {
		w.both(func(st everything, _ int) (any, error) {
			recs, err := drain(st.History(ctx, tenant, q))
			slices.SortFunc(recs, func(a, b driver.Record) int {
				return cmp.Or(cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Entry.ID, b.Entry.ID))
			})
			return recs, err
		})
	}
	for _, q := range []driver.DocumentQuery{{EveryRef: true}, {}, {Ref: s.Ref}, {Ref: s.Ref, Kind: "k/1"}, {Ref: s.Ref, Kind: "k/1", Key: "1"},
		{EveryRef: true, Key: "2"}, {EveryRef: true, Group: "g1"}, {EveryRef: true, Subject: pick(w, twinLabels)}, {EveryRef: true, Kind: "k/2", Bare: true}} {
		q.Tenant = tenant
		w.both(func(st everything, i int) (any, error) {
			docs, err := drain(st.Documents(ctx, q))
			return w.documents(i, docs, err)
		})
	}
	w.both(func(st everything, i int) (any, error) {
		due, err := st.Due(ctx, "k/1", now.Add(50*time.Second), 1000)
		slices.SortFunc(due, func(a, b driver.Document) int {
			return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Ref, b.Ref), cmp.Compare(a.Key, b.Key))
		})
		return w.documents(i, due, err)
	})
	w.both(func(st everything, _ int) (any, error) {
		due, err := st.Due(ctx, "k/1", now.Add(50*time.Second), 2)
		instants := []time.Time{}
		for _, d := range due {
			instants = append(instants, d.Due)
		}
		return instants, err
	})
	for _, q := range []driver.OutboxQuery{{}, {Tenant: tenant}, {Tenant: tenant, RunID: s.Ref}} {
		w.both(func(st everything, _ int) (any, error) { return drain(st.Undelivered(ctx, q)) })
	}
	w.both(func(st everything, _ int) (any, error) { return st.Waiting(ctx, "", 1000) })
	w.both(func(st everything, _ int) (any, error) { return st.Waiting(ctx, tenant, 3) })
}

// documents takes out of documents what is a store's own, after comparing it with what
// the store has said.
func (w *twins) documents(store int, list []driver.Document, err error) (any, error) {
	for i := range list {
		d := &list[i]
		known := w.revs[driver.Located{Scope: d.Scope, ID: d.Kind + d.Key}]
		require.Equal(w.t, known[len(known)-1][store], d.Rev)
		d.Rev = 0
		if len(d.Value) == 0 {
			d.Value = nil
		}
	}
	return append([]driver.Document{}, list...), err
}

func drain[T any](seq func(yield func(T, error) bool)) ([]T, error) {
	list := []T{}
	for x, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, x)
	}
	return list, nil
}

// Random mutations leave this store and the one in memory with the same answers to every
// read, at every version.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx := t.Context()
			db := openDB(t, Options{RowSecurity: seed == 3})
			w := &twins{t: t, rand: rand.New(rand.NewPCG(seed, 1)), stores: [2]everything{db.Memory(), inmem.New()}, at: now,
				versions: map[string][][2]driver.Version{}, revs: map[driver.Located][][2]int64{}}
			for _, tenant := range twinTenants {
				var first [2]driver.Version
				for i, st := range w.stores {
					first[i] = must(st.Version(ctx, tenant))
				}
				w.versions[tenant] = append(w.versions[tenant], first)
			}
			for range 300 {
				w.step(ctx)
				w.look(ctx)
			}
		})
	}
}

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// everything is what both stores of a comparison offer.
type everything interface {
	driver.Versioned
	driver.EventKeeper
	driver.Scheduler
	driver.Changes
}

var (
	pairTenants = []string{"acme", "50%_o'Brien"}
	pairRefs    = []string{"r", "r/", "%"}
	pairKinds   = []string{"k", "k/1"}
	pairLabels  = []string{"customer:1", "customer:2", "customer:%"}
)

// pair is two stores that are asked the same: SQLite and the one in memory, which is
// checked against a model of its own.
type pair struct {
	t        *testing.T
	rng      *rand.Rand
	stores   [2]everything
	at       time.Time
	versions map[string][][2]driver.Version
	revs     map[docName]docRevs
	events   int
	classes  map[driver.Class]bool // of the documents that there were
}

func pick[T any](p *pair, of []T) T { return of[p.rng.IntN(len(of))] }

func (p *pair) id() string { return fmt.Sprintf("id%02d", p.rng.IntN(10)) }

func (p *pair) ids() (ids []string) {
	for range p.rng.IntN(4) {
		ids = append(ids, p.id())
	}
	return ids
}

func (p *pair) labels() (list []string) {
	for _, l := range pairLabels {
		if p.rng.IntN(3) == 0 {
			list = append(list, l)
		}
	}
	return list
}

func (p *pair) entry(id string) driver.Entry {
	e := driver.Entry{ID: id, Content: strings.Repeat("x", p.rng.IntN(3000)), CreatedAt: p.at.Add(time.Duration(p.rng.IntN(3)) * time.Millisecond), RunID: "run",
		Tags: pick(p, [][]string{nil, {"a"}, {"a", "b"}}), Subjects: p.labels()}
	if p.rng.IntN(4) == 0 {
		e.ExpiresAt = p.at.Add(time.Duration(1+p.rng.IntN(40)) * time.Millisecond)
	}
	return e
}

// docName is what a document is known by.
type docName struct {
	driver.Scope
	kind, key string
}

// docRevs are its revisions in both stores.
type docRevs struct {
	at    [2]int64
	class driver.Class
}

func name(d driver.Document) docName { return docName{d.Scope, d.Kind, d.Key} }

func (p *pair) swap(s driver.Scope) driver.DocumentSwap {
	x := driver.DocumentSwap{Document: driver.Document{Scope: s, Kind: pick(p, pairKinds), Key: fmt.Sprint(p.rng.IntN(4))}}
	x.Class = driver.Class((len(x.Kind) + int(x.Key[0])) % 3) // mostly as it is
	if p.rng.IntN(4) == 0 && x.Class != driver.Content {
		x.Ref = ""
	}
	var there []docName
	for d := range p.revs {
		if d.Tenant == s.Tenant {
			there = append(there, d)
		}
	}
	if len(there) > 0 && p.rng.IntN(2) == 0 {
		slices.SortFunc(there, func(a, b docName) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		d := pick(p, there)
		x.Scope, x.Kind, x.Key, x.Class = d.Scope, d.kind, d.key, p.revs[d].class
	}
	if p.rng.IntN(8) == 0 {
		x.Class = driver.Class(p.rng.IntN(3))
	}
	x.Act = pick(p, []driver.Act{driver.Set, driver.Set, driver.Set, driver.Retain, driver.Check, driver.Remove})
	x.Value = []byte(strings.Repeat("v", p.rng.IntN(9000)*p.rng.IntN(2)))
	x.Group = pick(p, []string{"", "g", "h"})
	switch x.Class {
	case driver.Machinery:
		if p.rng.IntN(2) == 0 {
			x.Due = p.at.Add(time.Duration(p.rng.IntN(20)) * time.Millisecond)
		}
	case driver.Content:
		if x.Whole = p.rng.IntN(4) == 0; x.Whole {
			break
		}
		live, err := p.stores[1].List(p.t.Context(), x.Scope, driver.Query{At: p.at, Limit: 2})
		require.NoError(p.t, err)
		x.Of = append(idsOf(live), p.id())[:1]
	case driver.HostText:
		x.Subjects = p.labels()
	}
	return x
}

func (p *pair) mutation(tenant string) driver.Mutation {
	m := driver.Mutation{At: p.at}
	scope := func() driver.Scope { return driver.Scope{Tenant: tenant, Ref: pick(p, pairRefs)} }
	place := func() driver.Located { return driver.Located{Scope: scope(), ID: p.id()} }
	some := func(n int) int {
		if p.rng.IntN(3) > 0 {
			return 0
		}
		return p.rng.IntN(n)
	}
	for range some(3) {
		m.Live = append(m.Live, place())
	}
	for range some(6) {
		s := scope()
		m.Put = append(m.Put, driver.Placed{Scope: s, Entry: p.entry(p.id())})
	}
	for range some(4) {
		r := driver.Retirement{Located: place(), State: pick(p, []driver.State{driver.Merged, driver.Superseded, driver.Deleted})}
		if r.State != driver.Deleted {
			r.For = p.id()
		}
		m.Retire = append(m.Retire, r)
	}
	for range some(3) {
		m.Restore = append(m.Restore, place())
	}
	for range some(5) {
		m.Erase = append(m.Erase, place())
	}
	for range some(3) {
		p.events++
		m.Events = append(m.Events, events.Record{ID: fmt.Sprint(p.rng.IntN(p.events + 1)), Tenant: tenant, RunID: pick(p, []string{"run", "other"}),
			Time: p.at, Payload: events.WorkspaceUpdated{Path: "p", Version: int64(p.events)}})
	}
	if p.rng.IntN(2) == 0 { // what is asked of entries mostly does not hold
		m = driver.Mutation{At: p.at, Put: m.Put, Erase: m.Erase, Events: m.Events}
	}
	if p.rng.IntN(3) == 0 {
		m = driver.Mutation{At: p.at, Documents: []driver.DocumentSwap{p.swap(scope())}}
	}
	for range some(4) {
		m.Documents = append(m.Documents, p.swap(scope()))
	}
	m.Keep = len(m.Events) > 0 && p.rng.IntN(2) == 0
	return m
}

// same asks both stores and expects one answer.
func same[T any](p *pair, what string, ask func(i int, st everything) (T, error)) (T, error) {
	a, errA := ask(0, p.stores[0])
	b, errB := ask(1, p.stores[1])
	for _, kind := range []error{nil, driver.ErrConflict, driver.ErrValidation, driver.ErrNotFound, driver.ErrSnapshotUnavailable} {
		require.Equal(p.t, errors.Is(errB, kind), errors.Is(errA, kind), "%s: %v and %v", what, errA, errB)
	}
	if list := reflect.ValueOf(a); list.Kind() != reflect.Slice || list.Len() > 0 || reflect.ValueOf(b).Len() > 0 {
		require.Equal(p.t, b, a, what)
	}
	return a, errA
}

// apply makes a mutation, in which the revisions are mostly those that the stores have.
func (p *pair) apply(tenant string, m driver.Mutation) {
	stale := p.rng.IntN(5) == 0
	var done [2]driver.Applied
	_, err := same(p, "apply", func(i int, st everything) (int, error) {
		m.Documents = slices.Clone(m.Documents)
		for k := range m.Documents {
			x := &m.Documents[k]
			if x.Rev = p.revs[name(x.Document)].at[i]; stale && k == 0 {
				x.Rev = max(0, x.Rev-1)
			}
		}
		var err error
		done[i], err = st.Apply(p.t.Context(), tenant, m)
		return len(done[i].Revs), err
	})
	if err != nil {
		return
	}
	require.Equal(p.t, done[1].Version == "", done[0].Version == "")
	if done[0].Version != "" {
		p.versions[tenant] = append(p.versions[tenant], [2]driver.Version{done[0].Version, done[1].Version})
	}
	for k := range m.Documents {
		require.Equal(p.t, done[1].Revs[k] == 0, done[0].Revs[k] == 0)
	}
	p.learn(tenant)
}

// learn reads the revisions that there are.
func (p *pair) learn(tenant string) {
	revs := map[docName]docRevs{}
	for i, st := range p.stores {
		for d, err := range st.Documents(p.t.Context(), driver.DocumentQuery{Tenant: tenant, EveryRef: true}) {
			require.NoError(p.t, err)
			p.classes[d.Class] = true
			both := revs[name(d)]
			both.at[i], both.class = d.Rev, d.Class
			revs[name(d)] = both
		}
	}
	for d, was := range p.revs {
		if d.Tenant != tenant {
			revs[d] = was
			continue
		}
		is := revs[d]
		require.Equal(p.t, is.at[1] == was.at[1], is.at[0] == was.at[0], "a revision changes with the document")
		require.True(p.t, is.at[0] == 0 || is.at[0] >= was.at[0])
	}
	p.revs = revs
}

// look compares all that can be read of a tenant.
func (p *pair) look(tenant string) {
	ctx := p.t.Context()
	for _, ref := range append([]string{""}, pairRefs...) {
		s := driver.Scope{Tenant: tenant, Ref: ref}
		ids := p.ids()
		q := driver.Query{At: p.at, Limit: p.rng.IntN(8), Tags: pick(p, [][]string{nil, nil, {"a"}, {"b", "a"}}), Subject: pick(p, append(pairLabels, "", "", ""))}
		if p.rng.IntN(4) == 0 {
			q.Since, q.Until = p.at.Add(-time.Duration(p.rng.IntN(90))*time.Millisecond), p.at.Add(-time.Duration(p.rng.IntN(40))*time.Millisecond)
		}
		if p.rng.IntN(4) == 0 {
			q.IDs = ids
		}
		page, _ := same(p, "list", func(_ int, st everything) ([]driver.Entry, error) { return st.List(ctx, s, q) })
		if len(page) > 0 {
			q.After = page[0].Cursor()
			same(p, "list after", func(_ int, st everything) ([]driver.Entry, error) { return st.List(ctx, s, q) })
		}
		same(p, "get", func(_ int, st everything) (driver.Entry, error) { return st.Get(ctx, s, "id01", p.at) })
		same(p, "lookup", func(_ int, st everything) ([]driver.Record, error) { return st.Lookup(ctx, s, ids) })
		h := driver.HistoryQuery{Ref: ref, Subject: pick(p, append(pairLabels, ""))}
		if ref != "" && p.rng.IntN(2) == 0 {
			h.For = append(ids, "id01")
		}
		same(p, "history", func(_ int, st everything) ([]driver.Record, error) {
			recs, err := gather(st.History(ctx, tenant, h))
			slices.SortFunc(recs, func(a, b driver.Record) int { return strings.Compare(a.Ref+"\x00"+a.Entry.ID, b.Ref+"\x00"+b.Entry.ID) })
			return recs, err
		})
		d := driver.DocumentQuery{Tenant: tenant, Ref: ref, EveryRef: p.rng.IntN(2) == 0, Kind: pick(p, append(pairKinds, "")),
			Limit: p.rng.IntN(4), Key: pick(p, []string{"", "", "1"}), Group: pick(p, []string{"", "g"}), Subject: pick(p, append(pairLabels, "", "")), Bare: p.rng.IntN(2) == 0}
		if p.rng.IntN(2) == 0 {
			d.After = &driver.Document{Scope: driver.Scope{Tenant: tenant, Ref: pick(p, pairRefs)}, Kind: pick(p, pairKinds), Key: fmt.Sprint(p.rng.IntN(4))}
		}
		same(p, "documents", func(i int, st everything) ([]driver.Document, error) {
			docs, err := gather(st.Documents(ctx, d))
			return p.plain(i, docs), err
		})
		for range 2 {
			vs := p.versions[tenant]
			if len(vs) == 0 {
				continue
			}
			v, w := pick(p, vs), pick(p, vs)
			at := func(q driver.Query, v driver.Version) driver.Query { q.Version = v; return q }
			same(p, "list at", func(i int, st everything) ([]driver.Entry, error) { return st.List(ctx, s, at(q, v[i])) })
			same(p, "ids at", func(i int, st everything) ([]driver.Entry, error) {
				return st.List(ctx, s, at(driver.Query{At: p.at, IDs: append(ids, "id01")}, v[i]))
			})
			same(p, "intact", func(i int, st everything) (bool, error) { return st.Intact(ctx, s, v[i]) })
			same(p, "changes", func(i int, st everything) (driver.ChangeSet, error) {
				set, err := st.Changes(ctx, s, v[i], w[i])
				for _, list := range [][]string{set.Put, set.Retired, set.Restored, set.Erased} {
					slices.Sort(list)
				}
				return set, err
			})
		}
	}
	run := pick(p, []string{"", "run"})
	recs, _ := same(p, "undelivered", func(_ int, st everything) ([]events.Record, error) { return gather(st.Undelivered(ctx, tenant, run)) })
	same(p, "kept", func(_ int, st everything) ([]events.RunEvent, error) {
		return st.Read(ctx, tenant, "run", int64(len(recs)%3), 0)
	})
	limit, of := p.rng.IntN(9), pick(p, []string{"", tenant})
	same(p, "waiting", func(_ int, st everything) (int, error) { return st.Waiting(ctx, of, limit) })
	if len(recs) > 0 && p.rng.IntN(3) == 0 {
		same(p, "delivered", func(_ int, st everything) (int, error) { return 0, st.Delivered(ctx, recs[:1]) })
	}
	same(p, "due", func(i int, st everything) ([]driver.Document, error) {
		docs, err := st.Due(ctx, pick(&pair{rng: rand.New(rand.NewPCG(uint64(p.events), 0))}, pairKinds), p.at, 1000)
		slices.SortFunc(docs, func(a, b driver.Document) int {
			return strings.Compare(fmt.Sprint(a.Due, a.Scope, a.Key), fmt.Sprint(b.Due, b.Scope, b.Key))
		})
		return p.plain(i, docs), err
	})
}

// plain makes documents of two stores alike: revisions are the store's own.
func (p *pair) plain(i int, docs []driver.Document) []driver.Document {
	for k := range docs {
		d := &docs[k]
		require.Equal(p.t, p.revs[name(*d)].at[i], d.Rev)
		d.Rev = 0
		if len(d.Value) == 0 {
			d.Value = nil
		}
	}
	return docs
}

func gather[T any](seq func(func(T, error) bool)) (all []T, err error) {
	seq(func(x T, failed error) bool {
		if failed != nil {
			err = failed
			return false
		}
		all = append(all, x)
		return true
	})
	return all, err
}

// After each operation on both, SQLite answers as the store in memory does.
func TestCompare(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), sqlite.Options{Relaxed: true})
		require.NoError(t, err)
		p := &pair{t: t, rng: rand.New(rand.NewPCG(seed, 1)), at: now, versions: map[string][][2]driver.Version{}, revs: map[docName]docRevs{}, classes: map[driver.Class]bool{}}
		p.stores = [2]everything{db.Memory(), inmem.New()}
		committed := 0
		for range 400 {
			p.at = p.at.Add(time.Duration(p.rng.IntN(4)) * time.Millisecond)
			tenant := pick(p, pairTenants)
			switch k := p.rng.IntN(20); {
			case k < 4:
				e := p.entry(p.id())
				p.one(tenant, "put", func(st everything) (bool, error) {
					return true, st.Put(context.Background(), driver.Scope{Tenant: tenant, Ref: "r"}, e)
				})
			case k < 6:
				id := p.id()
				p.one(tenant, "delete", func(st everything) (bool, error) {
					return st.Delete(context.Background(), driver.Scope{Tenant: tenant, Ref: "r"}, id, p.at)
				})
			case k == 6 && p.rng.IntN(4) == 0:
				same(p, "purge events", func(_ int, st everything) (bool, error) {
					return st.PurgeEvents(t.Context(), p.at, 1000)
				})
			case k < 7 && len(p.versions[tenant]) > 0:
				v := pick(p, p.versions[tenant][len(p.versions[tenant])*2/3:])
				same(p, "purge", func(i int, st everything) (int, error) { return st.Purge(t.Context(), tenant, v[i], p.at) })
				p.learn(tenant)
			default:
				before := len(p.versions[tenant])
				p.apply(tenant, p.mutation(tenant))
				committed += len(p.versions[tenant]) - before
			}
			p.look(tenant)
		}
		require.Greater(t, committed, 50)
		require.Len(t, p.classes, 3)
		require.NoError(t, db.Close())
	}
}

// one makes a change of one entry.
func (p *pair) one(tenant, what string, f func(everything) (bool, error)) {
	version := func() (v [2]driver.Version) {
		for i, st := range p.stores {
			var err error
			v[i], err = st.Version(p.t.Context(), tenant)
			require.NoError(p.t, err)
		}
		return v
	}
	before := version()
	same(p, what, func(_ int, st everything) (bool, error) { return f(st) })
	after := version()
	require.Equal(p.t, before[1] == after[1], before[0] == after[0], "%s makes a version iff it changes anything", what)
	p.versions[tenant] = append(p.versions[tenant], after)
}

package inmem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// world runs operations on a store and on the model, and compares them. What an
// operation does follows from its seed and the state of the model, so any part of
// a sequence of seeds is a sequence too.
type world struct {
	store    *Store
	model    model
	versions map[string][]driver.Version // by tenant; the index is the model's version
	revs     map[worldName]int64         // that documents have, or had last
	last     int64                       // the highest revision that was seen
	size     int                         // how many ids there are, and how large a mutation is
	rand     *rand.Rand
	trace    []string
}

var (
	base    = time.UnixMilli(1_700_000_000_000).UTC()
	tenants = []string{"t", "T"}
	refs    = []string{"r", "R", "r/"}
	bg      = context.Background()
)

func newWorld(size int) *world {
	w := &world{store: New(), model: model{tenants: map[string]*modelTenant{}}, size: size, versions: map[string][]driver.Version{}, revs: map[worldName]int64{}}
	for _, tenant := range tenants {
		v, _ := w.store.Version(bg, tenant)
		w.versions[tenant] = []driver.Version{v}
	}
	return w
}

// run reports the first difference.
func (w *world) run(seeds []uint64) error {
	for i, seed := range seeds {
		w.rand = rand.New(rand.NewPCG(seed, 7))
		tenant := pick(w, tenants)
		err := w.step(tenant)
		if err == nil {
			err = w.number(tenant)
		}
		if err == nil && (w.size < 100 || i%16 == 0 || i == len(seeds)-1) {
			err = w.compare(tenant)
		}
		if err != nil {
			return fmt.Errorf("%w\nafter:\n%s", err, strings.Join(w.trace, "\n"))
		}
	}
	return nil
}

func pick[T any](w *world, xs []T) T { return xs[w.rand.IntN(len(xs))] }

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) instant() time.Time {
	return base.Add(time.Duration(w.rand.IntN(12)) * time.Millisecond)
}

func (w *world) id() string { return fmt.Sprintf("m%03d", w.rand.IntN(w.size)) }

func (w *world) entry() driver.Entry {
	e := driver.Entry{ID: w.id(), RunID: "run", CreatedAt: w.instant(), Content: pick(w, []string{"Alpha", "BETA", "Straße"})}
	if w.chance(50) {
		e.Tags = []string{pick(w, []string{"x", "y"}), "z"}
	}
	if w.chance(40) {
		e.ExpiresAt = w.instant()
	}
	if w.chance(40) {
		e.Subjects = []string{pick(w, []string{"ann", "bob"})}
	}
	if w.chance(20) {
		e.Sources = []string{w.id()}
	}
	return e
}

// held returns the key of a record, mostly of one in the wanted state.
func (w *world) held(t *modelTenant, want func(modelKey, modelRecord) bool) modelKey {
	if w.chance(90) {
		var keys []modelKey
		for k, r := range t.recs {
			if want(k, r) {
				keys = append(keys, k)
			}
		}
		if len(keys) > 0 {
			slices.SortFunc(keys, func(a, b modelKey) int { return cmp.Or(cmp.Compare(a.ref, b.ref), cmp.Compare(a.id, b.id)) })
			return pick(w, keys)
		}
	}
	return modelKey{pick(w, refs), w.id()}
}

func anyRecord(modelKey, modelRecord) bool { return true }

func givenWay(_ modelKey, r modelRecord) bool { return r.heir != "" && !r.erased }

func (w *world) step(tenant string) error {
	t := w.model.tenant(tenant)
	at := w.instant()
	live := func(_ modelKey, r modelRecord) bool { return r.state == driver.Live && !r.erased && r.entry.LiveAt(at) }
	switch n := w.rand.IntN(100); {
	case n < 30:
		s, e := driver.Scope{Tenant: tenant, Ref: pick(w, refs)}, w.entry()
		if w.chance(15) {
			k := w.held(t, anyRecord)
			if r, ok := t.recs[k]; ok {
				s.Ref, e = k.ref, r.entry
			}
		}
		w.log("put %s %s created +%s", s, e.ID, e.CreatedAt.Sub(base))
		return same2("Put", w.store.Put(bg, s, e), t.put(s.Ref, e))
	case n < 40:
		k := w.held(t, live)
		w.log("delete %s %v at +%s", tenant, k, at.Sub(base))
		got, err := w.store.Delete(bg, driver.Scope{Tenant: tenant, Ref: k.ref}, k.id, at)
		return same2("Delete", answer{got, err}, answer{t.delete(k.ref, k.id, at), nil})
	case n < 88:
		compose := w.mutation
		if w.size > 1000 {
			compose = w.bulk
		}
		m := compose(tenant, t, at, live)
		stale := w.documents(tenant, t, &m)
		w.log("apply %s %s", tenant, describeMutation(m))
		done, err := w.store.Apply(bg, tenant, m)
		if err == nil {
			now, _ := w.store.Version(bg, tenant)
			if m.Unversioned() != (done.Version == "") || done.Version != "" && done.Version != now {
				return errors.New("Apply returned another version than is current")
			}
		}
		return cmp.Or(same2("Apply", err, w.model.apply(tenant, m, stale)), w.revisions(t, m, done, err))
	case n < 93:
		v := max(0, t.now()-w.rand.IntN(6))
		if w.size > 1000 && w.chance(80) {
			at = base // nothing has expired
		}
		w.log("purge %s before %d at +%s", tenant, v, at.Sub(base))
		got, err := w.store.Purge(bg, tenant, w.versions[tenant][v], at)
		n, wanted := t.purge(v, at)
		return same2("Purge", answer{got, err}, answer{n, wanted})
	default:
		recs := w.model.undelivered(driver.OutboxQuery{Tenant: pick(w, []string{"", tenant})})
		recs = recs[:w.rand.IntN(len(recs)+1)]
		w.log("delivered %d", len(recs))
		w.model.delivered(recs)
		return same2("Delivered", w.store.Delivered(bg, append(recs, events.Record{ID: "unknown"})), nil)
	}
}

type answer struct{ value, err any }

func (w *world) mutation(tenant string, t *modelTenant, at time.Time, live func(modelKey, modelRecord) bool) driver.Mutation {
	m := driver.Mutation{At: at}
	located := func(k modelKey) driver.Located {
		return driver.Located{Scope: driver.Scope{Tenant: tenant, Ref: k.ref}, ID: k.id}
	}
	some := func() int {
		if w.chance(60) {
			return 0
		}
		return 1 + w.rand.IntN(max(2, w.size/20))
	}
	for range some() {
		m.Live = append(m.Live, located(w.held(t, live)))
	}
	for range some() {
		m.Put = append(m.Put, driver.Placed{Scope: driver.Scope{Tenant: tenant, Ref: pick(w, refs)}, Entry: w.entry()})
	}
	for range some() {
		k := w.held(t, live)
		if len(m.Put) > 0 && w.chance(20) {
			k = modelKey{m.Put[0].Ref, m.Put[0].Entry.ID}
		}
		x := driver.Retirement{Located: located(k), State: driver.Deleted}
		if w.chance(70) {
			x.State = pick(w, []driver.State{driver.Merged, driver.Superseded})
			x.For = w.held(t, func(h modelKey, r modelRecord) bool {
				return live(h, r) && h.ref == k.ref && h != k
			}).id
			if len(m.Put) > 0 && w.chance(50) {
				x.For = m.Put[0].Entry.ID
			}
			if x.For == x.ID {
				x.State, x.For = driver.Deleted, ""
			}
		}
		m.Retire = append(m.Retire, x)
	}
	for range some() {
		m.Restore = append(m.Restore, located(w.held(t, givenWay)))
	}
	if w.chance(30) {
		m.Erase = append(m.Erase, located(w.held(t, anyRecord)))
	}
	for range some() {
		e := events.Record{
			ID: pick(w, []string{"e1", "e2", "e3"}), Tenant: tenant, RunID: pick(w, []string{"run1", "run2"}), Payload: events.MemoryWritten{},
		}
		if w.chance(10) {
			e.Payload = events.WorkspaceUpdated{}
		}
		if !slices.ContainsFunc(m.Events, func(o events.Record) bool { return keyOf(&o) == keyOf(&e) }) {
			m.Events = append(m.Events, e)
		}
	}
	return m
}

// bulk changes many entries of one ref in one way.
func (w *world) bulk(tenant string, t *modelTenant, at time.Time, live func(modelKey, modelRecord) bool) driver.Mutation {
	m := driver.Mutation{At: at}
	s := driver.Scope{Tenant: tenant, Ref: pick(w, refs)}
	located := func(want func(modelKey, modelRecord) bool) (ls []driver.Located) {
		for k, r := range t.recs {
			if k.ref == s.Ref && want(k, r) {
				ls = append(ls, driver.Located{Scope: s, ID: k.id})
			}
		}
		slices.SortFunc(ls, func(a, b driver.Located) int { return cmp.Compare(a.ID, b.ID) })
		w.rand.Shuffle(len(ls), func(i, j int) { ls[i], ls[j] = ls[j], ls[i] })
		return ls[:w.rand.IntN(len(ls)+1)]
	}
	switch w.rand.IntN(8) {
	case 0:
		for i, l := range located(live) {
			x := driver.Retirement{Located: l, State: driver.Deleted}
			if heir := t.recs[modelKey{s.Ref, "heir"}]; l.ID != "heir" && i%2 == 0 && live(modelKey{}, heir) && heir.entry.ID != "" {
				x.State, x.For = driver.Merged, "heir"
			}
			m.Retire = append(m.Retire, x)
		}
		// The heir goes last, or nothing could give way to it.
		slices.SortStableFunc(m.Retire, func(a, b driver.Retirement) int { return cmp.Compare(b.For, a.For) })
	case 1:
		m.Restore = located(givenWay)
	case 2:
		m.Erase = located(anyRecord)[:0]
		if w.chance(30) {
			m.Erase = located(anyRecord)
		}
	default:
		add := func(e driver.Entry) {
			if _, held := t.recs[modelKey{s.Ref, e.ID}]; !held {
				m.Put = append(m.Put, driver.Placed{Scope: s, Entry: e})
			}
		}
		add(driver.Entry{ID: "heir", CreatedAt: w.instant()})
		seen := map[string]bool{}
		for range w.rand.IntN(w.size / 10) {
			e := w.entry()
			if w.chance(80) {
				e.ExpiresAt = time.Time{}
			}
			if !seen[e.ID] {
				add(e)
			}
			seen[e.ID] = true
		}
	}
	return m
}

// number records the version after an operation, which must be a new one exactly
// if the model has a new one.
func (w *world) number(tenant string) error {
	v, err := w.store.Version(bg, tenant)
	if err != nil {
		return err
	}
	known := w.versions[tenant]
	if w.model.tenant(tenant).now() == len(known) {
		if slices.Contains(known, v) {
			return errors.New("a change did not make a new version")
		}
		w.versions[tenant] = append(known, v)
	} else if v != known[len(known)-1] {
		return errors.New("the version changed and the memory did not")
	}
	return nil
}

func (w *world) log(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("  %2d ", len(w.trace))+fmt.Sprintf(format, args...))
}

func same2(what string, got, want any) error {
	if reflect.DeepEqual(got, want) || empty(got) && empty(want) {
		return nil
	}
	return fmt.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
}

func empty(x any) bool {
	v := reflect.ValueOf(x)
	return v.Kind() == reflect.Slice && v.Len() == 0
}

func describeMutation(m driver.Mutation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "at +%s", m.At.Sub(base))
	for _, l := range m.Live {
		fmt.Fprintf(&b, " live(%s %s)", l.Ref, l.ID)
	}
	for _, p := range m.Put {
		fmt.Fprintf(&b, " put(%s %s +%s)", p.Ref, p.Entry.ID, p.Entry.CreatedAt.Sub(base))
	}
	for _, x := range m.Retire {
		fmt.Fprintf(&b, " retire(%s %s %s %s)", x.Ref, x.ID, x.State, x.For)
	}
	for _, l := range m.Restore {
		fmt.Fprintf(&b, " restore(%s %s)", l.Ref, l.ID)
	}
	for _, l := range m.Erase {
		fmt.Fprintf(&b, " erase(%s %s)", l.Ref, l.ID)
	}
	for _, x := range m.Documents {
		fmt.Fprintf(&b, " document(act %d class %d %q %s/%s rev %d group %q of %v)", x.Act, x.Class, x.Ref, x.Kind, x.Key, x.Rev, x.Group, x.Of)
	}
	fmt.Fprintf(&b, " %d events", len(m.Events))
	return b.String()
}

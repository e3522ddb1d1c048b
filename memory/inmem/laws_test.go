package inmem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// Scopes whose parts look alike, or join to the same string, have nothing in
// common, and an id that another scope holds is an absent id.
func TestM1_Scopes(t *testing.T) {
	st := New()
	scopes := []driver.Scope{
		{Tenant: "a", Ref: "b/c"}, {Tenant: "a/b", Ref: "c"}, {Tenant: "A", Ref: "b/c"}, {Tenant: "a", Ref: "b/c/"},
		{Tenant: "a", Ref: "b"}, {Tenant: "a", Ref: "b/*"}, {Tenant: "a", Ref: "%"}, {Tenant: "", Ref: "a"},
		{Tenant: "a", Ref: ""}, {Tenant: "é", Ref: "x"}, {Tenant: "e\u0301", Ref: "x"}, {Tenant: "a\x00b", Ref: "c"},
		{Tenant: "a", Ref: "\x00bc"}, {Tenant: "a", Ref: "B/C"},
	}
	for i, s := range scopes {
		e := note("same", 0)
		e.Content, e.Subjects = fmt.Sprint(i), []string{"ann"}
		require.NoError(t, st.Put(bg, s, e))
		require.NoError(t, st.Put(bg, s, note(fmt.Sprint("only", i), 1)))
	}
	for i, s := range scopes {
		list, err := st.List(bg, s, at(5))
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint("only", i), "same"}, ids(list))
		require.Equal(t, fmt.Sprint(i), list[1].Content)
		for rec, err := range st.History(bg, s.Tenant, driver.HistoryQuery{Subject: "ann"}) {
			require.NoError(t, err)
			require.Equal(t, s.Tenant, rec.Tenant)
		}
		for j := range scopes {
			_, err := st.Get(bg, s, fmt.Sprint("only", j), ms(5))
			if i == j {
				require.NoError(t, err)
				continue
			}
			require.Equal(t, error(driver.ErrNotFound), err)
			require.Zero(t, lookup(t, st, s, fmt.Sprint("only", j)))
			deleted, err := st.Delete(bg, s, fmt.Sprint("only", j), ms(5))
			require.NoError(t, err)
			require.False(t, deleted)
		}
	}
}

// A mutation that reaches into another tenant is refused as a whole.
func TestM1_MutationOfOneTenant(t *testing.T) {
	st := New()
	other := driver.Scope{Tenant: "u", Ref: "r"}
	require.NoError(t, st.Put(bg, other, note("m", 0)))
	for _, m := range []driver.Mutation{
		{Live: located(other, "m")},
		{Put: []driver.Placed{{Scope: home, Entry: note("a", 0)}, {Scope: other, Entry: note("b", 0)}}},
		{Retire: []driver.Retirement{{Located: located(other, "m")[0], State: driver.Deleted}}},
		{Restore: located(other, "m")},
		{Erase: located(other, "m")},
		swap(driver.Document{Scope: other, Kind: "k", Key: "c"}),
	} {
		_, err := st.Apply(bg, "t", m)
		require.ErrorIs(t, err, driver.ErrValidation)
	}
	require.Zero(t, lookup(t, st, home, "a"))
	require.Equal(t, driver.Live, lookup(t, st, other, "m").State)
}

func TestRetirementsThatMakeNoSense(t *testing.T) {
	st := New()
	require.NoError(t, st.Put(bg, home, note("a", 0)))
	require.NoError(t, st.Put(bg, home, note("b", 0)))
	for _, x := range []driver.Retirement{
		{State: driver.Live}, {State: driver.Live, For: "b"}, {State: driver.Deleted, For: "b"},
		{State: driver.Merged}, {State: driver.Superseded}, {State: driver.Merged, For: "a"}, {State: 9, For: "b"},
	} {
		x.Located = located(home, "a")[0]
		_, err := st.Apply(bg, "t", driver.Mutation{At: ms(1), Retire: []driver.Retirement{x}})
		require.ErrorIs(t, err, driver.ErrValidation)
	}
}

// An entry is live up to the millisecond before it expires, in every way to ask.
func TestM4_Expiry(t *testing.T) {
	st := New()
	e := note("m", 0)
	e.ExpiresAt = ms(10)
	require.NoError(t, st.Put(bg, home, e))
	v, err := st.Version(bg, "t")
	require.NoError(t, err)
	for n := range 20 {
		live := n < 10
		for _, nanos := range []time.Duration{0, time.Millisecond - 1} {
			q := driver.Query{At: ms(n).Add(nanos)}
			_, get := st.Get(bg, home, "m", q.At)
			getAt, err0 := st.List(bg, home, driver.Query{Version: v, IDs: []string{"m"}, At: q.At})
			list, err1 := st.List(bg, home, q)
			listAt, err2 := st.List(bg, home, seen(v, q))
			require.NoError(t, firstOf(err0, err1, err2))
			require.Equal(t, live, get == nil)
			for _, l := range [][]driver.Entry{getAt, list, listAt} {
				require.Equal(t, live, len(l) == 1)
			}
			_, err := st.Apply(bg, "t", driver.Mutation{At: q.At, Live: located(home, "m")})
			require.Equal(t, live, err == nil)
		}
	}
	deleted, err := st.Delete(bg, home, "m", ms(10))
	require.NoError(t, err)
	require.False(t, deleted)
	deleted, err = st.Delete(bg, home, "m", ms(9))
	require.NoError(t, err)
	require.True(t, deleted)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// In any order that entries come in, lists are newest first with ties by id bytes,
// and pages of any size join to the whole.
func TestM5_OrderTies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, n := range []int{0, 1, 128, 128 + 1, 3 * chunkSize} {
		st := New()
		var want []driver.Entry
		for _, i := range r.Perm(n) {
			e := note(fmt.Sprintf("%c%d", "aAé~"[i%4], i), i/7)
			want = append(want, e)
			require.NoError(t, st.Put(bg, home, e))
		}
		slices.SortFunc(want, func(a, b driver.Entry) int {
			if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
				return c
			}
			return strings.Compare(b.ID, a.ID)
		})
		for _, limit := range []int{0, 1 + n/50, 1 + n/3, n + 1} {
			q, got := at(0), []driver.Entry(nil)
			q.Limit = limit
			for {
				page, err := st.List(bg, home, q)
				require.NoError(t, err)
				got = append(got, page...)
				if limit == 0 || len(page) < limit {
					break
				}
				q.After = page[len(page)-1].Cursor()
			}
			require.Equal(t, want, got)
		}
	}
}

// Instants come back in UTC and equal, and the caller's copy of a document is its own.
func TestValuesComeBack(t *testing.T) {
	st := New()
	e := note("m", 3)
	e.CreatedAt = e.CreatedAt.In(time.FixedZone("x", 3600))
	e.ExpiresAt = ms(50).In(time.FixedZone("x", 3600))
	require.NoError(t, st.Put(bg, home, e))
	got, err := st.Get(bg, home, "m", ms(4))
	require.NoError(t, err)
	require.Equal(t, [2]time.Time{ms(3), ms(50)}, [2]time.Time{got.CreatedAt, got.ExpiresAt})

	value := []byte("abc")
	due := ms(7).In(time.FixedZone("x", 3600))
	apply(t, st, swap(driver.Document{Scope: home, Kind: "k", Key: "c", Value: value, Due: due}))
	value[0] = 'x'
	for range 2 {
		docs := documents(t, st, driver.DocumentQuery{Ref: "r"})
		require.Equal(t, "abc", string(docs[0].Value))
		docs[0].Value[1] = 'x'
		docs, err = st.Due(bg, "k", ms(7), 9)
		require.NoError(t, err)
		require.Equal(t, "abc", string(docs[0].Value))
		require.Equal(t, ms(7), docs[0].Due)
		docs[0].Value[2] = 'x'
	}
	_, describes := driver.As[driver.Describer](st)
	require.False(t, describes, "it is volatile and writable")
}

// A version means something only to the store and the tenant it came from, from
// when it was made until it is purged.
func TestM7_ForeignVersions(t *testing.T) {
	st, twin := New(), New()
	for _, s := range []*Store{st, twin} {
		for _, tenant := range []string{"t", "u"} {
			require.NoError(t, s.Put(bg, driver.Scope{Tenant: tenant, Ref: "r"}, note("a", 0)))
		}
	}
	old, _ := st.Version(bg, "t")
	other, _ := st.Version(bg, "u")
	twins, _ := twin.Version(bg, "t")
	unknown, _ := st.Version(bg, "nobody")
	mark := driver.FirstMark(st.incarnation, "t")
	later := mark.Version(2)
	require.NoError(t, st.Put(bg, home, note("b", 0)))
	require.NoError(t, twin.Put(bg, home, note("b", 0)))
	twins2, _ := twin.Version(bg, "t")
	now, _ := st.Version(bg, "t")
	require.Equal(t, later, now)
	n, err := st.Purge(bg, "t", now, ms(1))
	require.NoError(t, err)
	require.Zero(t, n)

	future := mark.Version(3)
	for _, v := range []driver.Version{
		old, other, twins, twins2, unknown, future, "1", now + "0", now + " ", "+" + now, now[:len(now)-1],
		"0" + now, "18446744073709551616" + now[1:], driver.Version(strings.ToUpper(string(now))),
		driver.Mark{1}.Version(2), driver.Mark{}.Version(2),
	} {
		_, list := st.List(bg, home, seen(v, at(1)))
		_, get := st.List(bg, home, driver.Query{Version: v, IDs: []string{"a"}, At: ms(1)})
		_, intact := st.Intact(bg, home, v)
		_, since := st.Changes(bg, home, v, now)
		_, until := st.Changes(bg, home, now, v)
		_, purge := st.Purge(bg, "t", v, ms(1))
		for _, err := range []error{list, get, intact, since, until, purge} {
			require.Equal(t, error(driver.ErrSnapshotUnavailable), err, v)
		}
	}
	list, err := st.List(bg, home, seen(now, at(1)))
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, ids(list))
}

// A tenant that was never written has a version, which stays readable, and other
// tenants' do not pass for it.
func TestM7_UnknownTenant(t *testing.T) {
	st := New()
	v, err := st.Version(bg, "t")
	require.NoError(t, err)
	foreign, err := st.Version(bg, "u")
	require.NoError(t, err)
	for range 2 {
		list, err := st.List(bg, home, seen(v, at(1)))
		require.NoError(t, err)
		require.Empty(t, list)
		entries, err := st.List(bg, home, driver.Query{Version: v, IDs: []string{"a"}, At: ms(1)})
		require.NoError(t, err)
		require.Empty(t, entries)
		changed, err := st.Changes(bg, home, v, v)
		require.NoError(t, err)
		require.Zero(t, changed)
		intact, err := st.Intact(bg, home, v)
		require.NoError(t, err)
		require.True(t, intact)
		_, err = st.List(bg, home, seen(foreign, at(1)))
		require.Equal(t, error(driver.ErrSnapshotUnavailable), err)
		_, err = st.Intact(bg, home, driver.FirstMark(st.incarnation, "t").Version(9))
		require.Equal(t, error(driver.ErrSnapshotUnavailable), err)
		n, err := st.Purge(bg, "t", v, ms(1))
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoError(t, st.Put(bg, home, note("a", 0)))
	}
}

// A mutation of which one part cannot be done leaves everything as it was.
func TestM8_AllOrNothing(t *testing.T) {
	st := New()
	require.NoError(t, st.Put(bg, home, note("a", 0)))
	before, _ := st.Version(bg, "t")
	good := driver.Mutation{
		At: ms(1), Live: located(home, "a"), Put: []driver.Placed{{Scope: home, Entry: note("b", 0)}},
		Retire: []driver.Retirement{{Located: located(home, "a")[0], State: driver.Merged, For: "b"}},
		Erase:  located(home, "a"), Documents: swap(driver.Document{Scope: home, Kind: "k", Key: "c"}).Documents,
	}
	for _, spoil := range []func(*driver.Mutation){
		func(m *driver.Mutation) { m.Live = located(home, "a", "none") },
		func(m *driver.Mutation) { m.Put = append(m.Put, driver.Placed{Scope: home, Entry: note("a", 7)}) },
		func(m *driver.Mutation) { m.Retire = append(m.Retire, m.Retire[0]) },
		func(m *driver.Mutation) { m.Retire[0].For = "none" },
		func(m *driver.Mutation) { m.Restore = located(home, "b") },
		func(m *driver.Mutation) {
			m.Documents = swap(driver.Document{Scope: home, Kind: "k", Key: "c", Rev: 1}).Documents
		},
		func(m *driver.Mutation) {
			d := driver.Document{Scope: home, Class: driver.Content, Kind: "k", Key: "c", Of: []string{"a"}}
			m.Documents = swap(d).Documents
		},
	} {
		m := good
		m.Retire = slices.Clone(good.Retire)
		spoil(&m)
		_, err := st.Apply(bg, "t", m)
		require.Equal(t, error(driver.ErrConflict), err)
		after, _ := st.Version(bg, "t")
		require.Equal(t, before, after)
		list, _ := st.List(bg, home, at(1))
		require.Equal(t, []string{"a"}, ids(list))
		require.Empty(t, documents(t, st, driver.DocumentQuery{EveryRef: true}))
	}
	apply(t, st, good)
}

// An id is used once: for ever the same entry, and none after it was erased.
func TestM8_IDsAreNotReused(t *testing.T) {
	st := New()
	e := note("a", 0)
	require.NoError(t, st.Put(bg, home, e))
	require.NoError(t, st.Put(bg, home, e))
	changes := []func(*driver.Entry){
		func(e *driver.Entry) { e.Content = "x" }, func(e *driver.Entry) { e.Tags = []string{"x"} },
		func(e *driver.Entry) { e.CreatedAt = ms(1) }, func(e *driver.Entry) { e.ExpiresAt = ms(9) },
		func(e *driver.Entry) { e.RunID = "x" }, func(e *driver.Entry) { e.Subjects = []string{"x"} },
		func(e *driver.Entry) { e.Sources = []string{"x"} },
	}
	refused := func() {
		for _, change := range changes {
			other := e
			change(&other)
			require.Equal(t, error(driver.ErrConflict), st.Put(bg, home, other))
		}
	}
	refused()
	_, err := st.Delete(bg, home, "a", ms(1))
	require.NoError(t, err)
	refused()
	require.NoError(t, st.Put(bg, home, e))
	_, err = st.Get(bg, home, "a", ms(1))
	require.Equal(t, error(driver.ErrNotFound), err, "putting a deleted entry again changes nothing")
	apply(t, st, driver.Mutation{Erase: located(home, "a")})
	refused()
	require.Equal(t, error(driver.ErrConflict), st.Put(bg, home, e))

	bare := driver.Entry{ID: "bare"}
	require.NoError(t, st.Put(bg, home, bare))
	apply(t, st, driver.Mutation{Erase: located(home, "bare")})
	require.Equal(t, error(driver.ErrConflict), st.Put(bg, home, bare))
	_, err = st.Apply(bg, "t", driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: bare}}})
	require.Equal(t, error(driver.ErrConflict), err)
}

// What was restored is in the versions before it was retired and since it came
// back, also if its neighbours have changed.
func TestM7_RestoredEntries(t *testing.T) {
	st := New()
	var vs []driver.Version
	step := func(m driver.Mutation) { vs = append(vs, apply(t, st, m)) }
	step(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: note("a", 0)}}})
	step(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: note("b", 1)}}})
	step(driver.Mutation{Retire: []driver.Retirement{{Located: located(home, "a")[0], State: driver.Merged, For: "b"}}})
	step(driver.Mutation{Retire: []driver.Retirement{{Located: located(home, "b")[0], State: driver.Deleted}}})
	step(driver.Mutation{Restore: located(home, "a")})
	for i, want := range [][]string{{"a"}, {"b", "a"}, {"b"}, nil, {"a"}} {
		list, err := st.List(bg, home, seen(vs[i], at(1)))
		require.NoError(t, err)
		require.Equal(t, want, ids(list))
	}
}

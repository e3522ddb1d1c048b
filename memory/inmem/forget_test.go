package inmem

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// After an erasure nothing in the store refers to the text any more, whatever the
// entry's state was, and the views that showed it know.
func TestM10_EraseDropsTheText(t *testing.T) {
	for _, heir := range []string{"heir", "successor"} { // before and behind m
		t.Run(heir, func(t *testing.T) { eraseDropsTheText(t, heir) })
	}
}

func eraseDropsTheText(t *testing.T, heir string) {
	text := func(s string) (string, weak.Pointer[byte]) {
		b := []byte(strings.Repeat(s, 100))
		return unsafe.String(&b[0], len(b)), weak.Make(&b[0])
	}
	merge := func(st *Store) {
		apply(t, st, memory.Mutation{At: ms(1), Retire: []memory.Retirement{{Located: located(home, "m")[0], State: memory.Merged, For: heir}}})
	}
	cases := map[string]func(*Store){
		"live":    func(*Store) {},
		"deleted": func(st *Store) { _, _ = st.Delete(bg, home, "m", ms(1)) },
		"merged":  merge,
		"restored": func(st *Store) {
			merge(st)
			apply(t, st, memory.Mutation{Restore: located(home, "m")})
		},
		"with an estate": func(st *Store) {
			apply(t, st, memory.Mutation{At: ms(1), Retire: []memory.Retirement{{Located: located(home, heir)[0], State: memory.Merged, For: "m"}}})
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			st := New()
			var refs []weak.Pointer[byte]
			func() {
				var parts [4]string
				for i := range parts {
					s, ref := text(string("mtuv"[i]))
					parts[i], refs = s, append(refs, ref)
				}
				require.NoError(t, st.Put(bg, home, note(heir, 0)))
				require.NoError(t, st.Put(bg, home, memory.Entry{
					ID: parts[0][:1], CreatedAt: ms(0), Content: parts[0], Tags: parts[1:2], Subjects: parts[2:3], Sources: parts[3:],
				}))
			}()
			shown, err := st.Version(bg, "t")
			require.NoError(t, err)
			prepare(st)
			before, err := st.Lookup(bg, home, "m")
			require.NoError(t, err)
			runtime.GC()
			require.NotNil(t, refs[0].Value())
			state, successor := before.State, before.For
			before = memory.Record{}

			erased := apply(t, st, memory.Mutation{Erase: located(home, "m", "never held")})
			runtime.GC()
			for _, ref := range refs {
				require.Nil(t, ref.Value())
			}
			after, err := st.Lookup(bg, home, "m")
			require.NoError(t, err)
			require.Equal(t, memory.Record{Scope: home, Entry: memory.Entry{ID: "m"}, State: state, For: successor, Erased: true}, after)
			intact, err := st.Intact(bg, "t", shown)
			require.NoError(t, err)
			require.False(t, intact)
			intact, err = st.Intact(bg, "t", erased)
			require.NoError(t, err)
			require.True(t, intact)
			_, err = st.GetAt(bg, home, shown, "m", ms(1))
			require.Equal(t, error(memory.ErrNotFound), err)
		})
	}
}

// Forgetting finds what a subject has in every ref, and what was retired in favour
// of an entry comes back when that one is erased.
func TestM10_Lineage(t *testing.T) {
	st := New()
	for i, id := range []string{"a", "b", "c"} {
		e := note(id, i)
		e.Subjects = []string{"ann", id}
		require.NoError(t, st.Put(bg, home, e))
		require.NoError(t, st.Put(bg, memory.Scope{Tenant: "t", Ref: id}, e))
	}
	merge := func(id, heir string) memory.Retirement {
		return memory.Retirement{Located: located(home, id)[0], State: memory.Merged, For: heir}
	}
	apply(t, st, memory.Mutation{At: ms(9), Retire: []memory.Retirement{merge("a", "c"), merge("b", "c")}})
	found, err := collect(st.History(bg, "t", memory.HistoryQuery{Subject: "ann"}))
	require.NoError(t, err)
	require.Len(t, found, 6)
	estate, err := collect(st.History(bg, "t", memory.HistoryQuery{Ref: "r", For: "c"}))
	require.NoError(t, err)
	require.Len(t, estate, 2)

	apply(t, st, memory.Mutation{At: ms(9), Restore: located(home, "a"), Erase: located(home, "c")})
	list, err := st.List(bg, home, at(9))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(list))
	_, err = st.Apply(bg, "t", memory.Mutation{Restore: located(home, "c")})
	require.Equal(t, error(memory.ErrConflict), err)
	apply(t, st, memory.Mutation{Erase: located(home, "b")})
	_, err = st.Apply(bg, "t", memory.Mutation{Restore: located(home, "b")})
	require.Equal(t, error(memory.ErrConflict), err, "what was erased cannot come back")
	rec, err := st.Lookup(bg, home, "b")
	require.NoError(t, err)
	require.Equal(t, "c", rec.For, "lineage can be walked through a stub")
	found, err = collect(st.History(bg, "t", memory.HistoryQuery{Subject: "c"}))
	require.NoError(t, err)
	require.Len(t, found, 1, "the other ref's")
}

// A text is dropped also where records were moved about in memory.
func TestM10_EraseAfterSplit(t *testing.T) {
	st := New()
	put := func(i int) weak.Pointer[byte] {
		b := []byte(strings.Repeat("x", 100))
		e := note(fmt.Sprintf("%04d", i), i)
		e.Content = unsafe.String(&b[0], len(b))
		require.NoError(t, st.Put(bg, home, e))
		return weak.Make(&b[0])
	}
	var refs []weak.Pointer[byte]
	var all []memory.Located
	for _, i := range []int{1, 0} { // the even ones go between the odd ones
		for ; i < 3*chunkSize; i += 2 {
			refs = append(refs, put(i))
			all = append(all, located(home, fmt.Sprintf("%04d", i))...)
		}
	}
	apply(t, st, memory.Mutation{Erase: all[chunkSize/2:]})
	runtime.GC()
	for i, ref := range refs {
		require.Equal(t, i < chunkSize/2, ref.Value() != nil)
	}
	runtime.KeepAlive(st)
}

// A page is shorter than its limit only at the end of the list, also if what it
// would have held is erased meanwhile.
func TestPagesAreFull(t *testing.T) {
	st := New()
	for i := range 10 {
		require.NoError(t, st.Put(bg, home, note(fmt.Sprint(i), i)))
	}
	var seen []string
	for e, err := range st.Scan(bg, home, memory.Query{At: ms(99), Limit: 5}) {
		require.NoError(t, err)
		if seen = append(seen, e.ID); len(seen) == 1 {
			apply(t, st, memory.Mutation{Erase: located(home, "6", "7")})
		}
	}
	require.Equal(t, []string{"9", "8", "5", "4", "3"}, seen)
}

// A scan passes over what is erased while it goes on, and shows everything else as
// it was when it began.
func TestM10_EraseDuringScan(t *testing.T) {
	st := New()
	for i := range 3 * pageSize {
		require.NoError(t, st.Put(bg, home, note(fmt.Sprint(i), i)))
	}
	all, err := st.List(bg, home, at(9999))
	require.NoError(t, err)
	var seen []string
	for e, err := range st.Scan(bg, home, at(9999)) {
		require.NoError(t, err)
		seen = append(seen, e.ID)
		if len(seen) == 2 {
			apply(t, st, memory.Mutation{Erase: located(home, all[5].ID, all[2*pageSize].ID)})
			_, err := st.Delete(bg, home, all[6].ID, ms(1))
			require.NoError(t, err)
			require.NoError(t, st.Put(bg, home, note("new", 1)))
		}
	}
	want := ids(all)
	want = append(append(want[:5:5], want[6:2*pageSize]...), want[2*pageSize+1:]...)
	require.Equal(t, want, seen)
}

// Purging keeps what a later version shows and the lineage that leads to it.
func TestPurge(t *testing.T) {
	st := New()
	for i, id := range []string{"old", "mid", "head", "gone", "keeper", "short"} {
		e := note(id, i)
		if id == "short" {
			e.ExpiresAt = ms(20)
		}
		require.NoError(t, st.Put(bg, home, e))
	}
	retire := func(id string, state memory.State, heir string) {
		apply(t, st, memory.Mutation{At: ms(9), Retire: []memory.Retirement{{Located: located(home, id)[0], State: state, For: heir}}})
	}
	purge := func(n int) int {
		v, err := st.Version(bg, "t")
		require.NoError(t, err)
		got, err := st.Purge(bg, "t", v, ms(n))
		require.NoError(t, err)
		return got
	}
	left := func() (names []string) {
		recs, err := collect(st.History(bg, "t", memory.HistoryQuery{}))
		require.NoError(t, err)
		for _, r := range sorted(recs) {
			names = append(names, r.Entry.ID)
		}
		return names
	}
	retire("old", memory.Merged, "mid")
	retire("mid", memory.Superseded, "head")
	retire("gone", memory.Deleted, "")
	require.Equal(t, 1, purge(9))
	require.Equal(t, []string{"head", "keeper", "mid", "old", "short"}, left())
	require.Equal(t, 1, purge(20))
	require.Equal(t, []string{"head", "keeper", "mid", "old"}, left())

	before, err := st.Version(bg, "t")
	require.NoError(t, err)
	retire("head", memory.Deleted, "")
	n, err := st.Purge(bg, "t", before, ms(30))
	require.NoError(t, err)
	require.Zero(t, n, "the version before still shows the head")
	require.Equal(t, 3, purge(30))
	require.Equal(t, []string{"keeper"}, left())

	apply(t, st, memory.Mutation{Erase: located(home, "keeper")})
	require.Equal(t, 1, purge(30))
	require.Empty(t, st.tenant("t").scopes)
	require.NoError(t, st.Put(bg, home, note("head", 40)), "a purged id is an unknown one")
}

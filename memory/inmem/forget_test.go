package inmem

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// textSize is long enough that a text which is held shows in the size of the heap.
const textSize = 4 << 20

// inUse returns the bytes of the heap that are still referred to.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// After an erasure nothing in the store refers to the text of an entry any more,
// in any state, and the views that showed it know.
func TestM10_EraseDropsTheText(t *testing.T) {
	for _, heir := range []string{"heir", "successor"} { // before and behind m
		t.Run(heir, func(t *testing.T) { eraseDropsTheText(t, heir) })
	}
}

func eraseDropsTheText(t *testing.T, heir string) {
	merge := func(st *Store) {
		apply(t, st, driver.Mutation{At: ms(1), Retire: []driver.Retirement{{Located: located(home, "m")[0], State: driver.Merged, For: heir}}})
	}
	cases := map[string]func(*Store){
		"live":    func(*Store) {},
		"deleted": func(st *Store) { _, _ = st.Delete(bg, home, "m", ms(1)) },
		"merged":  merge,
		"restored": func(st *Store) {
			merge(st)
			apply(t, st, driver.Mutation{Restore: located(home, "m")})
		},
		"with an estate": func(st *Store) {
			apply(t, st, driver.Mutation{At: ms(1), Retire: []driver.Retirement{{Located: located(home, heir)[0], State: driver.Merged, For: "m"}}})
		},
	}
	for name, prepare := range cases {
		t.Run(name, func(t *testing.T) {
			st := New()
			empty := inUse()
			func() {
				var parts [4]string
				for i := range parts {
					parts[i] = strings.Repeat(string("mtuv"[i]), textSize)
				}
				require.NoError(t, st.Put(bg, home, note(heir, 0)))
				require.NoError(t, st.Put(bg, home, driver.Entry{
					ID: parts[0][:1], CreatedAt: ms(0), Content: parts[0], Tags: parts[1:2], Subjects: parts[2:3], Sources: parts[3:],
				}))
			}()
			shown, err := st.Version(bg, "t")
			require.NoError(t, err)
			prepare(st)
			before := lookup(t, st, home, "m")
			require.Greater(t, inUse()-empty, textSize/2)
			state, successor := before.State, before.For
			before = driver.Record{}

			erased := apply(t, st, driver.Mutation{Erase: located(home, "m", "never held")})
			require.Less(t, inUse()-empty, textSize/2)
			after := lookup(t, st, home, "m")
			require.Equal(t, driver.Record{Scope: home, Entry: driver.Entry{ID: "m"}, State: state, For: successor, Erased: true}, after)
			intact, err := st.Intact(bg, home, shown)
			require.NoError(t, err)
			require.False(t, intact)
			intact, err = st.Intact(bg, home, erased)
			require.NoError(t, err)
			require.True(t, intact)
			entries, err := st.List(bg, home, driver.Query{Version: shown, IDs: []string{"m"}, At: ms(1)})
			require.NoError(t, err)
			require.Empty(t, entries)
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
		require.NoError(t, st.Put(bg, driver.Scope{Tenant: "t", Ref: id}, e))
	}
	merge := func(id, heir string) driver.Retirement {
		return driver.Retirement{Located: located(home, id)[0], State: driver.Merged, For: heir}
	}
	apply(t, st, driver.Mutation{At: ms(9), Retire: []driver.Retirement{merge("a", "c"), merge("b", "c")}})
	found, err := collect(st.History(bg, "t", driver.HistoryQuery{Subject: "ann"}))
	require.NoError(t, err)
	require.Len(t, found, 6)
	estate, err := collect(st.History(bg, "t", driver.HistoryQuery{Ref: "r", For: []string{"c"}}))
	require.NoError(t, err)
	require.Len(t, estate, 2)

	apply(t, st, driver.Mutation{At: ms(9), Restore: located(home, "a"), Erase: located(home, "c")})
	list, err := st.List(bg, home, at(9))
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids(list))
	_, err = st.Apply(bg, "t", driver.Mutation{Restore: located(home, "c")})
	require.Equal(t, error(driver.ErrConflict), err)
	apply(t, st, driver.Mutation{Erase: located(home, "b")})
	_, err = st.Apply(bg, "t", driver.Mutation{Restore: located(home, "b")})
	require.Equal(t, error(driver.ErrConflict), err, "what was erased cannot come back")
	require.Equal(t, "c", lookup(t, st, home, "b").For, "lineage can be walked through a stub")
	found, err = collect(st.History(bg, "t", driver.HistoryQuery{Subject: "c"}))
	require.NoError(t, err)
	require.Len(t, found, 1, "the other ref's")
}

// chunkSize is how many items lie beside each other in a list at most.
const chunkSize = 512

// A text is dropped also where records were moved about in memory.
func TestM10_EraseAfterSplit(t *testing.T) {
	const size = 32 << 10
	st := New()
	put := func(i int) (document weak.Pointer[byte]) {
		e := note(fmt.Sprintf("%04d", i), i)
		e.Content = strings.Repeat("x", size)
		require.NoError(t, st.Put(bg, home, e))
		at := name{"r", "k", e.ID}
		apply(t, st, swap(driver.Document{Scope: home, Class: driver.Content, Kind: at.kind, Key: at.key, Value: []byte(e.Content[:100]), Of: []string{e.ID}}))
		return weak.Make(&st.tenant("t").shelf.docs[at].Value[0])
	}
	docs := map[int]weak.Pointer[byte]{}
	var all []driver.Located
	empty := inUse()
	for _, i := range []int{1, 0} { // the even ones go between the odd ones
		for ; i < 3*chunkSize; i += 2 {
			docs[len(all)] = put(i)
			all = append(all, located(home, fmt.Sprintf("%04d", i))...)
		}
	}
	require.Greater(t, inUse()-empty, size*len(all))
	apply(t, st, driver.Mutation{Erase: all[chunkSize/2:]})
	held := inUse() - empty
	require.Greater(t, held, size*chunkSize/2)
	require.Less(t, held, size*(chunkSize/2+chunkSize/4))
	for i, doc := range docs {
		require.Equal(t, i < chunkSize/2, doc.Value() != nil)
	}
	runtime.KeepAlive(st)
}

// A document goes with each entry that it was made from, in the mutation that erases the
// entry or the purge that removes it, and its text with it; others stay.
func TestD_DocumentsGoWithTheirEntries(t *testing.T) {
	for _, end := range []string{"erase", "purge"} {
		st := New()
		for _, id := range []string{"a", "b", "c"} {
			e := note(id, 0)
			if id != "c" {
				e.ExpiresAt = ms(5)
			}
			require.NoError(t, st.Put(bg, home, e))
			require.NoError(t, st.Put(bg, driver.Scope{Tenant: "t", Ref: "far"}, note(id, 0)))
		}
		var texts []weak.Pointer[byte]
		for i, of := range [][]string{{"a", "b"}, {"b"}, {"c"}, {"c", "a", "c"}} {
			key := fmt.Sprint(i)
			value := []byte(strings.Repeat("text", 100))
			apply(t, st, swap(driver.Document{Scope: home, Class: driver.Content, Kind: "k", Key: key, Value: value, Of: of, Group: "g"}))
			apply(t, st, swap(driver.Document{Scope: driver.Scope{Tenant: "t", Ref: "far"}, Class: driver.Content, Kind: "k", Key: key, Of: of}))
			texts = append(texts, weak.Make(&st.tenant("t").shelf.docs[name{"r", "k", key}].Value[0]))
		}
		now, err := st.Version(bg, "t")
		require.NoError(t, err)
		if end == "erase" {
			apply(t, st, driver.Mutation{Erase: located(home, "a")})
			require.Equal(t, []string{"1", "2"}, keys(documents(t, st, driver.DocumentQuery{Ref: "r"})))
			apply(t, st, driver.Mutation{Erase: located(home, "b")})
		} else {
			n, err := st.Purge(bg, "t", now, ms(5))
			require.NoError(t, err)
			require.Equal(t, 2, n)
		}
		for _, q := range []driver.DocumentQuery{{Ref: "r"}, {Ref: "r", Kind: "k"}, {Ref: "r", Group: "g"}, {EveryRef: true, Group: "g"}} {
			require.Equal(t, []string{"2"}, keys(documents(t, st, q)))
		}
		require.Len(t, documents(t, st, driver.DocumentQuery{Ref: "far"}), 4)
		runtime.GC()
		for i, text := range texts {
			require.Equal(t, i == 2, text.Value() != nil, "%s of document %d", end, i)
		}
		runtime.KeepAlive(st)
	}
}

func keys(docs []driver.Document) (keys []string) {
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	return keys
}

// An erasure in one ref leaves the versions of the others whole, also after a purge.
func TestM7_IntactByRef(t *testing.T) {
	st := New()
	far := driver.Scope{Tenant: "t", Ref: "far"}
	require.NoError(t, st.Put(bg, home, note("a", 0)))
	require.NoError(t, st.Put(bg, far, note("a", 0)))
	v, err := st.Version(bg, "t")
	require.NoError(t, err)
	apply(t, st, driver.Mutation{Erase: located(home, "a")})
	for range 2 {
		for s, want := range map[driver.Scope]bool{home: false, far: true, {Tenant: "t", Ref: "none"}: true} {
			intact, err := st.Intact(bg, s, v)
			require.NoError(t, err)
			require.Equal(t, want, intact, s.Ref)
		}
		_, err := st.Purge(bg, "t", v, ms(1))
		require.NoError(t, err)
	}
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
	retire := func(id string, state driver.State, heir string) {
		apply(t, st, driver.Mutation{At: ms(9), Retire: []driver.Retirement{{Located: located(home, id)[0], State: state, For: heir}}})
	}
	purge := func(n int) int {
		v, err := st.Version(bg, "t")
		require.NoError(t, err)
		got, err := st.Purge(bg, "t", v, ms(n))
		require.NoError(t, err)
		return got
	}
	left := func() (names []string) {
		recs, err := collect(st.History(bg, "t", driver.HistoryQuery{}))
		require.NoError(t, err)
		for _, r := range bySpot(recs) {
			names = append(names, r.Entry.ID)
		}
		return names
	}
	retire("old", driver.Merged, "mid")
	retire("mid", driver.Superseded, "head")
	retire("gone", driver.Deleted, "")
	require.Equal(t, 1, purge(9))
	require.Equal(t, []string{"head", "keeper", "mid", "old", "short"}, left())
	require.Equal(t, 1, purge(20))
	require.Equal(t, []string{"head", "keeper", "mid", "old"}, left())

	before, err := st.Version(bg, "t")
	require.NoError(t, err)
	retire("head", driver.Deleted, "")
	n, err := st.Purge(bg, "t", before, ms(30))
	require.NoError(t, err)
	require.Zero(t, n, "the version before still shows the head")
	require.Equal(t, 3, purge(30))
	require.Equal(t, []string{"keeper"}, left())

	apply(t, st, driver.Mutation{Erase: located(home, "keeper")})
	require.Equal(t, 1, purge(30))
	require.Empty(t, st.tenant("t").scopes)
	require.NoError(t, st.Put(bg, home, note("head", 40)), "a purged id is an unknown one")
}

// What a scope has noted of changes and erasures goes when no version that can be read needs
// it, though the scope itself stays.
func TestM7_PurgeLetsGoOfWhatWasNoted(t *testing.T) {
	st := New()
	for i := range 4 {
		require.NoError(t, st.Put(bg, home, note(fmt.Sprint(i), i)))
	}
	apply(t, st, driver.Mutation{Erase: located(home, "1")})
	before, err := st.Version(bg, "t")
	require.NoError(t, err)
	apply(t, st, driver.Mutation{Erase: located(home, "2")})
	tenant := st.tenant("t")
	sc := tenant.scopes["r"]
	require.Len(t, tenant.journals, 6)
	require.Equal(t, spans{{2, 5}, {3, 6}}, sc.erased)
	_, err = st.Purge(bg, "t", before, ms(9))
	require.NoError(t, err)
	require.Len(t, tenant.journals, 1, "the last erasure can still be asked for")
	require.Equal(t, spans{{3, 6}}, sc.erased, "the version before it is broken by it")
	now, err := st.Version(bg, "t")
	require.NoError(t, err)
	_, err = st.Purge(bg, "t", now, ms(9))
	require.NoError(t, err)
	require.Empty(t, tenant.journals)
	require.Empty(t, sc.erased)
	require.Same(t, sc, tenant.scopes["r"])
}

func bySpot(recs []driver.Record) []driver.Record {
	slices.SortFunc(recs, func(a, b driver.Record) int {
		return strings.Compare(a.Ref+"\x00"+a.Entry.ID, b.Ref+"\x00"+b.Entry.ID)
	})
	return recs
}

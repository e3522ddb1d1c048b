package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/sqlite"
)

var oddNames = []string{"a", "A", "ab", "a%", "a_b", "a/b", "é", "e\u0301", "日本", "\U0010ffff", "\ufffd", "a'b", strings.Repeat("n", 250)}

func scopes(t *testing.T, st driver.Tenants, after driver.Scope) (all []driver.Scope) {
	for s, err := range st.Scopes(t.Context(), after) {
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

// The scopes are those of the in-memory store, from wherever the listing goes on.
func TestM1_ScopesAsInMemory(t *testing.T) {
	for seed := range int64(5) {
		rng := rand.New(rand.NewSource(seed))
		db, _ := fresh(t)
		st, in := db.Memory(), inmem.New()
		name := func() string { return oddNames[rng.Intn(len(oddNames))] }
		for i := range 60 {
			s := driver.Scope{Tenant: name(), Ref: name()}
			id := fmt.Sprint("e", rng.Intn(5))
			var m driver.Mutation
			switch i % 5 {
			case 0, 1:
				m.Put = []driver.Placed{{Scope: s, Entry: entry(id, "text")}}
			case 2:
				m.Erase = []driver.Located{{Scope: s, ID: id}}
			case 3:
				m.Documents = []driver.DocumentSwap{{Document: driver.Document{Scope: s, Kind: "k", Key: fmt.Sprint(i)}}}
			case 4:
				s.Ref = ""
				m.Documents = []driver.DocumentSwap{{Document: driver.Document{Scope: s, Class: driver.HostText, Kind: "k", Key: fmt.Sprint(i)}}}
			}
			m.At = now
			_, err := st.Apply(t.Context(), s.Tenant, m)
			require.NoError(t, err)
			_, err = in.Apply(t.Context(), s.Tenant, m)
			require.NoError(t, err)
		}
		all := scopes(t, in, driver.Scope{})
		require.Equal(t, all, scopes(t, st, driver.Scope{}), "seed %d", seed)
		for range 30 {
			after := driver.Scope{Tenant: name(), Ref: name()}
			require.Equal(t, scopes(t, in, after), scopes(t, st, after), "seed %d", seed)
		}
		gone := all[rng.Intn(len(all))].Tenant
		drop(t, st, gone, 3)
		drop(t, in, gone, 3)
		require.Equal(t, scopes(t, in, driver.Scope{}), scopes(t, st, driver.Scope{}), "seed %d", seed)
	}
}

// drop drops a tenant and returns how many calls it took.
func drop(t *testing.T, st driver.Tenants, tenant string, limit int) (calls int) {
	for more := true; more; calls++ {
		var err error
		more, err = st.DropTenant(t.Context(), tenant, limit)
		require.NoError(t, err)
	}
	return calls
}

// fill gives a tenant 20 entries, 60 documents of all classes and 20 events, with its mark
// in all of them, in several mutations, one of which retires and one of which erases.
func fill(t *testing.T, st *sqlite.Store, tenant, mark string) (versions []driver.Version) {
	for i := range 20 {
		s := driver.Scope{Tenant: tenant, Ref: fmt.Sprint(mark, "-ref-", i%3)}
		e := entry(fmt.Sprint(mark, "-id-", i), strings.Repeat(mark+" content ", 1+i*i*3))
		e.Tags, e.Subjects, e.Sources, e.RunID = []string{mark}, []string{mark}, []string{mark}, mark
		doc := func(class driver.Class) driver.DocumentSwap {
			d := driver.Document{Scope: s, Class: class, Kind: "k", Key: fmt.Sprint(mark, class, i), Value: []byte(e.Content)}
			switch class {
			case driver.Machinery:
				d.Group, d.Due = mark, now
			case driver.Content:
				d.Of = []string{e.ID}
			case driver.HostText:
				d.Subjects = []string{mark}
			}
			return driver.DocumentSwap{Document: d}
		}
		done, err := st.Apply(t.Context(), tenant, driver.Mutation{At: now,
			Put:       []driver.Placed{{Scope: s, Entry: e}},
			Documents: []driver.DocumentSwap{doc(driver.Machinery), doc(driver.Content), doc(driver.HostText)},
			Events: []events.Record{{ID: fmt.Sprint(mark, i), Tenant: tenant, RunID: mark, NodeID: mark, Time: now,
				Payload: events.MemoryWritten{MemoryRef: s.Ref, MemoryID: e.ID}}},
		})
		require.NoError(t, err)
		versions = append(versions, done.Version)
		if i == 10 {
			_, err = st.Delete(t.Context(), s, e.ID, now)
			require.NoError(t, err)
		}
	}
	return versions
}

// What a tenant had is neither in the file nor in its log when the last call says that
// nothing is left, and another tenant has all of it.
func TestM10_DroppedTenantReachesTheDisk(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		db, path := fresh(t)
		st := db.Memory()
		old := fill(t, st, "acme", "MARKacmeKRAM")
		kept := fill(t, st, "acm", "MARKotherKRAM")
		// Bytes that a page of a table may begin with fill the pages of a long value, too.
		long := driver.Document{Scope: driver.Scope{Tenant: "acm", Ref: "bytes"}, Kind: "bytes", Key: "k", Value: bytes.Repeat([]byte{12}, 50_000)}
		_, err := st.Apply(t.Context(), "acm", driver.Mutation{Documents: []driver.DocumentSwap{{Document: long}}})
		require.NoError(t, err)
		require.Positive(t, onDisk(t, path, "MARKacmeKRAM"))
		calls := drop(t, st, "acme", limit)
		require.LessOrEqual(t, calls, 100/limit+2)
		if limit < 100 {
			require.Greater(t, calls, 60/limit) // documents go with their entries
		}
		require.Zero(t, onDisk(t, path, "MARKacmeKRAM"), "limit %d", limit)
		for _, s := range scopes(t, st, driver.Scope{}) {
			require.Equal(t, "acm", s.Tenant)
		}
		for _, v := range old {
			_, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "r"}, v)
			require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		}
		later := fill(t, st, "acme", "again")
		for _, v := range old {
			require.NotContains(t, later, v)
			_, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "r"}, v)
			require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		}
		for _, v := range append(kept, later[0]) {
			tenant := "acm"
			if v == later[0] {
				tenant = "acme"
			}
			whole, err := st.Intact(t.Context(), driver.Scope{Tenant: tenant, Ref: "r"}, v)
			require.NoError(t, err)
			require.True(t, whole)
		}
		n, err := st.Waiting(t.Context(), "acm", 100)
		require.NoError(t, err)
		require.Equal(t, 20, n)
		docs := 0
		for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: "acm", EveryRef: true}) {
			require.NoError(t, err)
			require.True(t, d.Kind != "bytes" || bytes.Equal(d.Value, long.Value))
			docs++
		}
		require.Equal(t, 61, docs)
		require.NoError(t, db.Close())
	}
}

// A call that has not come to the end keeps every version from being read, also those that
// were taken since the one before.
func TestM7_HalfDroppedTenant(t *testing.T) {
	db, _ := fresh(t)
	st := db.Memory()
	versions := fill(t, st, "acme", "m")
	first, err := st.Version(t.Context(), "globex") // of nothing at all
	require.NoError(t, err)
	for range 3 {
		more, err := st.DropTenant(t.Context(), "acme", 2)
		require.NoError(t, err)
		require.True(t, more)
		for _, v := range versions {
			_, err := st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "r"}, v)
			require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
		}
		v, err := st.Version(t.Context(), "acme")
		require.NoError(t, err)
		_, err = st.Intact(t.Context(), driver.Scope{Tenant: "acme", Ref: "r"}, v)
		require.NoError(t, err)
		versions = append(versions, v)
	}
	require.Equal(t, 1, drop(t, st, "globex", 5))
	_, err = st.Intact(t.Context(), driver.Scope{Tenant: "globex", Ref: "r"}, first)
	require.ErrorIs(t, err, driver.ErrSnapshotUnavailable)
}

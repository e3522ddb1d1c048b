package sqlite

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// What is missed at which versions is known, in any order of erasures.
func TestErasedSpans(t *testing.T) {
	db := openFresh(t)
	rng := rand.New(rand.NewSource(1))
	const versions = 60
	var missed [versions]bool
	for range 200 {
		var spans [][3]any
		for range 1 + rng.Intn(3) {
			since := int64(rng.Intn(versions))
			until := min(versions, since+int64(rng.Intn(12)))
			for n := since; n < until; n++ {
				missed[n] = true
			}
			spans = append(spans, [3]any{inHex("r"), since, until})
		}
		require.NoError(t, db.tx(t.Context(), func(t *tx) error {
			if rng.Intn(25) == 0 {
				missed = [versions]bool{}
				t.exec(`DELETE FROM erased_spans WHERE ref = ?`, "r")
			} else {
				t.exec(addErased, "t", inJSON(spans))
			}
			return nil
		}))
		for n, gone := range missed {
			var intact bool
			require.NoError(t, first(db.reads(t.Context()), []any{&intact}, isIntact, "t", "r", n))
			require.Equal(t, !gone, intact, n)
		}
	}
}

// An entry that is erased is missed in each of its lives, and between them not.
func TestIntact_FormerLives(t *testing.T) {
	st := openFresh(t).Memory()
	at := func(id string) driver.Located { return driver.Located{Scope: here, ID: id} }
	want := []bool{true}
	versions := []driver.Version{driver.FirstMark(st.db.dialect.Incarnation, here.Tenant).Version(0)}
	for _, step := range []struct {
		m      driver.Mutation
		intact bool
	}{
		{driver.Mutation{Put: []driver.Placed{{Scope: here, Entry: driver.Entry{ID: "head", CreatedAt: then}}}}, true},
		{driver.Mutation{Put: []driver.Placed{{Scope: here, Entry: driver.Entry{ID: "a", CreatedAt: then}}}}, false},
		{driver.Mutation{Retire: []driver.Retirement{{Located: at("a"), State: driver.Merged, For: "head"}}}, true},
		{driver.Mutation{Restore: []driver.Located{at("a")}}, false},
		{driver.Mutation{Retire: []driver.Retirement{{Located: at("a"), State: driver.Merged, For: "head"}}}, true},
		{driver.Mutation{Erase: []driver.Located{at("a")}}, true},
	} {
		step.m.At = then
		done, err := st.Apply(t.Context(), here.Tenant, step.m)
		require.NoError(t, err)
		versions, want = append(versions, done.Version), append(want, step.intact)
	}
	for i, v := range versions {
		intact, err := st.Intact(t.Context(), here, v)
		require.NoError(t, err)
		require.Equal(t, want[i], intact, i)
		intact, err = st.Intact(t.Context(), driver.Scope{Tenant: here.Tenant, Ref: "other"}, v)
		require.NoError(t, err)
		require.True(t, intact, "of another ref nothing is missed")
	}
}

// A purge leaves no copy of what it moved in any gap: the pages beside
// it that it sweeps, in the transaction that takes out, are all that are to be swept.
func TestM10_PurgeSweepsBesideWhatItTakesOut(t *testing.T) {
	seeds := int64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewSource(seed))
		db := openFresh(t)
		refs := make([]driver.Scope, 12)
		for i := range refs {
			refs[i] = driver.Scope{Tenant: fmt.Sprint("tenant-", i), Ref: "r"}
		}
		live := map[driver.Scope][]string{}
		for i := range 1200 {
			s, id := refs[r.Intn(len(refs))], fmt.Sprint("id", i)
			e := driver.Entry{ID: id, CreatedAt: then, Content: strings.Repeat("x", 1+r.Intn([]int{20, 100, 700, 1500, 6000}[r.Intn(5)]))}
			require.NoError(t, db.Memory().Put(t.Context(), s, e))
			live[s] = append(live[s], id)
		}
		taken := 0
		for range 60 {
			s := refs[r.Intn(len(refs))]
			for range min(len(live[s]), 1+r.Intn([]int{2, 60}[r.Intn(2)])) {
				i := r.Intn(len(live[s]))
				_, err := db.Memory().Delete(t.Context(), s, live[s][i], then)
				require.NoError(t, err)
				live[s] = slices.Delete(live[s], i, i+1)
			}
			n, err := db.purge(t.Context(), s, math.MaxInt64-1, then)
			require.NoError(t, err)
			taken += n
			dirty := 0
			require.NoError(t, db.tx(t.Context(), func(t *tx) error {
				return t.query(func(rows sqlstore.Row) (bool, error) {
					var number int64
					var data sql.RawBytes
					err := rows.Scan(&number, &data)
					if _, is := zeroed(data); is && data[0] != 5 { // which has keys only
						dirty++
					}
					return true, err
				}, allPages+` AND d.name IN ('texts', 'bodies')`)
			}))
			require.Zero(t, dirty, "seed %d, %d entries were taken out", seed, taken)
		}
		require.Greater(t, taken, 400)
	}
}

// A purge leaves an entry whose subjects it cannot read.
func TestPurge_DamagedSubjects(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then, Subjects: []string{"s"}}))
	_, err := st.Delete(t.Context(), here, "a", then)
	require.NoError(t, err)
	require.NoError(t, db.tx(t.Context(), func(t *tx) error {
		t.exec(`UPDATE texts SET head = x'00000000ff'`)
		return nil
	}))
	v, err := st.Version(t.Context(), here.Tenant)
	require.NoError(t, err)
	n, err := st.Purge(t.Context(), here.Tenant, v, then)
	require.ErrorIs(t, err, driver.ErrInternal)
	require.EqualError(t, err, "sqlite: "+damaged)
	require.Zero(t, n)
	var left int
	require.NoError(t, first(db.reads(t.Context()), []any{&left}, `SELECT count(*) FROM entries e JOIN labels s ON s.ref = e.ref AND s.id = e.id`))
	require.Equal(t, 1, left)
}

// A row of the index of subjects whose entry is gone finds no entry of another tenant
// that has its id.
func TestM1_StaleSubject(t *testing.T) {
	db := openFresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then, Subjects: []string{"s"}}))
	require.NoError(t, db.tx(t.Context(), func(t *tx) error {
		t.exec(`INSERT INTO labels SELECT unhex(?), ref, created, id FROM labels`, hex.EncodeToString(sqlstore.Label("other", "s")))
		return nil
	}))
	for r, err := range db.Memory().History(t.Context(), "other", driver.HistoryQuery{Subject: "s"}) {
		require.NoError(t, err)
		require.Fail(t, "found", r.Scope)
	}
}

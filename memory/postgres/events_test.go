package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// queue commits events of a run, in one mutation.
func queue(t *testing.T, st *Store, run string, ids ...string) {
	m := driver.Mutation{At: now}
	for _, id := range ids {
		m.Events = append(m.Events, events.Record{ID: id, Tenant: home.Tenant, RunID: run, Time: now, Payload: events.WorkspaceUpdated{Path: "a", Version: 1}})
	}
	_, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err)
}

// take returns the ids of what waits, of all runs or of one.
func take(t *testing.T, db *DB, run ...string) (ids []string) {
	tenant, id := "", ""
	if len(run) > 0 {
		tenant, id = home.Tenant, run[0]
	}
	for r, err := range db.Memory().Undelivered(t.Context(), tenant, id) {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	return ids
}

// Relays of two processes share the runs, and neither gets an event of a run of which
// the other has one.
func TestE3_RelaysShareRuns(t *testing.T) { shareRuns(t, openDB(t, Options{})) }

func shareRuns(t *testing.T, one *DB) {
	st, ctx := one.Memory(), t.Context()
	other, err := opened(ctx, one.pool, Options{})
	require.NoError(t, err)
	queue(t, st, "r1", "1")
	queue(t, st, "r1", "2")
	require.Equal(t, []string{"1", "2"}, take(t, one))
	queue(t, st, "r2", "3")
	queue(t, st, "r1", "4")
	require.Equal(t, []string{"3"}, take(t, other))
	require.Equal(t, []string{"1", "2", "4"}, take(t, one))
	require.Equal(t, []string{"1", "2", "4"}, take(t, other, "r1"))
	require.NoError(t, one.Close())
	require.Equal(t, []string{"1", "2", "3", "4"}, take(t, other))
}

// Counting hands nothing out: another relay gets all of it.
func TestE3_WaitingClaimsNothing(t *testing.T) { countOnly(t, openDB(t, Options{})) }

func countOnly(t *testing.T, one *DB) {
	st, ctx := one.Memory(), t.Context()
	other, err := opened(ctx, one.pool, Options{})
	require.NoError(t, err)
	for i := range 5 {
		queue(t, st, fmt.Sprint("r", i), fmt.Sprint(i))
	}
	for _, c := range []struct {
		tenant      string
		limit, want int
	}{{"", 10, 5}, {"", 3, 3}, {"acme", 10, 5}, {"acme", 2, 2}, {"globex", 10, 0}} {
		n, err := st.Waiting(ctx, c.tenant, c.limit)
		require.NoError(t, err)
		require.Equal(t, c.want, n)
	}
	require.Len(t, take(t, other), 5)
	n, err := st.Waiting(ctx, "", 10) // hidden ones too
	require.NoError(t, err)
	require.Equal(t, 5, n)
}

// A loop never yields an event of a run behind one that it has passed over, though the
// claim on that ends meanwhile; and not one of a run that another process has taken over.
func TestE3_PassedRunsStayPassed(t *testing.T) { passOver(t, openDB(t, Options{})) }

func passOver(t *testing.T, one *DB) {
	st, ctx := one.Memory(), t.Context()
	other, err := opened(ctx, one.pool, Options{})
	require.NoError(t, err)
	queue(t, st, "theirs", "t1")
	take(t, other)
	queue(t, st, "ours", "o1")
	var filler []string
	for i := range sqlstore.PageSize { // so that what comes now is on the second page
		filler = append(filler, fmt.Sprint(i))
	}
	queue(t, st, "filler", filler...)
	queue(t, st, "theirs", "t2")
	queue(t, st, "ours", "o2")
	queue(t, st, "late", "l1")
	var got []string
	for r, err := range st.Undelivered(ctx, "", "") {
		require.NoError(t, err)
		switch {
		case r.ID == "0":
			require.NoError(t, other.release(ctx))
		case r.ID == "1":
			// What we had is delivered, and the other process has the rest of the run.
			require.NoError(t, st.Delivered(ctx, []events.Record{{Tenant: home.Tenant, RunID: "ours", ID: "o1"}}))
			var at int64
			require.NoError(t, one.pool.QueryRow(ctx, `SELECT `+clock).Scan(&at))
			_, err = one.pool.Exec(ctx, `UPDATE agentmemory.events SET owner = $1, until = $2 WHERE event_id = 'o2'`, other.owner, at+claimMillis)
			require.NoError(t, err)
		}
		if r.RunID != "filler" {
			got = append(got, r.ID)
		}
	}
	require.Equal(t, []string{"o1", "l1"}, got)
}

// A walk over runs that a sink refuses looks at each event once.
func TestE3_StuckRunsCostTheirEvents(t *testing.T) { lookOnce(t, openDB(t, Options{})) }

func lookOnce(t *testing.T, db *DB) {
	st, ctx := db.Memory(), t.Context()
	const runs = 1000
	for i := range 2 {
		var m driver.Mutation
		for run := range runs {
			m.Events = append(m.Events, events.Record{ID: fmt.Sprint(i), Tenant: home.Tenant, RunID: fmt.Sprint(run), Time: now,
				Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
		}
		_, err := st.Apply(ctx, home.Tenant, m)
		require.NoError(t, err)
	}
	// Each page is read once, and each claim is of a page.
	read, yielded := 0, 0
	inner := db.dialect.Read
	db.dialect.Read = func(ctx context.Context, tenant string, queries func() []sqlstore.Query) error {
		return inner(ctx, tenant, func() []sqlstore.Query {
			list := queries()
			for i, q := range list {
				list[i].Row = func(row sqlstore.Row) (bool, error) { read++; return q.Row(row) }
			}
			return list
		})
	}
	defer func() { db.dialect.Read = inner }()
	for _, err := range st.Undelivered(ctx, "", "") {
		require.NoError(t, err)
		yielded++
	}
	require.Equal(t, 2*runs, read)
	require.Equal(t, 2*runs, yielded)
}

// An event that cannot be read holds up no other run, and is not lost: nothing of its
// run overtakes it, and the loop ends with an error.
func TestE3_DamageHoldsUpItsRunOnly(t *testing.T) { holdUpOne(t, openDB(t, Options{})) }

func holdUpOne(t *testing.T, db *DB) {
	st, ctx := db.Memory(), t.Context()
	for i, run := range []string{"ill", "ill", "ill", "well"} {
		queue(t, st, run, fmt.Sprint(i))
	}
	_, err := db.pool.Exec(ctx, `UPDATE agentmemory.events SET payload = '{' WHERE event_id = '1'`)
	require.NoError(t, err)
	for _, c := range []struct {
		run  driver.Scope // its Ref is the run
		want []string
	}{
		{driver.Scope{}, []string{"0", "3"}},
		{driver.Scope{Tenant: home.Tenant, Ref: "ill"}, []string{"0"}},
	} {
		var got []string
		var end error
		for r, err := range st.Undelivered(ctx, c.run.Tenant, c.run.Ref) {
			if err != nil {
				end = err
				continue
			}
			got = append(got, r.ID)
		}
		require.ErrorIs(t, end, driver.ErrInternal)
		require.Equal(t, c.want, got)
	}
	var sound string
	require.NoError(t, db.pool.QueryRow(ctx, `SELECT payload FROM agentmemory.events WHERE event_id = '0'`).Scan(&sound))
	_, err = db.pool.Exec(ctx, `UPDATE agentmemory.events SET payload = $1`, sound)
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1", "2"}, take(t, db, "ill"))
}

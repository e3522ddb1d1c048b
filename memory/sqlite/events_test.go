package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// An event that cannot be read holds up no other run, and is not lost: nothing of its
// run overtakes it, and a relay ends with an error.
func TestE3_DamageHoldsUpItsRunOnly(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	var m driver.Mutation
	for i, run := range []string{"ill", "ill", "ill", "well"} {
		m.Events = append(m.Events, events.Record{ID: fmt.Sprint(i), Tenant: home.Tenant, RunID: run, Time: now,
			Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
	}
	_, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err)
	_, err = raw(t, path).Exec(`UPDATE events SET payload = '{' WHERE event = '1'`)
	require.NoError(t, err)

	read := func(tenant, run string) (ids []string, last error) {
		for r, err := range st.Undelivered(t.Context(), tenant, run) {
			require.NoError(t, last, "it stops after an error")
			if last = err; err == nil {
				ids = append(ids, r.ID)
			}
		}
		return ids, last
	}
	ids, err := read("", "")
	require.Equal(t, []string{"0", "3"}, ids)
	require.ErrorIs(t, err, driver.ErrInternal)
	ids, err = read(home.Tenant, "ill")
	require.Equal(t, []string{"0"}, ids)
	require.ErrorIs(t, err, driver.ErrInternal)
	ids, err = read(home.Tenant, "well")
	require.Equal(t, []string{"3"}, ids)
	require.NoError(t, err)

	_, err = raw(t, path).Exec(`UPDATE events SET payload = (SELECT payload FROM events WHERE event = '0')`)
	require.NoError(t, err)
	ids, err = read("", "")
	require.Equal(t, []string{"0", "1", "2", "3"}, ids)
	require.NoError(t, err)
	require.NoError(t, st.Delivered(t.Context(), m.Events[1:3]))
	for limit, want := range []int{0, 1, 2, 2} {
		n, err := st.Waiting(t.Context(), home.Tenant, limit)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	n, err := st.Waiting(t.Context(), "other", 9)
	require.NoError(t, err)
	require.Zero(t, n)
}

// A walk over the events that wait looks at each once, also where many runs wait, and sees
// what is delivered meanwhile or not.
func TestE3_EventsInPages(t *testing.T) {
	db, _ := fresh(t)
	st := db.Memory()
	var m driver.Mutation
	const n = 1300
	for i := range n {
		m.Events = append(m.Events, events.Record{ID: fmt.Sprint(i), Tenant: home.Tenant, RunID: fmt.Sprint(i % 600), Time: now,
			Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
	}
	_, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err)
	i := 0
	for r, err := range st.Undelivered(t.Context(), "", "") {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), r.ID)
		i++
	}
	require.Equal(t, n, i)
	i = 0
	for r, err := range st.Undelivered(t.Context(), "", "") {
		require.NoError(t, err)
		require.NoError(t, st.Delivered(t.Context(), []events.Record{r}))
		i++
	}
	require.Equal(t, n, i)
}

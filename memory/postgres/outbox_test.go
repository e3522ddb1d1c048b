package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// An event that cannot be read holds up no other run, and is not lost: nothing of its
// run overtakes it, and a relay ends with an error.
func TestE3_DamageHoldsUpItsRunOnly(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	var m memory.Mutation
	for i, run := range []string{"ill", "ill", "ill", "well"} {
		m.Events = append(m.Events, events.Record{ID: fmt.Sprint(i), Tenant: home.Tenant, RunID: run, Time: now,
			Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
	}
	_, err := st.Apply(ctx, home.Tenant, m)
	require.NoError(t, err)
	_, err = db.pool.Exec(ctx, `UPDATE agentmemory.outbox SET type = 'of.another.time' WHERE event_id = '1'`)
	require.NoError(t, err)

	log := new(events.Log)
	bank, err := memory.NewBank(st, memory.Config{Sink: log})
	require.NoError(t, err)
	done, err := bank.Relay(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, 2, done.Delivered)
	require.Len(t, log.All(), 2)

	// A page that only the damaged run would fill has what waits behind it.
	m.Events = m.Events[3:]
	_, err = st.Apply(ctx, home.Tenant, m)
	require.NoError(t, err)
	got, err := st.Undelivered(ctx, memory.OutboxQuery{Limit: 1})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "well", got[0].RunID)

	_, err = st.Undelivered(ctx, memory.OutboxQuery{Tenant: home.Tenant, RunID: "ill", Limit: 1})
	require.ErrorIs(t, err, memory.ErrInternal)
	_, err = db.pool.Exec(ctx, `UPDATE agentmemory.outbox SET type = 'workspace.updated'`)
	require.NoError(t, err)
	left, err := st.Undelivered(ctx, memory.OutboxQuery{Tenant: home.Tenant, RunID: "ill"})
	require.NoError(t, err)
	require.Len(t, left, 2)
}

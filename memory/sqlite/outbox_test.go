package sqlite_test

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
	db, path := fresh(t)
	st := db.Memory()
	var m memory.Mutation
	for i, run := range []string{"ill", "ill", "ill", "well"} {
		m.Events = append(m.Events, events.Record{ID: fmt.Sprint(i), Tenant: home.Tenant, RunID: run, Time: now,
			Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
	}
	_, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err)
	_, err = raw(t, path).Exec(`UPDATE outbox SET type = 'of.another.time' WHERE event = '1'`)
	require.NoError(t, err)

	sink := new(fickle)
	bank, err := memory.NewBank(st, memory.Config{Sink: sink})
	require.NoError(t, err)
	done, err := bank.Relay(t.Context())
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, 2, done.Delivered)
	var got []string
	for _, r := range sink.got {
		got = append(got, r.ID)
	}
	require.Equal(t, []string{"0", "3"}, got)

	for range 2 {
		_, err = st.Undelivered(t.Context(), memory.OutboxQuery{Tenant: home.Tenant, RunID: "ill", Limit: 1})
		require.ErrorIs(t, err, memory.ErrInternal)
	}
	_, err = raw(t, path).Exec(`UPDATE outbox SET type = 'workspace.updated'`)
	require.NoError(t, err)
	left, err := st.Undelivered(t.Context(), memory.OutboxQuery{})
	require.NoError(t, err)
	require.Len(t, left, 2)
}

package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// What a host's author does wrong with an open database is named.
func TestM2_MistakesWithAStoreAreNamed(t *testing.T) {
	bg := context.Background()
	db := openFresh(t)
	spoilt := events.Record{Tenant: "acme", RunID: "r", ID: "evt_1", Time: time.UnixMilli(1), Payload: events.HostPayload{Type: "node.completed", JSON: []byte("{")}}
	apply := func(m driver.Mutation) error { _, err := db.Memory().Apply(bg, "acme", m); return err }
	err := apply(driver.Mutation{At: time.UnixMilli(1), Events: []events.Record{spoilt}})
	require.ErrorIs(t, err, driver.ErrValidation)
	require.EqualError(t, err, "memory: invalid input: an event breaks its schema")

	require.NoError(t, db.Close())
	err = apply(driver.Mutation{At: time.UnixMilli(1), Put: []driver.Placed{{Scope: driver.Scope{Tenant: "acme", Ref: "m"},
		Entry: driver.Entry{ID: "mem_1", Content: "x", CreatedAt: time.UnixMilli(1)}}}})
	require.ErrorIs(t, err, driver.ErrInternal)
	require.EqualError(t, err, "sqlite: the database is closed")
	_, err = db.Memory().List(bg, driver.Scope{Tenant: "acme", Ref: "m"}, driver.Query{At: time.UnixMilli(1), Limit: 1})
	require.ErrorIs(t, err, driver.ErrInternal)
	require.EqualError(t, err, "sqlite: the database is closed")
}

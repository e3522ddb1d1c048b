package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// What a host's author does wrong is named, with what to do, and nothing panics.
func TestM2_MistakesAreNamed(t *testing.T) {
	bg := context.Background()
	lazy, err := pgxpool.New(bg, "postgres://localhost:1/none") // it connects when it is asked to
	require.NoError(t, err)
	defer lazy.Close()
	open := func(pool *pgxpool.Pool, o Options) error { _, err := Open(bg, pool, o); return err }
	st := openDB(t, Options{}).Memory()
	apply := func(m driver.Mutation) error {
		_, err := st.Apply(bg, "acme", m)
		return err
	}
	spoilt := events.Record{Tenant: "acme", RunID: "r", ID: "evt_1", Time: time.UnixMilli(1), Payload: events.HostPayload{Type: "node.completed", JSON: []byte("{")}}
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"no pool": {open(nil, Options{}), driver.ErrValidation,
			"memory: invalid input: the pool is nil: make one by pgxpool.New"},
		"no time": {open(lazy, Options{StatementTimeout: -time.Second}), driver.ErrValidation,
			"memory: invalid input: Options.StatementTimeout is below zero: 0 leaves what the server is set to"},
		"a pooler without a time": {open(lazy, Options{Pooler: true}), driver.ErrValidation,
			"memory: invalid input: behind a pooler a StatementTimeout is needed, since nothing else ends a statement"},
		"a pooler and prepared statements": {open(lazy, Options{Pooler: true, StatementTimeout: time.Second}), driver.ErrValidation,
			"memory: invalid input: behind a pooler prepared statements are lost: set default_query_exec_mode to cache_describe"},
		"no server": {open(lazy, Options{}), driver.ErrInternal,
			"memory: internal failure: the database failed"},
		"a payload that is no JSON": {apply(driver.Mutation{At: time.UnixMilli(1), Events: []events.Record{spoilt}}), driver.ErrValidation,
			"memory: invalid input: an event breaks its schema"},
		"a text that is none": {apply(driver.Mutation{At: time.UnixMilli(1), Put: []driver.Placed{{Scope: driver.Scope{Tenant: "acme", Ref: "m"},
			Entry: driver.Entry{ID: "mem_1", Content: "\xff", CreatedAt: time.UnixMilli(1)}}}}), driver.ErrValidation,
			"memory: invalid input: the content or a tag of an entry is not UTF-8 or has U+0000, which PostgreSQL cannot hold"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

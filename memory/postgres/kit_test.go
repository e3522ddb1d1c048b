package postgres

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// lentStore is what the kit gets: a store that closes its DB, and the loan to open it
// again.
type lentStore struct {
	*Store
	io.Closer
	loan *loan
}

func kitConfig(l *lender) adaptertest.Config {
	store := func(db *lentDB, err error) (driver.Adapter, error) {
		if err != nil {
			return nil, err
		}
		return &lentStore{db.Memory(), db, db.loan}, nil
	}
	return adaptertest.Config{
		New: func(ctx context.Context) (driver.Adapter, error) { return store(l.fresh(ctx)) },
		Reopen: func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
			return store(a.(*lentStore).loan.open(ctx))
		},
		// What a process leaves that is killed is what the server has.
		Crash: func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
			return store(a.(*lentStore).loan.open(ctx))
		},
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Events,
			adaptertest.Scheduler, adaptertest.Changes, adaptertest.Tenants, adaptertest.Durable, adaptertest.Shared, adaptertest.Killed},
	}
}

func TestStore(t *testing.T) {
	cfg := kitConfig(&lender{t: t})
	cfg.Certificate = "certificate"
	adaptertest.Run(t, cfg)
}

// The same statements as in TestStore, under policies.
func TestStore_RowSecurity(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") != "1" {
		t.Skip("takes a minute: set AGENTMEMORY_LONG=1")
	}
	secure := &lender{t: t, opts: Options{RowSecurity: true, StatementTimeout: time.Minute}, make: func() *pgxpool.Pool { return securePool(t) }}
	report, err := adaptertest.Check(t.Context(), kitConfig(secure))
	require.NoError(t, err)
	require.True(t, report.OK(), strings.Join(report.Failures(), "\n"))
}

// openDB opens a fresh database for one test.
func openDB(t *testing.T, opts Options) *DB {
	db, err := (&lender{t: t, opts: opts}).fresh(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		giveBack(db.pool)
	})
	return db.DB
}

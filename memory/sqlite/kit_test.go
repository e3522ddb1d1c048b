package sqlite_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// database is what a case of the kit works in.
type database struct {
	*sqlite.DB
	path string
}

// The kit proves what holds among processes. What the wait for the disk adds shows only
// when the power fails, and a slow disk would take minutes.
func (d database) open(ctx context.Context) (database, error) {
	db, err := sqlite.Open(ctx, d.path, sqlite.Options{Relaxed: true})
	return database{db, d.path}, err
}

// databases gives each case an empty database. They are copies of one, with an
// incarnation each, which is several times as fast as making the schema.
func databases(t *testing.T) func(context.Context) (database, error) {
	dir := t.TempDir()
	db, err := database{path: filepath.Join(dir, "template")}.open(t.Context())
	require.NoError(t, err)
	require.NoError(t, db.Close())
	template, err := os.ReadFile(db.path)
	require.NoError(t, err)
	var n atomic.Int64
	return func(ctx context.Context) (database, error) {
		db := database{path: filepath.Join(dir, strconv.FormatInt(n.Add(1), 10))}
		if err := os.WriteFile(db.path, template, 0o600); err != nil {
			return db, err
		}
		copied, err := sql.Open("sqlite", db.path)
		if err != nil {
			return db, err
		}
		_, err = copied.ExecContext(ctx, `UPDATE meta SET value = ? WHERE key = 'incarnation'`, rand.Text())
		if err = errors.Join(err, copied.Close()); err != nil {
			return db, err
		}
		return db.open(ctx)
	}
}

// left opens a copy of what a process that is killed leaves: the file and its log.
func (d database) left(ctx context.Context) (database, error) {
	killed := database{path: filepath.Join(filepath.Dir(d.path), "killed-"+rand.Text())}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(d.path + suffix)
		if err == nil {
			err = os.WriteFile(killed.path+suffix, data, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return killed, err
		}
	}
	return killed.open(ctx)
}

type ownedStore struct {
	*sqlite.Store
	db database
}

func (o *ownedStore) Close() error { return o.db.Close() }

func TestStore(t *testing.T) {
	fresh := databases(t)
	of := func(db database, err error) (driver.Adapter, error) {
		if err != nil {
			return nil, err
		}
		return &ownedStore{db.Memory(), db}, nil
	}
	adaptertest.Run(t, adaptertest.Config{
		New: func(ctx context.Context) (driver.Adapter, error) { return of(fresh(ctx)) },
		Crash: func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
			return of(a.(*ownedStore).db.left(ctx))
		},
		Reopen: func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
			return of(a.(*ownedStore).db.open(ctx))
		},
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Scheduler, adaptertest.Changes,
			adaptertest.Tenants, adaptertest.Events, adaptertest.Durable, adaptertest.Shared, adaptertest.Killed},
		Certificate: "certificate",
	})
}

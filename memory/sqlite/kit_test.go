package sqlite_test

import (
	"context"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// owned is a store that closes its database.
type owned struct {
	*sqlite.Store
	db   *sqlite.DB
	path string
}

func (o *owned) Close() error { return o.db.Close() }

// files gives every store a file of its own.
func files(t *testing.T) func() string {
	dir := t.TempDir()
	var n atomic.Int64
	return func() string { return filepath.Join(dir, strconv.FormatInt(n.Add(1), 10)+".db") }
}

func TestStore(t *testing.T) {
	path := files(t)
	open := func(ctx context.Context, path string) (memory.Adapter, error) {
		// The kit proves what holds among processes. What FULL adds shows only when
		// the power fails, and a disk that is slow to sync would take minutes.
		db, err := sqlite.Open(ctx, path, sqlite.Options{Relaxed: true})
		if err != nil {
			return nil, err
		}
		return &owned{db.Memory(), db, path}, nil
	}
	adaptertest.Run(t, adaptertest.Config{
		New:    func(ctx context.Context) (memory.Adapter, error) { return open(ctx, path()) },
		Reopen: func(ctx context.Context, a memory.Adapter) (memory.Adapter, error) { return open(ctx, a.(*owned).path) },
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Searcher,
			adaptertest.Scanner, adaptertest.Durable, adaptertest.Shared},
	})
}

var _ = require.New

package boltstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// located is a store and where its file is.
type located struct {
	*Store
	path string
}

// open opens a store for the kit, which proves nothing about the disk: it does not wait
// for it.
func open(path string) (driver.Adapter, error) {
	st, err := Open(path)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, driver.ErrNotProvided // one process at a time
	}
	if err != nil {
		return nil, err
	}
	st.db.NoSync = true
	return located{st, path}, nil
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	var files atomic.Int64
	adaptertest.Run(t, adaptertest.Config{
		New: func(context.Context) (driver.Adapter, error) {
			return open(filepath.Join(dir, strconv.FormatInt(files.Add(1), 10)))
		},
		Reopen: func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
			return open(a.(located).path)
		},
		Crash: func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
			left := filepath.Join(dir, strconv.FormatInt(files.Add(1), 10))
			data, err := os.ReadFile(a.(located).path)
			if err == nil {
				err = os.WriteFile(left, data, 0o600)
			}
			if err != nil {
				return nil, err
			}
			return open(left)
		},
		Require: []adaptertest.Offer{
			adaptertest.Transactor, adaptertest.Versioned, adaptertest.Durable, adaptertest.Killed,
			adaptertest.Scheduler, adaptertest.Changes, adaptertest.Tenants,
		},
		Certificate: "certificate",
	})
}

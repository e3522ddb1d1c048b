package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// After the connection broke Close moves the log into the file still, or says that it could not.
func TestM8_ClosedAfterTheConnectionBroke(t *testing.T) {
	for name, gone := range map[string]bool{"the disk is back": false, "the disk stays away": true} {
		t.Run(name, func(t *testing.T) {
			db := openFresh(t)
			path := db.writer.path
			other, err := Open(t.Context(), path, Options{}) // SQLite itself moves the log when the last one closes
			require.NoError(t, err)
			defer other.Close()
			require.NoError(t, db.Memory().Put(t.Context(), here, driver.Entry{ID: "a", CreatedAt: then}))
			db.writer.unclean = "unknown"
			db.writer.abandonConn()
			if gone {
				require.NoError(t, os.Rename(path, filepath.Join(t.TempDir(), "away")))
			}
			err = db.Close()
			if gone {
				require.ErrorIs(t, err, driver.ErrInternal)
				require.NoFileExists(t, path)
				return
			}
			require.NoError(t, err)
			log, err := os.Stat(path + "-wal")
			require.NoError(t, err)
			require.Zero(t, log.Size())
		})
	}
}

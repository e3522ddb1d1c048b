package sqlite

import (
	"compress/gzip"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A migration adds each text and each value behind the last one, so that none is moved and
// leaves a copy, which an erasure later would not reach.
func TestM10_MigrationMovesNoText(t *testing.T) {
	packed, err := os.Open("testdata/v1.db.gz")
	require.NoError(t, err)
	defer packed.Close()
	file, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err := io.ReadAll(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "v1.db")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	old, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for i := range 400 { // of many sizes, so that pages are filled in many ways
		_, err = old.Exec(`INSERT INTO entries (tenant, ref, id, created, expires, born, run, content)
			VALUES ('acme', 'sizes', ?1, 1, 9223372036854775807, 1, 'r', hex(zeroblob(?2)))`, i, 1+i*i%900)
		require.NoError(t, err)
		_, err = old.Exec(`INSERT INTO files VALUES ('acme', ?1, 'text', 1, 'e', 1, hex(zeroblob(?2)))`, i, 1+i*i%900)
		require.NoError(t, err)
	}
	require.NoError(t, old.Close())
	db, err := Open(t.Context(), path, Options{Relaxed: true})
	require.NoError(t, err)
	defer db.Close()
	pages, copies := 0, 0
	require.NoError(t, db.write(t.Context(), func(t *tx) error {
		return t.query(func(rows *sql.Rows) (bool, error) {
			var number int64
			var page sql.RawBytes
			err := rows.Scan(&number, &page)
			pages++
			if _, dirty := cleaned(page); dirty && page[0] != interiorOfTable {
				copies++
			}
			return true, err
		}, textPages)
	}))
	require.Greater(t, pages, 100)
	require.Zero(t, copies)
}

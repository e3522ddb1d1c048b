package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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

package postgres

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// openDB opens a fresh database for one test.
func openDB(t *testing.T, opts Options) *DB {
	pool := freshPool(t, t.Context())
	db, err := Open(t.Context(), pool, opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		giveBack(pool)
	})
	return db
}

func TestCommitments(t *testing.T) {
	adaptertest.RunCommitmentStore(t, adaptertest.CommitmentConfig{
		New: func(context.Context) (commitment.Store, error) { return openDB(t, Options{}).Commitments(), nil },
		Reopen: func(ctx context.Context, s commitment.Store) (commitment.Store, error) {
			db, err := Open(ctx, s.(*Commitments).db.pool, Options{})
			if err != nil {
				return nil, err
			}
			return db.Commitments(), nil
		},
		Seed: 1,
	})
}

func TestArchives(t *testing.T) {
	adaptertest.RunArchiveStore(t, adaptertest.ArchiveConfig{
		New: func(context.Context) (distill.ArchiveStore, error) { return openDB(t, Options{}).Archives(), nil },
		Reopen: func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			db, err := Open(ctx, s.(*Archives).db.pool, Options{})
			if err != nil {
				return nil, err
			}
			return db.Archives(), nil
		},
		Damage: func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error {
			_, err := s.(*Archives).db.pool.Exec(ctx, `UPDATE agentmemory.archives SET data = $1 WHERE tenant = $2 AND ref = $3 AND address = $4`,
				data, []byte(scope.Tenant), []byte(scope.Ref), address[:])
			return err
		},
	})
}

package postgres

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// What the kits get: a store that closes its DB, and the loan to open it again.
type (
	lentStore struct {
		*Store
		io.Closer
		loan *loan
	}
	lentCommitments struct {
		*Commitments
		io.Closer
		loan *loan
	}
	lentArchives struct {
		distill.ArchiveStore
		io.Closer
		loan *loan
	}
)

func kitConfig(l *lender) adaptertest.Config {
	store := func(db *lentDB, err error) (memory.Adapter, error) {
		if err != nil {
			return nil, err
		}
		return &lentStore{db.Memory(), db, db.loan}, nil
	}
	return adaptertest.Config{
		New: func(ctx context.Context) (memory.Adapter, error) { return store(l.fresh(ctx)) },
		Reopen: func(ctx context.Context, a memory.Adapter) (memory.Adapter, error) {
			return store(a.(*lentStore).loan.open(ctx))
		},
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Searcher, adaptertest.Scanner,
			adaptertest.Durable, adaptertest.Shared},
		Seed: 1,
	}
}

func TestStore(t *testing.T) { adaptertest.Run(t, kitConfig(&lender{t: t})) }

func commitmentConfig(l *lender) adaptertest.CommitmentConfig {
	store := func(db *lentDB, err error) (commitment.Store, error) {
		if err != nil {
			return nil, err
		}
		return &lentCommitments{db.Commitments(), db, db.loan}, nil
	}
	return adaptertest.CommitmentConfig{
		New: func(ctx context.Context) (commitment.Store, error) { return store(l.fresh(ctx)) },
		Reopen: func(ctx context.Context, s commitment.Store) (commitment.Store, error) {
			return store(s.(*lentCommitments).loan.open(ctx))
		},
		Seed: 1,
	}
}

func TestCommitments(t *testing.T) {
	adaptertest.RunCommitmentStore(t, commitmentConfig(&lender{t: t}))
}

func archiveConfig(l *lender) adaptertest.ArchiveConfig {
	store := func(db *lentDB, err error) (distill.ArchiveStore, error) {
		if err != nil {
			return nil, err
		}
		return &lentArchives{db.Archives(), db, db.loan}, nil
	}
	return adaptertest.ArchiveConfig{
		New: func(ctx context.Context) (distill.ArchiveStore, error) { return store(l.fresh(ctx)) },
		Reopen: func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			return store(s.(*lentArchives).loan.open(ctx))
		},
		Damage: func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error {
			_, err := s.(*lentArchives).loan.pool.Exec(ctx,
				`UPDATE agentmemory.archives SET data = $1 WHERE tenant = $2 AND ref = $3 AND address = $4`,
				data, []byte(scope.Tenant), []byte(scope.Ref), address[:])
			return err
		},
	}
}

func TestArchives(t *testing.T) { adaptertest.RunArchiveStore(t, archiveConfig(&lender{t: t})) }

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

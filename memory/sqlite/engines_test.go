package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
)

type ownedCommitments struct {
	*sqlite.Commitments
	db database
}

func (o *ownedCommitments) Close() error { return o.db.Close() }

func TestCommitments(t *testing.T) {
	fresh := databases(t)
	of := func(db database, err error) (commitment.Store, error) {
		if err != nil {
			return nil, err
		}
		return &ownedCommitments{db.Commitments(), db}, nil
	}
	adaptertest.RunCommitmentStore(t, adaptertest.CommitmentConfig{
		New: func(ctx context.Context) (commitment.Store, error) { return of(fresh(ctx)) },
		Reopen: func(ctx context.Context, s commitment.Store) (commitment.Store, error) {
			return of(s.(*ownedCommitments).db.open(ctx))
		},
	})
}

type archives = sqlite.Archives // whose name is that of a method

type ownedArchives struct {
	*archives
	db database
}

func (o *ownedArchives) Close() error { return o.db.Close() }

func TestArchives(t *testing.T) {
	fresh := databases(t)
	of := func(db database, err error) (distill.ArchiveStore, error) {
		if err != nil {
			return nil, err
		}
		return &ownedArchives{db.Archives(), db}, nil
	}
	adaptertest.RunArchiveStore(t, adaptertest.ArchiveConfig{
		New: func(ctx context.Context) (distill.ArchiveStore, error) { return of(fresh(ctx)) },
		Reopen: func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			return of(s.(*ownedArchives).db.open(ctx))
		},
		Damage: func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error {
			raw, err := sql.Open("sqlite", s.(*ownedArchives).db.path)
			if err != nil {
				return err
			}
			defer raw.Close()
			_, err = raw.ExecContext(ctx, `UPDATE archives SET data = ? WHERE tenant = ? AND ref = ? AND address = ?`, data, scope.Tenant, scope.Ref, address[:])
			return err
		},
	})
}

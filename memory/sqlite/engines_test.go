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
	db   *sqlite.DB
	path string
}

func (o *ownedCommitments) Close() error { return o.db.Close() }

func TestCommitments(t *testing.T) {
	path := files(t)
	open := func(ctx context.Context, path string) (commitment.Store, error) {
		db, err := sqlite.Open(ctx, path, sqlite.Options{Relaxed: true})
		if err != nil {
			return nil, err
		}
		return &ownedCommitments{db.Commitments(), db, path}, nil
	}
	adaptertest.RunCommitmentStore(t, adaptertest.CommitmentConfig{
		New: func(ctx context.Context) (commitment.Store, error) { return open(ctx, path()) },
		Reopen: func(ctx context.Context, s commitment.Store) (commitment.Store, error) {
			return open(ctx, s.(*ownedCommitments).path)
		},
	})
}

type shelf = sqlite.Archives

type ownedArchives struct {
	*shelf
	db   *sqlite.DB
	path string
}

func (o *ownedArchives) Close() error { return o.db.Close() }

func TestArchives(t *testing.T) {
	path := files(t)
	open := func(ctx context.Context, path string) (distill.ArchiveStore, error) {
		db, err := sqlite.Open(ctx, path, sqlite.Options{Relaxed: true})
		if err != nil {
			return nil, err
		}
		return &ownedArchives{db.Archives(), db, path}, nil
	}
	adaptertest.RunArchiveStore(t, adaptertest.ArchiveConfig{
		New: func(ctx context.Context) (distill.ArchiveStore, error) { return open(ctx, path()) },
		Reopen: func(ctx context.Context, s distill.ArchiveStore) (distill.ArchiveStore, error) {
			return open(ctx, s.(*ownedArchives).path)
		},
		Damage: func(ctx context.Context, s distill.ArchiveStore, scope memory.Scope, address distill.Digest, data []byte) error {
			raw, err := sql.Open("sqlite", s.(*ownedArchives).path)
			if err != nil {
				return err
			}
			defer raw.Close()
			_, err = raw.ExecContext(ctx, `UPDATE archives SET data = ? WHERE tenant = ? AND ref = ? AND address = ?`, data, scope.Tenant, scope.Ref, address[:])
			return err
		},
	})
}

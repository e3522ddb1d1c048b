package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory"
)

// lent is a store on a database that goes back when its last store is closed.
type lent struct {
	*Store
	users *users
}

type users struct {
	mu   sync.Mutex
	n    int
	pool *pgxpool.Pool
}

func (l *lent) Close() error {
	err := l.db.Close()
	l.users.mu.Lock()
	defer l.users.mu.Unlock()
	l.users.n--
	return err
}

func kitConfig(t *testing.T, opts Options) adaptertest.Config {
	open := func(ctx context.Context, u *users) (memory.Adapter, error) {
		db, err := Open(ctx, u.pool, opts)
		if err != nil {
			return nil, fmt.Errorf("%w: %v", err, errors.Unwrap(err))
		}
		u.mu.Lock()
		u.n++
		u.mu.Unlock()
		return &lent{db.Memory(), u}, nil
	}
	var all []*users
	return adaptertest.Config{
		New: func(ctx context.Context) (memory.Adapter, error) {
			kept := all[:0]
			for _, u := range all {
				if u.n == 0 {
					giveBack(u.pool)
				} else {
					kept = append(kept, u)
				}
			}
			all = kept
			u := &users{pool: freshPool(t, ctx)}
			all = append(all, u)
			return open(ctx, u)
		},
		Reopen: func(ctx context.Context, a memory.Adapter) (memory.Adapter, error) { return open(ctx, a.(*lent).users) },
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Searcher, adaptertest.Scanner,
			adaptertest.Durable, adaptertest.Shared},
		Seed: 1,
	}
}

func TestStore(t *testing.T) { adaptertest.Run(t, kitConfig(t, Options{})) }

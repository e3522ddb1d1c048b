package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// lender opens databases for a kit, which closes what it opens. A database whose DBs
// are all closed is emptied for the next store.
type lender struct {
	t    *testing.T
	opts Options
	make func() *pgxpool.Pool // nil: as freshPool does
	root string               // of make: who may empty the database; empty: the user of the shared server
	mu   sync.Mutex
	lent []*loan
	idle []*pgxpool.Pool // of make
	wipe sync.Map        // of make: a pool that may empty the database
}

// loan is a database in use.
type loan struct {
	lender *lender
	pool   *pgxpool.Pool
	users  int
}

// lentDB is a DB on a loan. What the kit gets embeds it, to be closed.
type lentDB struct {
	*DB
	loan *loan
}

// fresh opens an empty database.
func (l *lender) fresh(ctx context.Context) (*lentDB, error) {
	l.mu.Lock()
	kept := l.lent[:0]
	for _, x := range l.lent {
		if x.users == 0 {
			l.back(x.pool)
		} else {
			kept = append(kept, x)
		}
	}
	l.lent = kept
	l.mu.Unlock()
	x := &loan{lender: l, pool: l.pool(ctx)}
	l.mu.Lock()
	l.lent = append(l.lent, x)
	l.mu.Unlock()
	return x.open(ctx)
}

func (l *lender) back(pool *pgxpool.Pool) {
	if l.make == nil {
		giveBack(pool)
	} else {
		l.idle = append(l.idle, pool)
	}
}

func (l *lender) pool(ctx context.Context) *pgxpool.Pool {
	if l.make == nil {
		return freshPool(l.t, ctx)
	}
	n := len(l.idle)
	if n == 0 {
		pool := l.make()
		l.t.Cleanup(pool.Close)
		return pool
	}
	pool := l.idle[n-1]
	l.idle = l.idle[:n-1]
	owner, known := l.wipe.Load(pool)
	if !known {
		admin := pool.Config()
		delete(admin.ConnConfig.RuntimeParams, "role")
		if admin.ConnConfig.User = l.root; l.root == "" {
			admin.ConnConfig.User = databases.admin.Config().ConnConfig.User
		}
		made, err := pgxpool.NewWithConfig(context.Background(), admin)
		require.NoError(l.t, err)
		l.t.Cleanup(made.Close)
		l.wipe.Store(pool, made)
		owner = made
	}
	clean(l.t, ctx, owner.(*pgxpool.Pool))
	return pool
}

// open opens the database once more.
func (x *loan) open(ctx context.Context) (*lentDB, error) {
	db, err := opened(ctx, x.pool, x.lender.opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", err, errors.Unwrap(err))
	}
	x.lender.mu.Lock()
	x.users++
	x.lender.mu.Unlock()
	return &lentDB{db, x}, nil
}

func (d *lentDB) Close() error {
	err := d.DB.Close()
	d.loan.lender.mu.Lock()
	defer d.loan.lender.mu.Unlock()
	d.loan.users--
	return err
}

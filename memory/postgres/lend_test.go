package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// lender opens databases for a kit, which closes what it opens. A database whose DBs
// are all closed is emptied for the next store.
type lender struct {
	t    *testing.T
	opts Options
	mu   sync.Mutex
	lent []*loan
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
			giveBack(x.pool)
		} else {
			kept = append(kept, x)
		}
	}
	l.lent = kept
	l.mu.Unlock()
	x := &loan{lender: l, pool: freshPool(l.t, ctx)}
	l.mu.Lock()
	l.lent = append(l.lent, x)
	l.mu.Unlock()
	return x.open(ctx)
}

// open opens the database once more.
func (x *loan) open(ctx context.Context) (*lentDB, error) {
	db, err := Open(ctx, x.pool, x.lender.opts)
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

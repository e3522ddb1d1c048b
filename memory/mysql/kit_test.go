package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// loan is a database that the kit uses, and how many DBs it has open there.
type loan struct {
	dsn   string
	users int
}

// lentStore is what the kit gets: a store that closes its DB.
type lentStore struct {
	*Store
	from *lender
	loan *loan
}

// lender opens databases for a kit, which closes what it opens. A database whose DBs are all closed is
// emptied for the next store.
type lender struct {
	t    *testing.T
	mu   sync.Mutex
	lent []*loan
}

// fresh opens an empty database.
func (l *lender) fresh(ctx context.Context) (driver.Adapter, error) {
	l.mu.Lock()
	l.lent = slices.DeleteFunc(l.lent, func(x *loan) bool {
		if x.users == 0 {
			giveBack(x.dsn)
		}
		return x.users == 0
	})
	l.mu.Unlock()
	x := &loan{dsn: freshDatabase(l.t)}
	a, err := l.open(ctx, x)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent = append(l.lent, x)
	return a, err
}

func (l *lender) open(ctx context.Context, x *loan) (driver.Adapter, error) {
	db, err := Open(ctx, x.dsn, Options{MaxConns: 8})
	if err != nil {
		return nil, fmt.Errorf("%w: %v", err, errors.Unwrap(err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	x.users++
	return &lentStore{db.Memory(), l, x}, nil
}

func (s *lentStore) Close() error {
	err := s.db.Close()
	s.from.mu.Lock()
	defer s.from.mu.Unlock()
	s.loan.users--
	return err
}

func kitConfig(t *testing.T) adaptertest.Config {
	l := &lender{t: t}
	again := func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
		return l.open(ctx, a.(*lentStore).loan)
	}
	return adaptertest.Config{
		New:    l.fresh,
		Reopen: again,
		Crash:  again, // what a process leaves that is killed is what the server has
		Require: []adaptertest.Offer{adaptertest.Transactor, adaptertest.Versioned, adaptertest.Events,
			adaptertest.Scheduler, adaptertest.Changes, adaptertest.Tenants, adaptertest.Durable, adaptertest.Shared, adaptertest.Killed},
	}
}

func TestStore(t *testing.T) {
	cfg := kitConfig(t)
	cfg.Certificate = "certificate"
	adaptertest.Run(t, cfg)
}

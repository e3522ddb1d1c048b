package memory

import (
	"context"
	"sync"
)

// backlog bounds the events of each tenant that wait for the sink. It counts what this
// bank has queued and not seen delivered, and asks the store only when that reaches the
// bound: another process may have delivered them.
type backlog struct {
	mu      sync.Mutex
	waiting map[string]int // by tenant
}

func (l *backlog) add(tenant string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(tenant, l.waiting[tenant]+n)
}

func (l *backlog) set(tenant string, n int) {
	if l.waiting == nil {
		l.waiting = map[string]int{}
	}
	if n > 0 {
		l.waiting[tenant] = n
	} else {
		delete(l.waiting, tenant)
	}
}

func (l *backlog) full(tenant string, limit int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting[tenant] >= limit
}

// checkBacklog fails with [ErrBacklog] if too many events of the tenant wait.
func (b *Bank) checkBacklog(ctx context.Context, tenant string) error {
	if !b.backlog.full(tenant, b.cfg.MaxUndelivered) {
		return nil
	}
	n, err := b.tx.Waiting(ctx, tenant, b.cfg.MaxUndelivered)
	if err != nil {
		return shape(err)
	}
	if n >= b.cfg.MaxUndelivered {
		return fail(ErrBacklog, "relay them by Bank.Keep, or raise Config.MaxUndelivered")
	}
	b.backlog.mu.Lock()
	defer b.backlog.mu.Unlock()
	b.backlog.set(tenant, n)
	return nil
}

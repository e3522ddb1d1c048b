package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// verify compares what the store has with what was written: for so many tenants at
// most, evenly among their ranks, all their live entries, and for all of them the events. It
// returns the entries that were compared.
func (w *world) verify(ctx context.Context, limit int) (compared int, err error) {
	if err := errors.Join(w.delivered.err, w.allDelivered(ctx)); err != nil {
		return 0, err
	}
	for i := 0; i < w.tenants; i += max(1, w.tenants/limit) {
		n, err := w.verifyTenant(ctx, i)
		if err != nil {
			return compared, fmt.Errorf("tenant of rank %d: %w", i, err)
		}
		compared += n
	}
	return compared, nil
}

// verifyTenant compares the entries of a tenant.
func (w *world) verifyTenant(ctx context.Context, i int) (int, error) {
	now, name := w.bank.Now(), tenantName(i)
	found := map[string]bool{}
	for q := (memory.ListOptions{Limit: 100}); ; {
		page, err := w.bank.Reader(name).List(ctx, ref, q)
		if err != nil {
			return 0, err
		}
		for _, e := range page {
			if err := check(e, name); err != nil {
				return 0, err
			}
			if k, known := w.books[i].live[e.ID]; !known || !k.liveAt(now) {
				return 0, errors.New("an entry is there that was not written, or has ended")
			}
			found[e.ID] = true
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Cursor()
	}
	for id, k := range w.books[i].live {
		if k.liveAt(now) && !found[id] {
			return 0, errors.New("an entry is missing")
		}
	}
	return len(found), nil
}

// allDelivered compares what the sink was told with what clients have written, after a
// last relay.
func (w *world) allDelivered(ctx context.Context) error {
	done, err := w.bank.Maintain(ctx)
	if err != nil {
		return err
	}
	written := 0
	for i := range w.books {
		written += w.books[i].put
	}
	if len(w.delivered.ids) != written || done.Waiting != 0 {
		return fmt.Errorf("%d entries were written, %d announced, and %d events wait", written, len(w.delivered.ids), done.Waiting)
	}
	if w.settled.Load() < w.armed.Load() {
		return fmt.Errorf("%d commitments were due, and %d have fired or lapsed", w.armed.Load(), w.settled.Load())
	}
	return nil
}

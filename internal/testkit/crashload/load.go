package crashload

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Store is what is put under load.
type Store interface {
	driver.Versioned
	driver.Scheduler
	driver.EventKeeper
}

// writers is how many lanes are written at once.
const writers = 8

// Load works on a store until ctx is done, and writes down what it answers. An error of the
// store ends a lane, whose last operation may have taken place or not, and another one begins,
// so that the load goes on when a server has come back. It returns an error if there is
// something wrong with the load itself.
func (l *Log) Load(ctx context.Context, store Store) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &load{l, store}
	var wg sync.WaitGroup
	steps := append(slices.Repeat([]func(context.Context) error{w.lane}, writers), w.relay)
	failed := make([]error, len(steps))
	for i, step := range steps {
		wg.Go(func() {
			for ctx.Err() == nil && failed[i] == nil {
				failed[i] = step(ctx)
				pause(ctx, breath)
			}
			stop()
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}

type load struct {
	*Log
	store Store
}

// breath is what the load waits after an error, and between two steps, so that each of its
// goroutines has its share of a fast store.
const breath = time.Millisecond

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// lane has the store perform a new lane, up to an outcome that is not known.
func (w *load) lane(ctx context.Context) error {
	l := newLane(w.seed, w.lanes.Add(1))
	if err := w.add(outcome{Lane: l.number, Begins: true}); err != nil {
		return err
	}
	for l.count < laneLength {
		op := l.next()
		hit, revs, err := l.perform(ctx, w.store, op, l.ours(op))
		out := outcome{Lane: l.number, Refused: errors.Is(err, driver.ErrConflict)}
		if err != nil && !out.Refused {
			return nil
		}
		if err == nil {
			out.Hit, out.Revs = hit, revs
		}
		if err := w.add(out); err != nil {
			return err
		}
		if !out.Refused && l.accept(op, out) != nil {
			return nil // a broken store, which Verify finds
		}
		if err := w.note(ctx, l, op); err != nil {
			return err
		}
		pause(ctx, breath)
	}
	return nil
}

// note writes down what a scope of the lane holds, at a version that others may have moved on from.
func (w *load) note(ctx context.Context, l *lane, op operation) error {
	if op.reads == nil {
		return nil
	}
	v, err := w.store.Version(ctx, l.tenant)
	if err != nil {
		return nil
	}
	entries, err := w.store.List(ctx, *op.reads, driver.Query{Version: v})
	if err != nil {
		return nil
	}
	return w.add(outcome{Lane: l.number, Reading: &reading{*op.reads, v, idsOf(entries)}})
}

func idsOf(entries []driver.Entry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

// relay gives the events that wait to the sink.
func (w *load) relay(ctx context.Context) error { return w.drain(ctx, w.store, "", "") }

// drain gives the events that wait, of a run or of all, to the sink. It returns an error of the
// sink: what the store fails at comes later.
func (l *Log) drain(ctx context.Context, store Store, tenant, run string) error {
	recs, err := gather(store.Undelivered(ctx, tenant, run))
	if err != nil || len(recs) == 0 {
		return nil
	}
	taken := make([]outcome, len(recs))
	for i := range recs {
		taken[i].Event = eventLine(&recs[i])
	}
	if err := l.add(taken...); err != nil {
		return err
	}
	_ = store.Delivered(ctx, recs)
	return nil
}

// gather collects what is yielded.
func gather[T any](seq iter.Seq2[T, error]) (all []T, err error) {
	for v, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

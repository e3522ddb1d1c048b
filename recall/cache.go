package recall

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// cached is the index of a ref. The holder of its lock may read and change it.
type cached struct {
	scope  memory.Scope
	bytes  int64 // as the ranker has counted them, under its own lock
	locked chan struct{}

	index *index
	built int          // entries of the index when it was made
	first *memory.View // the newest view when it was made
	name  string       // of the newest view that the index knows
}

// lock takes the lock of the index.
func (c *cached) lock(ctx context.Context) error {
	select {
	case c.locked <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// buildTime is how long an index may take to be made or brought up to date. It is not the
// caller's time, nor [memory.PluginTimeout], after which the bank leaves a ranker alone: the work goes on for
// the next question.
const buildTime = 10 * time.Minute

// bringTo brings an index up to date with the newest view, though the caller of the question gives up. If
// the store panics, the index is dropped.
func (c *cached) bringTo(ctx context.Context, newest *memory.View, name, model string) error {
	if c.index != nil && c.name == name {
		return nil
	}
	whole := false
	defer func() {
		if !whole {
			c.index = nil
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTime)
	defer cancel()
	err := c.update(ctx, newest, name, model)
	whole = true
	return err
}

// update makes the index that of the newest view. An index most of which the view does not
// show any more is made anew.
func (c *cached) update(ctx context.Context, newest *memory.View, name, model string) (err error) {
	if c.index == nil {
		if x, shown := loadImage(ctx, newest); x != nil {
			c.index, c.built, c.first, c.name = x, len(x.docs), newest, shown
		}
	}
	err = memory.ErrSnapshotUnavailable
	if c.index != nil && len(c.index.docs) < 2*c.built+1000 {
		err = c.applyChanges(ctx, newest, model)
	}
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		var x *index
		if x, err = buildIndex(ctx, newest, model); err == nil {
			c.index, c.built, c.first = x, len(x.docs), newest
		}
	}
	if err == nil {
		c.name = name
	}
	return err
}

// buildIndex indexes a view.
func buildIndex(ctx context.Context, v *memory.View, model string) (*index, error) {
	x := newIndex(v.Scope())
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		x.docs[x.add(&e)].live = true
	}
	return x, x.loadVectors(ctx, v, model)
}

// applyChanges takes in what has changed up to the newest view.
func (c *cached) applyChanges(ctx context.Context, newest *memory.View, model string) error {
	_, later, earlier, err := newest.Differs(ctx, c.name)
	if err != nil {
		return err
	}
	// Another question may have brought the index further than this view: then it goes back.
	touched := slices.Concat(later.Put, later.Retired, later.Restored, earlier.Put, earlier.Retired, earlier.Restored)
	entries, err := newest.Get(ctx, touched)
	if err != nil {
		return err
	}
	c.index.erase(slices.Concat(later.Erased, earlier.Erased))
	for _, id := range touched {
		if n, known := c.index.number[id]; known {
			c.index.setLive(n, false)
		}
	}
	for i := range entries {
		c.index.setLive(c.index.add(&entries[i]), true)
	}
	return c.index.loadVectors(ctx, newest, model)
}

// snapshotOf returns what a view shows of the index, which is that of the newest view. Entries never
// change: only those are read of which the index does not know whether the view shows them.
func (c *cached) snapshotOf(ctx context.Context, v *memory.View) (*snapshot, error) {
	own, later, earlier, err := v.Differs(ctx, c.name)
	if err != nil {
		return nil, err
	}
	shown := map[uint32]bool{}
	unsure := slices.Concat(later.Put, later.Restored, earlier.Retired, earlier.Restored)
	for _, id := range slices.Concat(later.Retired, earlier.Put, unsure) {
		if n, known := c.index.number[id]; known {
			shown[n] = false
		}
	}
	for _, id := range own {
		if n, known := c.index.number[id]; known { // not erased, or the index would not have it
			shown[n] = !c.index.docs[n].expired(v.At().UnixMilli())
		} else {
			unsure = append(unsure, id)
		}
	}
	entries, err := v.Get(ctx, unsure)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		shown[c.index.add(&entries[i])] = true
	}
	s := c.index.newestSnapshot(v)
	if len(shown) > 0 {
		s.shown = slices.Clone(s.shown)
	}
	for n, is := range shown {
		s.show(n, is)
	}
	return s, nil
}

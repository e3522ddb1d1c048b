package recall

import (
	"context"
	"errors"
	"slices"

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

// bringTo brings an index up to date with the newest view. If that fails or the store panics, the index is
// dropped. An index most of which the view does not show any more is made anew.
func (c *cached) bringTo(ctx context.Context, newest *memory.View, name string, makers []maker) error {
	x := c.index
	if x != nil && c.name == name {
		return nil
	}
	c.index = nil
	if x == nil {
		if x, c.name = loadImage(ctx, newest); x != nil {
			c.built, c.first = len(x.docs), newest
		}
	}
	err := error(memory.ErrSnapshotUnavailable)
	if x != nil && len(x.docs) < 2*c.built+1000 {
		err = x.follow(ctx, c.name, newest, makers)
	}
	if errors.Is(err, memory.ErrSnapshotUnavailable) {
		if x, err = buildIndex(ctx, newest, makers); err == nil {
			c.built, c.first = len(x.docs), newest
		}
	}
	if err == nil {
		c.index, c.name = x, name
	}
	return err
}

// buildIndex indexes a view.
func buildIndex(ctx context.Context, v *memory.View, makers []maker) (*index, error) {
	x := newIndex(v.Scope())
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		x.docs[x.add(&e)].live = true
	}
	return x, x.load(ctx, v, makers)
}

// follow takes in what has changed from the newest view of a name up to another.
func (x *index) follow(ctx context.Context, name string, newest *memory.View, makers []maker) error {
	_, later, earlier, err := newest.Differs(ctx, name)
	if err != nil {
		return err
	}
	// Another question may have brought the index further than this view: then it goes back.
	touched := slices.Concat(later.Put, later.Retired, later.Restored, earlier.Put, earlier.Retired, earlier.Restored)
	entries, err := newest.Get(ctx, touched)
	if err != nil {
		return err
	}
	x.erase(slices.Concat(later.Erased, earlier.Erased))
	for _, id := range touched {
		if n, known := x.numberOf(id); known {
			x.setLive(n, false)
		}
	}
	for i := range entries {
		x.setLive(x.add(&entries[i]), true)
	}
	return x.load(ctx, newest, makers)
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
		if n, known := c.index.numberOf(id); known {
			shown[n] = false
		}
	}
	for _, id := range own {
		if n, known := c.index.numberOf(id); known { // not erased, or the index would not have it
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

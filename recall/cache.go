package recall

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
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
	view  *memory.View // that view
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
// caller's time, nor [memory.PluginTimeout]: if whoever asked first gives up, the work goes on
// for who asks next.
const buildTime = 10 * time.Minute

// lockCurrent locks an index and brings it up to date with the newest view. The caller unlocks it,
// unless there was an error.
func (r *Ranker) lockCurrent(ctx context.Context, c *cached, newest *memory.View, name string) error {
	if err := c.lock(ctx); err != nil {
		return err
	}
	if c.index != nil && c.name == name {
		return nil
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTime)
	made := make(chan error, 1)
	go func() { // which goes on if the caller does not
		defer cancel()
		const part = "reading the ref"
		err := internal(part+" did not return", nil) // unless it does
		whole := false
		defer func() {
			if !whole { // a store has panicked
				c.index = nil
			}
			made <- err
		}()
		_, err = hostcall.Inline(part, func() (struct{}, error) {
			err := r.update(work, c, newest, name)
			whole = true
			return struct{}{}, err
		})
		if hostcall.Misbehaved(err) {
			err = hostFailed(ctx, part, err)
		}
	}()
	select {
	case err := <-made:
		if err != nil {
			r.unlock(c)
		}
		return err
	case <-ctx.Done():
		go func() {
			<-made
			r.unlock(c)
		}()
		return ctx.Err()
	}
}

// update makes the index that of the newest view. An index most of which the view does not
// show any more is made anew.
func (r *Ranker) update(ctx context.Context, c *cached, newest *memory.View, name string) error {
	loaded := false
	if c.index == nil {
		if x, shown, ok := loadImage(ctx, newest); ok {
			c.index, c.built, c.name, c.view, c.first, loaded = x, len(x.docs), shown, newest, newest, true
		}
	}
	if c.index != nil && len(c.index.docs) < 2*c.built+1000 {
		err := error(nil)
		if c.name != name || loaded {
			err = r.applyChanges(ctx, c, newest)
		}
		if !errors.Is(err, memory.ErrSnapshotUnavailable) {
			if err == nil {
				c.name, c.view = name, newest
			}
			return err
		}
	}
	s, err := r.buildIndex(ctx, newest)
	if err != nil {
		return err
	}
	c.index, c.built, c.name, c.view, c.first = s.index, len(s.docs), name, newest, newest
	return nil
}

// buildIndex indexes a view.
func (r *Ranker) buildIndex(ctx context.Context, v *memory.View) (*snapshot, error) {
	x := newIndex(v.Scope())
	for e, err := range v.Entries(ctx) {
		if err != nil {
			return nil, err
		}
		x.docs[x.add(&e)].live = true
	}
	if model := r.model(); model != "" {
		if err := x.loadVectors(ctx, v, model); err != nil {
			return nil, err
		}
	}
	return x.newestSnapshot(v), nil
}

// applyChanges takes in what has changed up to the newest view.
func (r *Ranker) applyChanges(ctx context.Context, c *cached, newest *memory.View) error {
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
	c.index.erase(later.Erased)
	c.index.erase(earlier.Erased)
	for _, id := range touched {
		if n, known := c.index.number[id]; known {
			c.index.setLive(n, false)
		}
	}
	for i := range entries {
		c.index.setLive(c.index.add(&entries[i]), true)
	}
	if model := r.model(); model != "" {
		return c.index.loadVectors(ctx, newest, model)
	}
	return nil
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
	if len(shown) == 0 {
		return s, nil
	}
	return s.with(shown), nil
}

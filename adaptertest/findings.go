package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/openwop/agentmemory/memory/driver"
)

// findings are what a store offers, and why not for the rest.
type findings struct {
	offers  []Offer
	reasons map[Offer]string
	remarks []string
	traits  struct{ Durable, ReadOnly bool }

	mu      sync.Mutex      // a case whose store hangs goes on beside the others
	reached map[string]bool // what the steps of all cases met
}

// reach notes what a step met.
func (f *findings) reach(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reached[what] = true
}

// hasReached tells whether a step of any case so far met this.
func (f *findings) hasReached(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reached[what]
}

func (f *findings) offer(o Offer, ok bool, reason string) {
	if ok {
		f.offers = append(f.offers, o)
	} else {
		f.reasons[o] = reason
	}
}

func (f *findings) missing(wanted []Offer) []Offer {
	return slices.DeleteFunc(slices.Clone(wanted), func(o Offer) bool { return slices.Contains(f.offers, o) })
}

// levelsFrom are the steps that the store offers, from one on.
func (f *findings) levelsFrom(least Level) []Level {
	all := []Level{LevelAdapter}
	if len(f.missing([]Offer{Transactor})) == 0 {
		all = append(all, LevelTransactor)
		if len(f.missing([]Offer{Versioned})) == 0 {
			all = append(all, LevelVersioned)
		}
	}
	return all[slices.Index(all, least):]
}

func (f *findings) reason(o Offer) string {
	if reason, known := f.reasons[o]; known {
		return reason
	}
	return "the kit does not know this ability"
}

// look opens a store to see what it offers.
func (cfg Config) look(ctx context.Context) (found *findings, err error) {
	if cfg.New == nil {
		return nil, errors.New("adaptertest: Config.New is not set")
	}
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("adaptertest: opening a store panicked: %v", r)
		}
	}()
	store, err := cfg.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("adaptertest: Config.New failed: %w", err)
	}
	if store == nil {
		return nil, errors.New("adaptertest: Config.New gave no store")
	}
	defer closeStore(store)
	found = &findings{reasons: map[Offer]string{}, reached: map[string]bool{}}
	if err := found.inspect(store, cfg.Reopen != nil); err != nil {
		return nil, err
	}
	found.offer(Killed, cfg.Crash != nil, "Config.Crash is not set")
	if cfg.Reopen == nil {
		found.offer(Durable, false, "Config.Reopen is not set")
		found.offer(Shared, false, "Config.Reopen is not set")
		return found, nil
	}
	found.offer(Durable, true, "")
	second, err := cfg.Reopen(ctx, store)
	switch {
	case err == nil:
		defer closeStore(second)
		found.offer(Shared, true, "")
	case errors.Is(err, driver.ErrNotProvided):
		found.offer(Shared, false, "only one process at a time can have its data open")
	default:
		return nil, fmt.Errorf("adaptertest: Config.Reopen failed while the store was open (return driver.ErrNotProvided if only one process at a time can have its data open): %w", err)
	}
	return found, nil
}

// inspect finds what a store offers beyond the four operations.
func (f *findings) inspect(store driver.Adapter, reopened bool) error {
	if d, ok := driver.As[driver.Describer](store); ok {
		f.traits.Durable, f.traits.ReadOnly = d.Durable(), d.ReadOnly()
	}
	if f.traits.ReadOnly {
		return errors.New("adaptertest: the store says that it is read-only: prove the one that fills it")
	}
	w := &world{script: &script{}}
	w.use(store)
	f.offer(Transactor, w.tx != nil, "it has no driver.Transactor")
	f.offer(Versioned, w.versions != nil, "it has no driver.Versioned")
	f.offer(Scheduler, w.scheduler != nil, "it has no driver.Scheduler")
	f.offer(Changes, w.changes != nil, "it has no driver.Changes")
	f.offer(Tenants, w.tenants != nil, "it has no driver.Tenants")
	f.offer(Events, w.kept != nil, "it has no driver.EventKeeper")
	if f.traits.Durable && !reopened {
		f.remarks = append(f.remarks, "the store says that it outlives its process; without Config.Reopen that is not proven")
	}
	if !f.traits.Durable && reopened {
		f.remarks = append(f.remarks, "the store does not say that it outlives its process (driver.Describer), so hosts take it as volatile")
	}
	return nil
}

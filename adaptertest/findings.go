package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory/driver"
)

func (r *Report) offer(o Offer, ok bool, reason string) {
	if ok {
		r.Offers = append(r.Offers, o)
	} else {
		r.NotOffered[o] = reason
	}
}

func (r *Report) missing(wanted []Offer) []Offer {
	return slices.DeleteFunc(slices.Clone(wanted), func(o Offer) bool { return slices.Contains(r.Offers, o) })
}

func (r *Report) reason(o Offer) string {
	return cmp.Or(r.NotOffered[o], "the kit does not know this ability")
}

// look opens a store to see what it offers.
func (cfg Config) look(ctx context.Context) (found *Report, err error) {
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
	found = &Report{Version: libraryVersion(), Durability: NotProven, Offers: []Offer{}, NotOffered: map[Offer]string{}, Remarks: []string{}, Seed: cfg.Seed, Laws: []Law{}}
	if err := errors.Join(found.inspect(store, cfg.Reopen != nil), found.outlives(ctx, cfg, store)); err != nil {
		return nil, err
	}
	found.Missing = append([]Offer{}, found.missing(cfg.Require)...)
	return found, nil
}

// outlives finds in which ways the data of a store can be opened again.
func (r *Report) outlives(ctx context.Context, cfg Config, store driver.Adapter) error {
	const unset = "Config.Reopen is not set"
	r.offer(Killed, cfg.Crash != nil, "Config.Crash is not set")
	r.offer(Durable, cfg.Reopen != nil, unset)
	if cfg.Reopen == nil {
		r.offer(Shared, false, unset)
		return nil
	}
	second, err := cfg.Reopen(ctx, store)
	if err == nil {
		defer closeStore(second)
	} else if !errors.Is(err, driver.ErrNotProvided) {
		return fmt.Errorf("adaptertest: Config.Reopen failed while the store was open (return driver.ErrNotProvided if only one process at a time can have its data open): %w", err)
	}
	r.offer(Shared, err == nil, "only one process at a time can have its data open")
	return nil
}

// inspect finds what a store offers beyond the four operations.
func (r *Report) inspect(store driver.Adapter, reopened bool) error {
	if d, ok := driver.As[driver.Describer](store); ok {
		if d.ReadOnly() {
			return errors.New("adaptertest: the store says that it is read-only: prove the one that fills it")
		}
		r.durable = d.Durable()
	}
	o := offeredBy(store)
	r.offer(Transactor, o.tx != nil, "it has no driver.Transactor")
	r.offer(Versioned, o.versions != nil, "it has no driver.Versioned")
	r.offer(Scheduler, o.scheduler != nil, "it has no driver.Scheduler")
	r.offer(Changes, o.changes != nil, "it has no driver.Changes")
	r.offer(Tenants, o.tenants != nil, "it has no driver.Tenants")
	r.offer(Events, o.kept != nil, "it has no driver.EventKeeper")
	switch {
	case r.durable && !reopened:
		r.Remarks = append(r.Remarks, "the store says that it outlives its process; without Config.Reopen that is not proven")
	case !r.durable && reopened:
		r.Remarks = append(r.Remarks, "the store does not say that it outlives its process (driver.Describer), so hosts take it as volatile")
	}
	return nil
}

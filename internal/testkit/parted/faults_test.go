//go:build linux

package parted

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The faults that a test plants in the store of one host.
const (
	earlyAnswer = "it answers before the commit"
	noFence     = "its claims have no fence"
	retries     = "it makes a mutation again whose outcome is unknown"
)

// broken is a store with a fault.
type broken struct {
	store
	fault string
}

func plant(fault string, st store) store {
	if fault == "" {
		return st
	}
	return &broken{st, fault}
}

func (b *broken) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	switch {
	case b.fault == earlyAnswer && m.OnlyPuts():
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_, _ = b.store.Apply(ctx, tenant, m)
		}()
		return driver.Applied{}, nil
	case b.fault == noFence && strings.HasSuffix(tenant, "-armed"):
		for i := range m.Documents {
			d := &m.Documents[i]
			for now, err := range b.store.Documents(ctx, driver.DocumentQuery{Tenant: tenant, EveryRef: true, Kind: d.Kind, Key: d.Key}) {
				if err != nil {
					return driver.Applied{}, err
				}
				d.Rev = now.Rev
			}
		}
	}
	made, err := b.store.Apply(ctx, tenant, m)
	if b.fault == retries && errors.Is(err, driver.ErrOutcomeUnknown) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return b.store.Apply(ctx, tenant, m)
	}
	return made, err
}

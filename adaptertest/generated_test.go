package adaptertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A mutation that fails at its last condition, the id of an event, leaves nothing of its other parts.
func TestT1_WhatTheLastConditionRefusesIsSeen(t *testing.T) {
	for name, left := range map[string]func(m driver.Mutation) driver.Mutation{
		"entries":   func(m driver.Mutation) driver.Mutation { return driver.Mutation{At: m.At, Put: m.Put} },
		"documents": func(m driver.Mutation) driver.Mutation { return driver.Mutation{At: m.At, Documents: m.Documents} },
		"events":    func(m driver.Mutation) driver.Mutation { return driver.Mutation{At: m.At, Events: m.Events[:1]} },
	} {
		cfg := configOf(func(b *broken) {
			b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
				waiting, _ := collect(b.Store.Undelivered(ctx, tenant, ""))
				taken := slices.ContainsFunc(m.Events, func(x events.Record) bool {
					return slices.ContainsFunc(waiting, func(e events.Record) bool {
						return e.RunID == x.RunID && e.ID == x.ID && !events.SamePayload(e.Payload, x.Payload)
					})
				})
				made, err := b.Store.Apply(ctx, tenant, m)
				if taken && errors.Is(err, driver.ErrConflict) {
					b.Store.Apply(ctx, tenant, left(m))
				}
				return made, err
			}
		})
		for cfg.Seed = range uint64(4) {
			report, err := cfg.check(ctx, cases("BATCH/parts"))
			require.NoError(t, err)
			require.False(t, report.OK(), "%s, seed %d", name, cfg.Seed)
		}
	}
}

// A failure that takes what an earlier sequence did to another tenant is told with those steps.
func TestT4_StepsOfOtherTenantsAreTold(t *testing.T) {
	cfg := configOf(func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			for heir := range m.MergedInto { // it looks in every tenant
				for s := range b.was.entries {
					for rec := range b.history(ctx, s.Tenant, driver.HistoryQuery{Ref: heir.Ref, For: []string{heir.ID}}) {
						if s.Tenant != tenant && rec.For == heir.ID {
							return driver.Applied{}, driver.ErrConflict
						}
					}
				}
			}
			return b.Store.Apply(ctx, tenant, m)
		}
	})
	report, err := cfg.check(ctx, cases("BATCH/parts"))
	require.NoError(t, err)
	require.False(t, report.OK())
	told := report.Failures()[0]
	t.Log(told)
	require.Greater(t, strings.Count(told, "apply for"), 1)
}

// A store that has everything but the index of what is due passes as a transactor.
func TestT5_AStoreWithoutASchedulerPasses(t *testing.T) {
	type transactor struct{ driver.Transactor }
	cfg := Config{Short: true, New: func(context.Context) (driver.Adapter, error) { return transactor{inmem.New()}, nil }}
	report, err := cfg.check(ctx, lawsOf("FAULT", "SR-1", "CONSOLIDATE", "DISTILL", "FIRE", "RECALL"))
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Equal(t, LevelTransactor, report.Level)
}

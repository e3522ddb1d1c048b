package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// An End whose context had ended before closes the registry too, and no later End does it again.
func TestR6_AnEndWhoseContextHasEndedClosesTheRegistry(t *testing.T) {
	h := newHost(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	for name, open := range map[string]func(r memory.Redactor) (end func(context.Context) error, err error){
		"run": func(r memory.Redactor) (func(context.Context) error, error) {
			run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: r})
			return func(ctx context.Context) error { return run.End(ctx) }, err
		},
		"job": func(r memory.Redactor) (func(context.Context) error, error) {
			job, err := h.Background(memory.JobConfig{ID: "j", Tenant: "acme", Redactor: r})
			return job.End, err
		},
	} {
		v := &countingCloser{vault: newVault()}
		end, err := open(v)
		require.NoError(t, err)
		require.ErrorIs(t, end(over), context.Canceled, name)
		require.Equal(t, 1, v.times, name)
		require.NoError(t, end(ctx), name)
		require.Equal(t, 1, v.times, name)
	}
}

type countingCloser struct {
	*vault
	times int
}

func (c *countingCloser) Close() error { c.times++; return nil }

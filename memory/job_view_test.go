package memory_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// A job's view is live memory of one ref of its tenant, under a name by which a later view tells
// what was touched meanwhile.
func TestM1_TheViewOfAJob(t *testing.T) {
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			return map[string]string{"notes": "acme", "other": "globex"}[ref], nil
		}
	})
	job := h.job("acme")
	first := put(t, job, "notes", "first")
	_, name, err := job.View(ctx, "notes")
	require.NoError(t, err)
	require.NotEmpty(t, name)
	second := put(t, job, "notes", "second")
	v, later, err := job.View(ctx, "notes")
	require.NoError(t, err)
	require.NotEqual(t, name, later)
	_, touched, _, err := v.Differs(ctx, name)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID}, touched.Put)
	var seen []string
	for e, err := range v.Entries(ctx) {
		require.NoError(t, err)
		seen = append(seen, e.ID)
	}
	require.Equal(t, []string{second.ID, first.ID}, seen)
	_, _, err = job.View(ctx, "other")
	require.ErrorIs(t, err, memory.ErrForbidden)
	require.NoError(t, job.End(ctx))
	_, _, err = job.View(ctx, "notes")
	require.ErrorIs(t, err, memory.ErrEnded)
}

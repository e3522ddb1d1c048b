package consolidate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// A group of many equal entries is planned whole, also where another merge was undone.
func TestC10_AGroupOfManyEqualEntries(t *testing.T) {
	h := newHost(t)
	c := newConsolidator(t, Config{})
	h.note("Lena must sign form 1.")
	h.note("Lena must  sign form 1.")
	h.run(c, "first")
	back, err := c.Undo(ctx, h.job("undo"), ref, "first")
	require.NoError(t, err)
	require.Equal(t, 1, back)
	j := h.job("import")
	many := 30_000
	if testing.Short() {
		many = 5000
	}
	for range many {
		_, err := j.Put(ctx, ref, memory.Draft{Content: "The gate is green."})
		require.NoError(t, err)
	}
	plan, err := c.Plan(ctx, h.job("p"), ref, Options{})
	require.NoError(t, err)
	require.Len(t, plan, 1, "what was undone stays apart")
	require.Len(t, plan[0].Retire, many-1)
}

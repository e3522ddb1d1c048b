package adaptertest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No step of what shrink leaves can be left out, whether or not more steps fail more.
func TestT4_NoStepOfAShrunkSequenceCanBeLeftOut(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 38))
		all := make([]int, 1+rng.IntN(60))
		for i := range all {
			all[i] = rng.IntN(12)
		}
		needed, spoils := all[:1+rng.IntN(min(4, len(all)))], rng.IntN(12)
		fails := func(steps []int) bool {
			odd := slices.Index(steps, spoils)
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(steps, n) }) && (odd < 0 || odd%2 == slices.Index(all, spoils)%2)
		}
		require.True(t, fails(all), "seed %d", seed)
		left := shrink(all, shrinkTries, fails)
		require.True(t, fails(left), "seed %d: %v", seed, left)
		for i := range left {
			require.False(t, fails(slices.Delete(slices.Clone(left), i, i+1)), "seed %d: %v without number %d", seed, left, i)
		}
	}
}

// What chance finds by a rare query of an audit is shrunk as well: two entries show it.
func TestT4_WhatARareQueryFindsIsShrunk(t *testing.T) {
	found := slices.IndexFunc(nameDefects, func(d defect) bool { return strings.HasPrefix(d.name, "looks at the first tag") })
	report, err := nameDefects[found].config().check(ctx, func(name string) bool { return name == "QUERY/fields" })
	require.NoError(t, err)
	require.Len(t, report.Failures(), 1)
	require.NotContains(t, report.Failures()[0], "\n    5. ")
}

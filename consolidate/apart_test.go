package consolidate

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed testdata/apart.txt
var apartPairs string

// Pairs that must stay apart are not merged by form, and the guard does not let one of them
// replace both where what differs is a fact.
func TestC8_WhatDiffersInAFactStaysApart(t *testing.T) {
	pairs := 0
	for line := range strings.Lines(apartPairs) {
		if line[0] == '#' {
			continue
		}
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 3, line)
		kind, a, b := fields[0], fields[1], fields[2]
		pairs++
		plan, err := Rules{}.Plan(ctx, entriesOf(a, b))
		require.NoError(t, err)
		if retired(plan) != 0 {
			t.Errorf("%s: the rules merge %q and %q", kind, a, b)
		}
		if kind == "words" {
			continue // for the model alone
		}
		for _, merged := range []string{a, b, a + " " + b} {
			why := whyRefused(merged, []string{a, b})
			if why == "" && merged != a+" "+b {
				t.Errorf("%s: the guard lets %q stand for %q and %q", kind, merged, a, b)
			}
		}
	}
	require.GreaterOrEqual(t, pairs, 150)
}

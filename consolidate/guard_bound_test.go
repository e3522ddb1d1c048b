package consolidate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/facts"
)

// hostile are texts of the largest size on which the guard has most to do.
var hostile = map[string]string{
	"words":       strings.Repeat("Ab cd ", 1<<16/6),
	"numbers":     strings.Repeat("1 a ", 1<<14),
	"negations":   strings.Repeat("not ab ", 1<<16/7),
	"connecting":  strings.Repeat("the ", 1<<14),
	"identifiers": strings.Repeat("a/b ", 1<<14),
	"rows":        strings.Repeat("不月", 1<<16/6),
	"quotes":      strings.Repeat(`"' `, 1<<16/3),
	"distinct": func() string {
		var b strings.Builder
		for i := 0; b.Len() < 1<<16-8; i++ {
			fmt.Fprintf(&b, "w%s ", strings.Map(func(c rune) rune { return c + 'a' - '0' }, fmt.Sprint(i)))
		}
		return b.String()
	}(),
}

// However many different texts a host's plan puts into one group, the guard compares at most
// maxGroup of them, and the context ends that.
func TestC10_WhatTheGuardComparesIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("its texts are large")
	}
	h := newHost(t)
	var ids []string
	for i := range maxGroup + 2 {
		ids = append(ids, h.note(fmt.Sprintf("Fact %d.", i)).ID)
	}
	for _, keep := range []string{"", ids[0]} {
		retire := ids
		if keep != "" {
			retire = ids[1:]
		}
		r := h.run(proposing(t, Plan{{Keep: keep, Retire: retire}}, says("")), "p"+keep)
		require.Len(t, r.Refused, 1)
		require.Equal(t, "the group is too large for one text", r.Refused[0].Reason)
	}
	same := make([]string, maxGroup+2)
	for i := range same {
		same[i] = h.note("The gate is green.").ID
	}
	r := h.run(proposing(t, Plan{{Keep: same[0], Retire: same[1:]}}, nil), "same")
	require.Equal(t, maxGroup+1, r.Merged, "what is equal in form is not compared")

	long := make([]string, maxTexts/60_000+1)
	for i := range long {
		long[i] = h.note(strings.Repeat("The gate is green. ", 60_000/19) + fmt.Sprint(i)).ID
	}
	r = h.run(proposing(t, Plan{{Keep: long[0], Retire: long[1:]}}, nil), "long")
	require.Len(t, r.Refused, 1)
	require.Equal(t, "the group is too large for one text", r.Refused[0].Reason)

	for name, text := range hostile {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := facts.Changed(ended, text, slices.Repeat([]string{text}, maxTexts/len(text)))
		require.ErrorIs(t, err, context.Canceled, name)
		why, err := facts.Changed(ctx, text, []string{text})
		require.NoError(t, err)
		require.Empty(t, why, name)
	}
}

func BenchmarkGuard(b *testing.B) {
	for name, text := range hostile {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				_, err := facts.Changed(ctx, text, slices.Repeat([]string{text}, maxTexts/len(text)))
				require.NoError(b, err)
			}
		})
	}
}

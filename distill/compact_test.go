package distill_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func TestCompact_EventAndProvenance(t *testing.T) {
	for _, n := range []int{1, 100, 101} {
		h := newHost(t)
		in := h.put(notes(n)...)
		r := h.runner()
		j := h.jobOf("nightly run 7")
		res, err := r.Compact(ctx, j, ref, distill.Options{Trigger: events.CompactionClientRequested})
		require.NoError(t, err)
		require.Equal(t, n, res.Sources)
		require.Contains(t, res.Output.Tags, "compacted-from:nightly_run_7", "no white space")
		require.True(t, res.Output.ExpiresAt.IsZero())
		got, err := h.bank.Reader(tenant).Get(ctx, ref, res.Output.ID)
		require.NoError(t, err)
		evs := h.compacted()
		require.Len(t, evs, 1)
		require.Equal(t, events.CompactionClientRequested, evs[0].Trigger)
		require.EqualValues(t, n, evs[0].SourceCount)
		require.EqualValues(t, len(got.Content), evs[0].ByteSize)
		require.Nil(t, evs[0].Distillation)
		if n > 100 {
			require.Nil(t, evs[0].SourceIDs)
		} else {
			var ids []string
			for _, e := range in {
				ids = append(ids, e.ID)
			}
			require.ElementsMatch(t, ids, evs[0].SourceIDs, "exhaustive")
		}
		require.Empty(t, h.archives())
		require.Zero(t, h.version(), "a compaction has no index")
	}
}

func TestCompact_Policies(t *testing.T) {
	for policy, live := range map[distill.Policy]int{distill.KeepSources: 4, distill.ExpireSources: 1, distill.RemoveSources: 1} {
		h := newHost(t)
		in := h.put(notes(3)...)
		r := h.runner()
		res, err := r.Compact(ctx, h.job(), ref, distill.Options{Sources: policy})
		require.NoError(t, err)
		require.Len(t, h.live(), live)
		outcomes, err := h.bank.Lineage(ctx, tenant, ref, in[0].ID)
		require.NoError(t, err)
		outcome := outcomes[in[0].ID]
		switch policy {
		case distill.KeepSources:
			require.Equal(t, in[0].ID, outcome.Head.ID)
		case distill.ExpireSources:
			require.Equal(t, res.Output.ID, outcome.Head.ID)
		case distill.RemoveSources:
			require.Equal(t, memory.Deleted, outcome.State)
		}
	}
	h := newHost(t)
	_, err := h.runner().Compact(ctx, h.job(), ref, distill.Options{Sources: 9})
	require.ErrorIs(t, err, memory.ErrValidation)
	res, err := h.runner().Compact(ctx, h.job(), ref, distill.Options{})
	require.NoError(t, err)
	require.Equal(t, distill.Result{}, res, "nothing to do")
	require.Empty(t, h.compacted())
}

func TestCompact_TakesTheOldestUpToItsLimit(t *testing.T) {
	h := newHost(t)
	in := h.put(notes(10)...)
	r := h.runner(func(c *distill.Config) { c.MaxInputEntries = 4 })
	for _, want := range []struct{ sources, left int }{{4, 6}, {4, 2}, {2, 0}, {0, 0}} {
		res, err := r.Compact(ctx, h.job(), ref, distill.Options{Sources: distill.ExpireSources})
		require.NoError(t, err)
		require.Equal(t, want.sources, res.Sources)
		require.Equal(t, want.left, res.Left)
		if want.left == 6 {
			require.Contains(t, res.Output.Sources, in[0].ID)
			require.NotContains(t, res.Output.Sources, in[9].ID)
		}
	}
}

func TestCompact_NeverCutsARuneOrAMarker(t *testing.T) {
	text := "日本語🙂[REDACTED:billing-key] and é" + strings.Repeat("ü", 40)
	for limit := 1; limit <= len(text)+1; limit++ {
		h := newHost(t)
		h.put(text)
		r := h.runner(func(c *distill.Config) { c.MaxOutputBytes = limit })
		res, err := r.Compact(ctx, h.job(), ref, distill.Options{})
		require.NoError(t, err)
		require.LessOrEqual(t, len(res.Output.Content), limit)
		_, got, _ := strings.Cut(res.Output.Content, "2026-03-01: ")
		require.Equal(t, limit >= len("2026-03-01: 日"), got != "", "limit %d: a day alone says nothing", limit)
		require.True(t, utf8.ValidString(got))
		require.True(t, strings.HasPrefix(text, got))
		if i := strings.Index(got, "[REDACTED"); i >= 0 && len(got) > i {
			require.Contains(t, got, "[REDACTED:billing-key]", "limit %d", limit)
		}
	}
}

func TestRunner_Facts(t *testing.T) {
	_, err := distill.New(distill.Config{ArchiveRetention: "P1M1W"})
	require.Error(t, err, "weeks stand alone")
	r, err := distill.New(distill.Config{ArchiveRetention: "P1Y1M1DT1H", MaxInputEntries: 1000})
	require.NoError(t, err)
	require.Equal(t, "P1Y1M1DT1H", r.Retention())
	require.Equal(t, 1000, r.MaxInputEntries())
	require.Equal(t, memory.DefaultMaxEntryBytes, r.MaxOutputBytes())
	require.Equal(t, distill.DefaultMaxTokenBudget, r.MaxTokenBudget())
	require.Equal(t, "o200k_base~3", r.TokenizerName())
	for _, bad := range []distill.Config{{MaxTokenBudget: -1}, {MaxOutputBytes: -1}, {ArchiveRetention: "90 days"}} {
		_, err := distill.New(bad)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
}

func TestRetention(t *testing.T) {
	from := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string]string{
		"":         "0001-01-01T00:00:00Z",
		"P90D":     "2026-05-01T12:00:00Z",
		"P2W":      "2026-02-14T12:00:00Z",
		"P1Y2M3D":  "2027-04-03T12:00:00Z",
		"PT36H":    "2026-02-02T00:00:00Z",
		"P1DT1.5S": "2026-02-01T12:00:01.5Z",
		"P9999Y":   "0001-01-01T00:00:00Z",
	} {
		r, err := distill.ParseRetention(s)
		require.NoError(t, err, s)
		require.Equal(t, want, r.From(from).Format(time.RFC3339Nano), s)
		require.Equal(t, s, r.String())
	}
	for _, s := range []string{"P", "PT", "P1", "1D", "P0D", "PT0S", "P-1D", "P1DT", "P1.5D", "p1d", "P1W2D", "P99999999D", "P1D "} {
		_, err := distill.ParseRetention(s)
		require.ErrorIs(t, err, memory.ErrValidation, s)
	}
}

package distill_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// What a host's author does wrong is named, with what to do.
func TestM2_MistakesAreNamed(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	open := func(cfg distill.Config) error { _, err := distill.New(cfg); return err }
	pass := func(job *memory.Job, o distill.Options) error {
		_, err := h.runner().Distill(ctx, job, ref, o)
		return err
	}
	note, err := h.job().Put(ctx, ref, memory.Draft{Content: "A note."})
	require.NoError(t, err)
	_, unarchived := h.runner().Open(ctx, h.job(), ref, note.ID)
	_, nobody := h.runner().Compact(ctx, nil, ref, distill.Options{})
	_, _, noIndex := h.runner().Index(ctx, nil)
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"a budget below zero": {open(distill.Config{MaxTokenBudget: -1}), memory.ErrValidation,
			"distill: Config.MaxTokenBudget is below zero: 0 means the default"},
		"inputs below zero": {open(distill.Config{MaxInputEntries: -1}), memory.ErrValidation,
			"distill: Config.MaxInputEntries is below zero: 0 means the default"},
		"a time below zero": {open(distill.Config{SummarizerTimeout: -time.Second}), memory.ErrValidation,
			"distill: Config.SummarizerTimeout is below zero: 0 means the default"},
		"a retention in days": {open(distill.Config{ArchiveRetention: "90 days"}), memory.ErrValidation,
			"distill: the retention is no ISO 8601 duration, such as P90D or PT12H: see Config.ArchiveRetention"},
		"a retention of nothing": {open(distill.Config{ArchiveRetention: "P0D"}), memory.ErrValidation,
			"distill: the retention is nothing: leave Config.ArchiveRetention empty to keep archives for ever"},
		"no job": {pass(nil, distill.Options{}), memory.ErrValidation,
			"distill: the job is nil: open one by Bank.Background or Bank.Pass"},
		"no job to compact": {nobody, memory.ErrValidation,
			"distill: the job is nil: open one by Bank.Background or Bank.Pass"},
		"no job to index": {noIndex, memory.ErrValidation,
			"distill: the job is nil: open one by Bank.Background or Bank.Pass"},
		"no such policy": {pass(h.job(), distill.Options{Sources: 9}), memory.ErrValidation,
			"distill: Options.Sources is no Policy"},
		"a pass below zero": {pass(h.job(), distill.Options{TokenBudget: -1}), memory.ErrValidation,
			"distill: Options.TokenBudget is below 0: 0 looks into Options.Configurable"},
		"a budget in words": {pass(h.job(), distill.Options{Configurable: map[string]any{distill.BudgetKey: "many"}}), memory.ErrValidation,
			"distill: Options.Configurable: distillation.tokenBudget is not an integer above 0"},
		"an entry without an archive": {unarchived, memory.ErrNotFound,
			"distill: the entry has no archive tag: it was not distilled"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

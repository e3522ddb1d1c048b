package consolidate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// What a host's author does wrong is named, with what to do.
func TestM2_MistakesAreNamed(t *testing.T) {
	h := newHost(t)
	open := func(cfg Config) error { _, err := New(cfg); return err }
	run := func(job *memory.Job, o Options) error {
		_, err := newConsolidator(t, Config{}).Run(ctx, job, ref, o)
		return err
	}
	similar := func(score float64) error {
		_, err := Similar(ctx, []memory.Entry{{ID: "a", Content: "x"}, {ID: "b", Content: "y"}}, score)
		return err
	}
	ended := h.job("ended")
	require.NoError(t, ended.End(ctx))
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"an unknown trigger": {open(Config{Trigger: "often"}), memory.ErrValidation,
			"consolidate: Config.Trigger is unknown: leave it empty for host-managed"},
		"no time": {open(Config{Timeout: -time.Second}), memory.ErrValidation,
			"consolidate: Config.Timeout is below zero: 0 means a minute"},
		"a score in percent": {open(Config{Score: 80}), memory.ErrValidation,
			"consolidate: Config.Score is not from 0 to 1"},
		"no job": {run(nil, Options{}), memory.ErrValidation,
			"consolidate: the job is nil: open one by Bank.Background or Bank.Pass"},
		"a job that has ended": {run(ended, Options{}), memory.ErrEnded,
			"memory: the run or job has ended"},
		"an unknown trigger of a pass": {run(h.job("p"), Options{Trigger: "often"}), memory.ErrValidation,
			"consolidate: Options.Trigger is unknown: leave it empty for that of the Consolidator"},
		"a score of candidates in percent": {similar(80), memory.ErrValidation,
			"consolidate: the score is not from 0 to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

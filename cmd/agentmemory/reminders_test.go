package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// keptRuns is an enqueuer that keeps its contract, unless it is down.
type keptRuns struct {
	mu   sync.Mutex
	down bool
	runs map[string]string // by key
	last commitment.Firing
}

func (k *keptRuns) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down {
		return "", errors.New("the queue is down")
	}
	k.runs[f.Key], k.last = "run-of-"+f.Key[:20], f
	return k.runs[f.Key], nil
}

// On each store: a reminder whose queue was down for a day is given up, which doctor shows; its note is
// mended; and of several processes that retry it one fires it, once, for the mended note.
func TestK3_AReminderIsGivenUpMovedAndRetriedOnEveryStore(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		ctx := t.Context()
		host := open(t, at)
		var late atomic.Int64
		began := time.Now()
		now := func() time.Time { return began.Add(time.Duration(late.Load())) }
		queue := &keptRuns{down: true, runs: map[string]string{}}
		process := func() (*memory.Bank, *commitment.Engine) {
			bank, err := memory.New(host.store, memory.Config{Now: now})
			require.NoError(t, err)
			engine, err := commitment.New(bank, commitment.Config{Enqueuer: queue,
				Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil }})
			require.NoError(t, err)
			return bank, engine
		}
		bank, engine := process()
		pass := func(f func(*memory.Job) error) {
			require.NoError(t, bank.Pass(ctx, memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: redact.New(redact.Config{})}, f))
		}
		infer := func(j *memory.Job) error { _, err := engine.Infer(ctx, j, "notes"); return err }
		var note memory.Entry
		pass(func(j *memory.Job) (err error) {
			note, err = j.Put(ctx, "notes", memory.Draft{Content: "Call Lnea.", Tags: []string{"due:" + began.Add(time.Hour).Format(time.RFC3339)}})
			return err
		})
		pass(infer)
		gaveUp := 0
		for range 30 {
			late.Add(int64(time.Hour))
			for range 3 {
				done, err := engine.Tick(ctx)
				require.NoError(t, err)
				gaveUp += done.GivenUp
				late.Add(int64(10 * time.Minute))
			}
		}
		require.Equal(t, 1, gaveUp)
		d, status := diagnose(t, at)
		assert.Equal(t, 1, status)
		assert.Equal(t, 1, d.GivenUp)

		run, err := bank.Start(ctx, memory.RunConfig{ID: "edit", Tenant: "acme", Redactor: redact.New(redact.Config{})})
		require.NoError(t, err)
		note, err = run.Replace(ctx, "notes", note.ID, memory.Draft{Content: "Call Lena."})
		require.NoError(t, err)
		require.NoError(t, run.End(ctx))
		pass(infer)
		given := ""
		for c, err := range engine.Commitments(ctx, "acme") {
			require.NoError(t, err)
			if c.GivenUp.Tries > 0 {
				require.Empty(t, given)
				require.Equal(t, note.ID, c.MemoryID)
				given = c.ID
			}
		}

		queue.down = false
		var took atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			_, other := process()
			all.Go(func() {
				if _, err := other.Retry(ctx, "acme", given); err == nil {
					took.Add(1)
				}
				_, err := other.Tick(ctx)
				assert.NoError(t, err)
			})
		}
		all.Wait()
		late.Add(int64(time.Hour))
		_, err = engine.Tick(ctx)
		require.NoError(t, err)
		assert.Equal(t, int32(1), took.Load())
		assert.Len(t, queue.runs, 1)
		assert.Equal(t, note.ID, queue.last.MemoryID)
		_, err = engine.Retry(ctx, "acme", given)
		require.ErrorIs(t, err, memory.ErrConflict)
		require.NoError(t, host.close())
		d, _ = diagnose(t, at)
		assert.Zero(t, d.GivenUp)
	})
}

package memory_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// leaver is a redactor that is called in place and ends the goroutine of its caller, as one does
// that fails a test.
type leaver struct{ leaves *bool }

func (l leaver) Redact(text string) (string, error) {
	if *l.leaves {
		runtime.Goexit()
	}
	return text, nil
}
func (l leaver) RedactDerived(text string) (string, error) { return l.Redact(text) }
func (leaver) Inline() bool                                { return true }

// ends reports whether f comes to an end of its goroutine.
func ends(f func()) bool {
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	select {
	case <-over:
		return true
	case <-time.After(10 * time.Second):
		return false
	}
}

func TestAPartThatEndsItsCallersGoroutineLocksNoHandle(t *testing.T) {
	h := newHost(t)
	leaves := false
	job, err := h.Background(memory.JobConfig{ID: "j", Tenant: "acme", Redactor: leaver{&leaves}})
	require.NoError(t, err)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: leaver{&leaves}})
	require.NoError(t, err)
	last := events.Record{Payload: events.HostPayload{Type: "run.completed", JSON: []byte(`{"a":"b"}`)}}
	leaves = true
	require.True(t, ends(func() { _, _ = job.Put(ctx, "m", memory.Draft{Content: "x"}) }))
	require.True(t, ends(func() { _, _ = run.Put(ctx, "m", memory.Draft{Content: "x"}) }))
	require.True(t, ends(func() { _ = run.End(ctx, last) }))
	require.True(t, ends(func() {
		_ = h.Pass(ctx, memory.JobConfig{ID: "p", Tenant: "acme", Redactor: leaver{&leaves}}, func(j *memory.Job) error {
			_, err := j.Put(ctx, "m", memory.Draft{Content: "x"})
			return err
		})
	}))
	leaves = false
	require.True(t, ends(func() { require.NoError(t, job.End(ctx)) }))
	require.True(t, ends(func() { require.NoError(t, run.End(ctx, last)) }))
}

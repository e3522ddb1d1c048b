package distill_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
)

type emitFunc func(context.Context, ...events.Record) error

func (f emitFunc) Emit(ctx context.Context, recs ...events.Record) error { return f(ctx, recs...) }

func fileOf(tenant string, i int) distill.Write {
	return distill.Write{Tenant: tenant, RunID: "r", Path: fmt.Sprint("f", i), Content: "x", ContentType: "text/plain", At: time.UnixMilli(1_760_000_000_000)}
}

// A run whose events the sink refuses holds up no other, and keeps its order.
func TestE3_WorkspaceRefusalHoldsUpItsRunOnly(t *testing.T) {
	refuses := map[string]bool{"evil": true}
	got, want := map[string][]string{}, map[string][]string{}
	w := distill.NewMemoryWorkspace(emitFunc(func(_ context.Context, recs ...events.Record) error {
		for _, r := range recs {
			if refuses[r.Tenant] {
				return errors.New("its run is over")
			}
		}
		for _, r := range recs {
			got[r.Tenant] = append(got[r.Tenant], r.Payload.(events.WorkspaceUpdated).Path)
		}
		clear(recs) // which the workspace must not notice
		return nil
	}))
	put := func(tenant string) {
		x := fileOf(tenant, len(want[tenant]))
		_, err := w.WriteFile(t.Context(), x)
		require.NoError(t, err)
		want[tenant] = append(want[tenant], x.Path)
	}
	put("evil")
	put("good")
	require.Equal(t, map[string][]string{"good": {"f0"}}, got)
	put("evil")
	refuses["good"] = true
	put("good")
	delete(refuses, "good")
	require.ErrorContains(t, w.Flush(t.Context()), "the sink failed")
	require.Equal(t, map[string][]string{"good": {"f0", "f1"}}, got)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, w.Flush(done), context.Canceled)
	clear(refuses)
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, want, got)
}

// The sink may write to the workspace that it is called by.
func TestE3_SinkUsesTheWorkspace(t *testing.T) {
	var w *distill.MemoryWorkspace
	var got []string
	first := true
	w = distill.NewMemoryWorkspace(emitFunc(func(ctx context.Context, recs ...events.Record) error {
		if first {
			first = false
			_, err := w.WriteFile(ctx, fileOf("acme", 1))
			return err
		}
		for _, r := range recs {
			got = append(got, r.Payload.(events.WorkspaceUpdated).Path)
		}
		return nil
	}))
	_, err := w.WriteFile(t.Context(), fileOf("acme", 0))
	require.NoError(t, err)
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, []string{"f0", "f1"}, got)
}

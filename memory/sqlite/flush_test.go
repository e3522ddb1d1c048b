package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

type sinkFunc func(context.Context, ...events.Record) error

func (f sinkFunc) Emit(ctx context.Context, recs ...events.Record) error { return f(ctx, recs...) }

// A run whose events the sink refuses holds up no other, and keeps its order.
func TestE3_WorkspaceRefusalHoldsUpItsRunOnly(t *testing.T) {
	db, _ := fresh(t)
	refuses := true
	got := map[string][]string{}
	w := db.Workspace(sinkFunc(func(_ context.Context, recs ...events.Record) error {
		for _, r := range recs {
			if refuses && r.Tenant == "evil" {
				return errors.New("its run is over")
			}
		}
		for _, r := range recs {
			got[r.Tenant] = append(got[r.Tenant], r.Payload.(events.WorkspaceUpdated).Path)
		}
		return nil
	}))
	want := map[string][]string{}
	put := func(w distill.Workspace, tenant string, i int) {
		x := write(fmt.Sprint("f", i), "x", "")
		x.Tenant = tenant
		_, err := w.WriteFile(t.Context(), x)
		require.NoError(t, err)
		want[tenant] = append(want[tenant], x.Path)
	}
	for i := range 300 { // more than a batch
		put(w, "evil", i)
	}
	put(w, "good", 0)
	require.Equal(t, map[string][]string{"good": {"f0"}}, got)

	down := db.Workspace(&fickle{refuses: true})
	put(down, "good", 1)
	put(down, "well", 0)
	require.ErrorIs(t, w.Flush(t.Context()), memory.ErrInternal)
	require.Equal(t, map[string][]string{"good": {"f0", "f1"}, "well": {"f0"}}, got)
	refuses = false
	require.NoError(t, w.Flush(t.Context()))
	require.Equal(t, want, got)
}

// The sink may write to the workspace that it is called by.
func TestE3_SinkUsesTheWorkspace(t *testing.T) {
	db, _ := fresh(t)
	var w distill.Workspace
	var got []string
	first := true
	w = db.Workspace(sinkFunc(func(ctx context.Context, recs ...events.Record) error {
		if first {
			first = false
			_, err := w.WriteFile(ctx, write("b.txt", "x", ""))
			return err
		}
		for _, r := range recs {
			got = append(got, r.Payload.(events.WorkspaceUpdated).Path)
		}
		return nil
	}))
	_, err := w.WriteFile(t.Context(), write("a.txt", "x", ""))
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "b.txt"}, got)
}

package distill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
)

// The result carries what the pass has announced, as the log has it, and whether the index
// moved.
func TestResultCarriesWhatWasAnnounced(t *testing.T) {
	h := newHost(t)
	h.put(notes(20)...)
	r := h.runner()
	types := func(recs []events.Record) (out []events.Type) {
		for _, rec := range recs {
			out = append(out, rec.Payload.EventType())
		}
		return out
	}
	logged := func(pass string) (recs []events.Record) {
		for _, ev := range h.log.Events(tenant, pass) {
			recs = append(recs, ev.Record)
		}
		return recs
	}
	for i, want := range []struct {
		indexed bool
		types   []events.Type
	}{
		{true, []events.Type{events.TypeMemoryWritten, events.TypeWorkspaceUpdated, events.TypeMemoryCompacted}},
		{false, []events.Type{events.TypeMemoryCompacted}}, // it is there already
	} {
		job := h.jobOf([]string{"first", "second"}[i])
		res, err := r.Distill(ctx, job, ref, distill.Options{TokenBudget: 4000, Sources: distill.KeepSources})
		require.NoError(t, err)
		require.NoError(t, job.End(ctx))
		require.Equal(t, want.indexed, res.IndexUpdated)
		require.Equal(t, want.types, types(res.Events))
		require.Equal(t, logged(job.ID()), res.Events)
	}
	job := h.jobOf("third")
	res, err := r.Compact(ctx, job, ref, distill.Options{})
	require.NoError(t, err)
	require.NoError(t, job.End(ctx))
	require.False(t, res.IndexUpdated)
	require.Equal(t, []events.Type{events.TypeMemoryWritten, events.TypeMemoryCompacted}, types(res.Events))
	require.Equal(t, logged("third"), res.Events)
}

// A job id is used again: for a pass that finds its archive there, and for one that retires what the
// first two have left.
func TestE3_AJobIDMayBeUsedAgain(t *testing.T) {
	h := newHost(t)
	h.put(notes(20)...)
	r := h.runner()
	for i, policy := range []distill.Policy{distill.KeepSources, distill.KeepSources, distill.ExpireSources} {
		job := h.jobOf("nightly")
		res, err := r.Distill(ctx, job, ref, distill.Options{TokenBudget: 4000, Sources: policy})
		require.NoError(t, err)
		require.NoError(t, job.End(ctx))
		require.Equal(t, i > 0, res.Existing)
		require.Len(t, h.compacted(), 1+i/2) // the second is the first one again
	}
	require.Len(t, h.live(), 1)
}

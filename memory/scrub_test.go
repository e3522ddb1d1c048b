package memory_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A secret that was registered too late is not delivered with an event that waits, and does
// not stay in machinery. The ledger of erasures does.
func TestM10_ScrubReachesWaitingEventsAndMachinery(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r", "acme"), h.job("acme")
	clean := put(t, run, "m", "x")
	_, err := run.Put(ctx, "m", memory.Draft{Content: "y", NodeID: "node-hunter2hunter2"})
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
		var swaps []driver.DocumentSwap
		for key, value := range map[string]string{"hunter2hunter2": "", "b": `{"ref":"hunter2hunter2"}`, "c": `{"ref":"hunter2\u0068unter2"}`, "kept": "{}"} {
			swaps = append(swaps, driver.DocumentSwap{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Kind: "k", Key: key, Value: []byte(value)}})
		}
		return swaps
	}})
	require.NoError(t, err)
	put(t, h.job("globex"), "m", "z")
	done, err := h.Scrub(ctx, "acme", newVault("s", "hunter2hunter2"))
	require.NoError(t, err)
	require.Equal(t, memory.Forgotten{Documents: 3, Events: 1}, done)
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	delivered := h.log.Events("acme", "r")
	require.Len(t, delivered, 1)
	text, err := json.Marshal(delivered[0].Payload)
	require.NoError(t, err)
	require.Contains(t, string(text), clean.ID)
	var kept []string
	for d, err := range job.Documents(ctx, "m", driver.DocumentQuery{}) {
		require.NoError(t, err)
		kept = append(kept, d.Key)
	}
	require.Equal(t, []string{"kept"}, kept)
	again, err := h.Scrub(ctx, "acme", newVault("s", "hunter2hunter2"))
	require.NoError(t, err)
	require.Zero(t, again)
}

// unreadable is a store with an event that cannot be read.
type unreadable struct{ *inmem.Store }

func (unreadable) Undelivered(context.Context, string, string) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		yield(events.Record{}, driver.ErrInternal.With("an event cannot be read", nil))
	}
}

// An event that cannot be read keeps no secret in memory. Scrub tells of it nevertheless.
func TestM10_ScrubErasesWhateverTheOutboxHolds(t *testing.T) {
	h := newHostOn(t, unreadable{inmem.New()})
	put(t, h.job("acme"), "m", "it is hunter2hunter2")
	done, err := h.Scrub(ctx, "acme", newVault("s", "hunter2hunter2"))
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Len(t, done.Erased, 1)
	require.Equal(t, []string{"it is [REDACTED:s]"}, contents(t, h.Reader("acme"), "m"))
}

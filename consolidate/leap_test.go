package consolidate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A pass that died while the clock showed 2099 holds its lease until then. Its document can be
// removed; the next pass then has the ref.
func TestC5_TheLeaseOfAClockThatLeaptCanBeRemoved(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.")
	value := encode(state{Pass: "dead", Until: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), Open: true})
	_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{Scope: memory.Scope{Ref: ref}, Kind: memory.RemoveWhenDue, Key: leaseKey, Value: value}})
	require.NoError(t, err)
	c := newConsolidator(t, Config{})
	_, err = c.Run(ctx, h.job("p"), ref, Options{})
	require.ErrorIs(t, err, memory.ErrConflict)

	for d, err := range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{Ref: ref, Kind: "memory/until-due", Key: "consolidate/pass"}) {
		require.NoError(t, err)
		_, err = h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: d, Act: driver.Remove})
		require.NoError(t, err)
	}
	_, err = c.Run(ctx, h.job("p"), ref, Options{})
	require.NoError(t, err)
}

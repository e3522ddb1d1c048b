package consolidate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
)

// The result carries what the pass has announced, as the log has it.
func TestC6_TheResultCarriesWhatWasAnnounced(t *testing.T) {
	h := newHost(t)
	for range 3 {
		h.note("The Team plan costs €49.")
	}
	c := newConsolidator(t, Config{})
	for _, pass := range []string{"p1", "p2"} { // the second finds nothing to do
		r := h.run(c, pass)
		_, err := h.Maintain(ctx)
		require.NoError(t, err)
		var logged []events.Record
		for _, ev := range h.log.Events("acme", pass) {
			logged = append(logged, ev.Record)
		}
		require.Equal(t, logged, r.Events)
		require.IsType(t, events.MemoryConsolidated{}, r.Events[len(r.Events)-1].Payload)
	}
}

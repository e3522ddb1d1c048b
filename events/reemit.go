package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Reemit puts recorded events into new envelopes, for emission to the log of the
// run that replays them (E4). Nothing is regenerated: the payloads, with every id
// in them, and the times stay as they were recorded; so do tenant, node and order.
// The run id is the new one, and the sequence is the new log's to give.
//
// A new event id follows from the new run and the old event alone, so replaying
// twice, or resuming a replay, gives records that sinks know already. The host
// chooses what is replayed by slicing the recording. Keep webhooks and the like out of the sink,
// so that no event is announced twice.
func Reemit(recorded []RunEvent, runID string) []Record {
	recs := make([]Record, len(recorded))
	for i, ev := range recorded {
		recs[i] = ev.Record
		recs[i].RunID = runID
		sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{runID, ev.RunID, ev.ID}))
		recs[i].ID = "replay-" + hex.EncodeToString(sum[:])
	}
	return recs
}

package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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
		recs[i].ID = replayID(runID, ev.RunID, ev.ID)
	}
	return recs
}

// replayID is a digest of the three ids, each with its length before it.
func replayID(ids ...string) string {
	var b []byte
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(len(id)))
		b = append(b, id...)
	}
	sum := sha256.Sum256(b)
	return "replay-" + hex.EncodeToString(sum[:])
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/openwop/agentmemory/commitment"
)

// queue starts the runs of commitments. The run's id is made from the firing's key, so that the same
// firing is the same run however often it is tried.
type queue struct{ *host }

// runID makes the id of a run from what is the same each time that it is asked for.
func runID(of, key string) string {
	return "run-" + of + "-" + digest(key)
}

// digest is 32 hex digits that stand for a text in an id.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (q queue) Enqueue(ctx context.Context, f commitment.Firing) (string, error) {
	doc, err := q.start(ctx, f.Tenant, beginning{id: runID("firing", f.Key), workflow: "host.sample.reminder"})
	if err != nil {
		return "", err
	}
	return doc.RunID, nil
}

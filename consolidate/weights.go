package consolidate

import (
	"context"

	"github.com/openwop/agentmemory/memory"
)

// Weights tells how many distinct entries corroborate each live entry of a ref: those
// that were merged into it, or into one that was (M8). It reads the ref's history.
func Weights(ctx context.Context, job *memory.Job, ref string) (map[string]int, error) {
	into, live := map[string]string{}, map[string]bool{}
	for rec, err := range job.History(ctx, ref) {
		if err != nil {
			return nil, err
		}
		switch {
		case rec.State == memory.Merged:
			into[rec.Entry.ID] = rec.For
		case rec.State == memory.Live && !rec.Erased && rec.Entry.LiveAt(job.Now()):
			live[rec.Entry.ID] = true
		}
	}
	weights := map[string]int{}
	for _, head := range into {
		for next, merged := into[head]; merged; next, merged = into[head] {
			head = next
		}
		if live[head] {
			weights[head]++
		}
	}
	return weights, nil
}

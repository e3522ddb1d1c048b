package distill_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A year of twenty notes a day, of which each week's are distilled, with a purge a day. What was
// distilled is kept until it expires itself, since forgetting an output brings it back: notes
// that have an expiry go after it, and those that have none stay, also when the outputs have
// expired. The figures of a year are in docs/operating.md; without AGENTMEMORY_LONG it is less.
func TestM10_HowMuchOfWhatWasDistilledIsKept(t *testing.T) {
	days, perDay := 180, 3
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		days, perDay = 365, 20
	}
	for _, life := range []time.Duration{0, 90 * 24 * time.Hour} {
		h, rng := newHost(t), rand.New(rand.NewPCG(1, 2))
		r := h.runner(func(cfg *distill.Config) { cfg.ArchiveRetention = "P90D" })
		for day := range days {
			j := h.job()
			for i := range perDay {
				h.advance(time.Second)
				text := fmt.Sprintf("note %d of day %d: %s", i, day, strings.Repeat("word ", 30+rng.IntN(20)))
				_, err := j.Put(ctx, ref, memory.Draft{Content: text, TTL: life, Subjects: []string{fmt.Sprint("customer:", rng.IntN(100))}})
				require.NoError(t, err)
			}
			if day%7 == 6 {
				_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: 20_000, Sources: distill.ExpireSources})
				require.NoError(t, err)
			}
			h.advance(24*time.Hour - time.Duration(perDay)*time.Second)
			_, err := h.bank.Purge(ctx, tenant)
			require.NoError(t, err)
		}
		var entries, size, live int
		for rec, err := range h.raw.History(ctx, tenant, driver.HistoryQuery{}) {
			require.NoError(t, err)
			entries++
			size += len(rec.Entry.Content)
			if rec.State == memory.Live && rec.Entry.LiveAt(h.now()) {
				live++
			}
		}
		t.Logf("life %v: of %d notes %d entries with %d bytes of text are kept, %d of them live", life, days*perDay, entries, size, live)
		if all := days*perDay + days/7; life == 0 {
			require.Equal(t, all, entries, "the notes and the outputs")
		} else {
			require.Less(t, entries, all*2/3)
		}
	}
}

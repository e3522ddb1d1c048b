package consolidate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// After any passes, writes and deletions, undoing the last pass brings back all
// that it retired, and no later pass retires one of them in favour of what it was retired
// for.
func TestM10_WhatWasUndoneStaysApart(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 21))
		h := newHost(t)
		c := newConsolidator(t, Config{Score: 0.3, Merger: merger{func(_ context.Context, es []memory.Entry) (string, error) {
			if r.IntN(2) == 0 {
				return "", ErrDiffer
			}
			return es[0].Content, nil
		}, ""}})
		texts := []string{"The gate is green.", "The  gate is green", "The gate is green at the harbour.", "A harbour has a green gate.", "Lena pays Tom."}
		tags := [][]string{nil, nil, {"slot:gate"}, {"slot:gate", "slot:colour"}}
		write := func(n int) {
			for range n {
				h.put(memory.Draft{Content: texts[r.IntN(len(texts))], Tags: tags[r.IntN(len(tags))]})
			}
		}
		apart := map[[2]string]bool{} // retired, and what for
		write(8)
		for pass := range 6 {
			before := h.live()
			h.run(c, fmt.Sprint("p", pass))
			gone := map[string]string{}
			for _, id := range before {
				if f := h.outcome(id); f.State != memory.Live {
					gone[id] = f.Head.ID
					require.False(t, apart[[2]string{id, f.Head.ID}], "seed %d: %s again", seed, id)
				}
			}
			if r.IntN(2) == 0 {
				n, err := c.Undo(ctx, h.job(fmt.Sprint("u", pass)), ref, fmt.Sprint("p", pass))
				require.NoError(t, err)
				require.Equal(t, len(gone), n, "seed %d", seed)
				require.ElementsMatch(t, before, h.live(), "seed %d", seed)
				for id, head := range gone {
					apart[[2]string{id, head}], apart[[2]string{head, id}] = true, true
				}
			}
			write(r.IntN(4))
			if live := h.live(); r.IntN(3) == 0 {
				_, err := h.job("d").Delete(ctx, ref, live[r.IntN(len(live))])
				require.NoError(t, err)
			}
		}
	}
}

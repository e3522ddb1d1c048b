package main

import (
	"context"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// hit is the JSON form of an entry that answers a question, and why it does.
type hit struct {
	record
	Score float64  `json:"score"`
	Terms []string `json:"terms"` // of the question, as they are compared
}

func (p *program) search(ctx context.Context, at *session, ref, question string, limit int) error {
	hits, err := at.bank.Search(ctx, p.tenant, ref, memory.Search{Text: question, Limit: limit})
	if err != nil {
		return err
	}
	for _, h := range hits {
		shown := hit{recordOf(memory.Record{Scope: memory.Scope{Ref: ref}, Entry: h.Entry}, at.bank.Now()), h.Score, h.Terms}
		if p.json {
			if err := printJSON(p.out, shown); err != nil {
				return err
			}
			continue
		}
		shown.text(p.out)
		fmt.Fprintf(p.out, "    matched: %q, score %.3f\n", h.Terms, h.Score)
	}
	if !p.json {
		fmt.Fprintln(p.out, count(len(hits), "entry answers", "entries answer"))
	}
	return nil
}

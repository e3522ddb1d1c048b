package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// hit is the JSON form of an entry that answers a question, and why it does.
type hit struct {
	record
	Score float64  `json:"score"`
	Terms []string `json:"terms"` // of the question, as they are compared
}

func (p *program) search(ctx context.Context, args *arguments) (err error) {
	limit := args.Int("limit", 10, "how many entries at most")
	if err := args.take(2, 2); err != nil {
		return err
	}
	at, err := p.openTenant(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	hits, err := at.bank.Search(ctx, p.tenant, args.Arg(0), memory.Search{Text: args.Arg(1), Limit: *limit})
	if err != nil {
		return err
	}
	for _, h := range hits {
		shown := hit{recordOf(memory.Record{Scope: memory.Scope{Ref: args.Arg(0)}, Entry: h.Entry}, at.bank.Now()), h.Score, h.Terms}
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
		fmt.Fprintf(p.out, "%d entries answer\n", len(hits))
	}
	return nil
}

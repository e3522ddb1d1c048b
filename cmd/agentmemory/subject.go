package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// about is everything that memory holds about a subject.
type about struct {
	Subject     string     `json:"subject"`
	Entries     []record   `json:"entries"`
	Documents   []document `json:"documents"`
	Commitments []promise  `json:"commitments"`
}

// promise is the JSON form of a commitment that rests on an entry.
type promise struct {
	ID       string    `json:"id"`
	Ref      string    `json:"ref"`
	MemoryID string    `json:"memoryId"`
	State    string    `json:"state"`
	ArmedAt  time.Time `json:"armedAt"`
	Due      time.Time `json:"due,omitzero"`
	Fired    int       `json:"fired"`
}

func (p *program) subject(ctx context.Context, args *arguments) (err error) {
	if err := args.take(1, 1); err != nil {
		return err
	}
	at, err := p.openTenant(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	all := about{Subject: args.Arg(0), Entries: []record{}, Documents: []document{}, Commitments: []promise{}}
	of := map[located]bool{}
	working := p.progress("reading what there is", 0)
	for x, err := range at.bank.Export(ctx, p.tenant, args.Arg(0)) {
		if err != nil {
			return err
		}
		if x.Record != nil {
			of[located{x.Record.Ref, x.Record.Entry.ID}] = true
			all.Entries = append(all.Entries, recordOf(*x.Record, at.bank.Now()))
		} else {
			all.Documents = append(all.Documents, documentOf(*x.Document))
		}
		working.step()
	}
	engine, err := commitment.New(at.bank, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
	if err != nil {
		return err
	}
	for c, err := range engine.Commitments(ctx, p.tenant) {
		if err != nil {
			return err
		}
		if of[located{c.Ref, c.MemoryID}] {
			all.Commitments = append(all.Commitments, promise{c.ID, c.Ref, c.MemoryID, string(c.State), c.ArmedAt, c.Due, c.Fired})
		}
		working.step()
	}
	working.end()
	if p.json {
		return printJSON(p.out, all)
	}
	for _, r := range all.Entries {
		fmt.Fprintf(p.out, "in %q: ", r.Ref)
		r.text(p.out)
	}
	for _, d := range all.Documents {
		d.text(p.out)
	}
	for _, c := range all.Commitments {
		fmt.Fprintf(p.out, "commitment %q on %q in %q: %s, fired %d times\n", c.ID, c.MemoryID, c.Ref, c.State, c.Fired)
	}
	fmt.Fprintf(p.out, "%d entries, %d documents, %d commitments\n", len(all.Entries), len(all.Documents), len(all.Commitments))
	return nil
}

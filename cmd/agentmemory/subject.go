package main

import (
	"context"
	"fmt"
	"io"
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
	GivenUp  bool      `json:"givenUp,omitempty"` // a firing of it was given up, and no later one has succeeded
}

func (p *program) subject(ctx context.Context, at *session, args []string) error {
	all := about{Subject: args[0], Entries: []record{}, Documents: []document{}, Commitments: []promise{}}
	of := map[located]bool{}
	working := p.progress("read", 0, "thing", "things")
	for x, err := range at.bank.Export(ctx, p.tenant, args[0]) {
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
	var err error
	if all.Commitments, err = at.promises(ctx, p.tenant, func(l located) bool { return of[l] }, working); err != nil {
		return err
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
		c.text(p.out)
	}
	fmt.Fprintf(p.out, "%s, %s, %s\n", count(len(all.Entries), "entry", "entries"),
		count(len(all.Documents), "document", "documents"), count(len(all.Commitments), "commitment", "commitments"))
	return nil
}

// commitments is an engine over the store, which only reads.
func (at *session) commitments() (*commitment.Engine, error) {
	return commitment.New(at.bank, commitment.Config{
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
}

// promises are the commitments of a tenant that rest on those entries.
func (at *session) promises(ctx context.Context, tenant string, on func(located) bool, working *progress) ([]promise, error) {
	engine, err := at.commitments()
	if err != nil {
		return nil, err
	}
	all := []promise{}
	for c, err := range engine.Commitments(ctx, tenant) {
		if err != nil {
			return nil, err
		}
		if on(located{c.Ref, c.MemoryID}) {
			all = append(all, promise{c.ID, c.Ref, c.MemoryID, string(c.State), c.ArmedAt, c.Due, c.Fired, c.GivenUp.Tries > 0})
		}
		working.step()
	}
	return all, nil
}

func (c promise) text(w io.Writer) {
	given := ""
	if c.GivenUp {
		given = "; a firing was given up"
	}
	fmt.Fprintf(w, "commitment %q on %q in %q: %s, fired %s%s\n",
		c.ID, c.MemoryID, c.Ref, c.State, count(c.Fired, "time", "times"), given)
}

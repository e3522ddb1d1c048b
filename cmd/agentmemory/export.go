package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// line is one entry of an export: the protocol's MemoryEntry, and beside it where it belongs and
// whom it is about. Behind the entries come the commitments that rest on them.
type line struct {
	Ref      string   `json:"ref"`
	Subjects []string `json:"subjects,omitempty"`
	Entry    entry    `json:"entry"`

	commitment *standing // the line is this, and no entry
	last       *int      // the line ends an export, and says how many commitments it has
}

// standing is a commitment of an export, which holds nothing of what an entry says (K8). Its ids
// are those of the store that it is from.
type standing struct {
	commitment.Commitment
	ID  string    `json:"id"`
	Due time.Time `json:"due,omitzero"`
}

// entry has a name of its own, as line embeds one.
type entry = memory.Entry

// exported says what an export has: one ref, one subject, or everything.
type exported struct{ ref, subject string }

func (p *program) export(ctx context.Context, at *session, of exported) (err error) {
	if of.ref != "" && of.subject != "" {
		return misuse("say -ref or -subject")
	}
	out := bufio.NewWriter(p.out)
	working := p.progress("exported", 0, "entry", "entries")
	job, err := at.reader(p.tenant)
	if err != nil {
		return err
	}
	bearing, err := at.bearing(ctx, job)
	if err != nil {
		return err
	}
	write := func(ref string, e memory.Entry) error {
		working.step()
		if _, bears := bearing[located{ref, e.ID}]; bears {
			bearing[located{ref, e.ID}] = true
		}
		return printJSON(out, line{Ref: ref, Subjects: e.Subjects, Entry: e})
	}
	switch {
	case of.subject != "":
		err = at.exportSubject(ctx, p.tenant, of.subject, write)
	case of.ref != "":
		err = at.exportRef(ctx, p.tenant, of.ref, write)
	default:
		for ref, walkErr := range at.bank.Refs(ctx, p.tenant) {
			if err = walkErr; err == nil {
				err = at.exportRef(ctx, p.tenant, ref, write)
			}
			if err != nil {
				break
			}
		}
	}
	working.end()
	if err == nil {
		err = at.exportCommitments(ctx, job, out, func(c commitment.Commitment) bool {
			ofTheRef := c.MemoryID == "" && of.subject == "" && (of.ref == "" || of.ref == c.Ref)
			return ofTheRef || bearing[located{c.Ref, c.MemoryID}]
		})
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("the export is not complete: %w", err)
	}
	fmt.Fprintln(p.err, working)
	return nil
}

// bearing has the entries on which commitments of the job's tenant rest.
func (at *session) bearing(ctx context.Context, job *memory.Job) (map[located]bool, error) {
	engine, err := at.commitments()
	if err != nil {
		return nil, err
	}
	written := map[located]bool{}
	for c, err := range engine.Export(ctx, job) {
		if err != nil {
			return nil, err
		}
		if c.MemoryID != "" {
			written[located{c.Ref, c.MemoryID}] = false
		}
	}
	return written, nil
}

// exportCommitments writes the commitments of the job's tenant that go with an export, and how many they are.
func (at *session) exportCommitments(ctx context.Context, job *memory.Job, out io.Writer,
	goes func(commitment.Commitment) bool) error {
	engine, err := at.commitments()
	if err != nil {
		return err
	}
	n := 0
	for c, err := range engine.Export(ctx, job) {
		if err != nil {
			return err
		}
		if !goes(c) {
			continue
		}
		n++
		if err := printJSON(out, map[string]standing{"commitment": {c, c.ID, c.Due}}); err != nil {
			return err
		}
	}
	return printJSON(out, map[string]int{"commitments": n})
}

func (at *session) exportRef(ctx context.Context, tenant, ref string, write func(string, memory.Entry) error) error {
	job, err := at.reader(tenant)
	if err != nil {
		return err
	}
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return err
		}
		if err := write(ref, e); err != nil {
			return err
		}
	}
	return nil
}

func (at *session) exportSubject(ctx context.Context, tenant, subject string, write func(string, memory.Entry) error) error {
	for x, err := range at.bank.Export(ctx, tenant, subject) {
		if err != nil {
			return err
		}
		if x.Record == nil || stateOf(*x.Record, at.bank.Now()) != "live" {
			continue
		}
		if err := write(x.Record.Ref, x.Record.Entry); err != nil {
			return err
		}
	}
	return nil
}

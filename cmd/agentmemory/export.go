package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// line is one entry of an export: the protocol's MemoryEntry, and beside it where it belongs and
// whom it is about.
type line struct {
	Ref      string   `json:"ref"`
	Subjects []string `json:"subjects,omitempty"`
	Entry    entry    `json:"entry"`
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
	write := func(ref string, e memory.Entry) error {
		working.step()
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
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("the export is not complete: %w", err)
	}
	fmt.Fprintln(p.err, working)
	return nil
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

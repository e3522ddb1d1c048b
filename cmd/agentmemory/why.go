package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// lineage is an entry with what it was made of, what became of it, and what goes with it.
type lineage struct {
	record
	Head        string     `json:"head,omitempty"` // the live entry that has replaced it
	Merged      []string   `json:"merged,omitempty"`
	Superseded  []string   `json:"superseded,omitempty"`
	Derived     []string   `json:"derived,omitempty"` // entries that were made of it
	Documents   []document `json:"documents,omitempty"`
	Commitments []promise  `json:"commitments,omitempty"`
}

func (p *program) why(ctx context.Context, at *session, args []string) error {
	id := args[0]
	ref, err := at.refOf(ctx, p.tenant, id)
	if err != nil {
		return err
	}
	l, err := p.lineageOf(ctx, at, ref, id)
	if err != nil {
		return err
	}
	if p.json {
		return printJSON(p.out, l)
	}
	fmt.Fprintf(p.out, "in %q: ", ref)
	l.text(p.out)
	line := func(what string, is bool, value any) {
		if is {
			fmt.Fprintf(p.out, "    %s: %q\n", what, value)
		}
	}
	line("written by run", true, l.RunID)
	line("merged into it", len(l.Merged) > 0, l.Merged)
	line("superseded by it", len(l.Superseded) > 0, l.Superseded)
	line("live now as", l.Head != "" && l.Head != id, l.Head)
	line("entries made of it", len(l.Derived) > 0, l.Derived)
	line("erased by forgetting any of", len(l.Subjects) > 0, l.Subjects)
	for _, d := range l.Documents {
		d.text(p.out)
	}
	for _, c := range l.Commitments {
		c.text(p.out)
	}
	return nil
}

// refOf finds the ref that holds an entry.
func (at *session) refOf(ctx context.Context, tenant, id string) (string, error) {
	for ref, err := range at.bank.Refs(ctx, tenant) {
		if err != nil {
			return "", err
		}
		held, err := at.Lookup(ctx, driver.Scope{Tenant: tenant, Ref: ref}, []string{id})
		if err != nil {
			return "", err
		}
		if len(held) > 0 {
			return ref, nil
		}
	}
	return "", advice("the tenant has no such entry: look for its id by inspect REF")
}

func (p *program) lineageOf(ctx context.Context, at *session, ref, id string) (l lineage, err error) {
	job, err := at.reader(p.tenant)
	if err != nil {
		return l, err
	}
	working := p.progress("read", 0, "record", "records")
	defer working.end()
	err = at.walk(ctx, job, ref, func(r memory.Record) {
		if r.Entry.ID == id {
			l.record = recordOf(r, job.Now())
		}
		switch {
		case r.For != id:
		case r.State == memory.Merged:
			l.Merged = append(l.Merged, r.Entry.ID)
		default:
			l.Superseded = append(l.Superseded, r.Entry.ID)
		}
		if slices.Contains(r.Entry.Sources, id) {
			l.Derived = append(l.Derived, r.Entry.ID)
		}
		working.step()
	}, func(d driver.Document) {
		if slices.Contains(d.Of, id) && len(d.Value) > 0 { // the key of a write has no value
			l.Documents = append(l.Documents, documentOf(d))
		}
	})
	if err != nil {
		return l, err
	}
	for _, ids := range [][]string{l.Merged, l.Superseded, l.Derived} {
		slices.Sort(ids)
	}
	outcomes, err := at.bank.Lineage(ctx, p.tenant, ref, id)
	if err != nil {
		return l, err
	}
	l.Head = outcomes[id].Head.ID
	l.Commitments, err = at.promises(ctx, p.tenant, func(on located) bool { return on == located{ref, id} }, working)
	return l, err
}

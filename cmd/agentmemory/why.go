package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// lineage is an entry with what it was made of, what became of it, and what it goes with.
type lineage struct {
	record
	Head       string   `json:"head,omitempty"` // the live entry that has replaced it
	Merged     []string `json:"merged,omitempty"`
	Superseded []string `json:"superseded,omitempty"`
	Derived    []string `json:"derived,omitempty"` // entries that were made of it
	// ErasedWith are the subjects of it and of all that it was made of: forgetting one erases it.
	ErasedWith  []string   `json:"erasedWith,omitempty"`
	Documents   []document `json:"documents,omitempty"`
	Commitments []promise  `json:"commitments,omitempty"`
}

func (p *program) why(ctx context.Context, at *place, args []string) error {
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
	line("erased by forgetting any of", len(l.ErasedWith) > 0, l.ErasedWith)
	for _, d := range l.Documents {
		d.text(p.out)
	}
	for _, c := range l.Commitments {
		c.text(p.out)
	}
	return nil
}

// refOf finds the ref that holds an entry.
func (at *place) refOf(ctx context.Context, tenant, id string) (string, error) {
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

func (p *program) lineageOf(ctx context.Context, at *place, ref, id string) (l lineage, err error) {
	job, err := at.reader(p.tenant)
	if err != nil {
		return l, err
	}
	working := p.progress("read", 0, "record", "records")
	defer working.end()
	all := map[string]memory.Record{} // without texts
	err = at.walk(ctx, job, ref, func(r memory.Record) {
		if r.Entry.ID == id {
			l.record = recordOf(r, job.Now())
		}
		r.Entry.Content, r.Entry.Tags = "", nil
		all[r.Entry.ID] = r
		working.step()
	}, func(d driver.Document) {
		if slices.Contains(d.Of, id) {
			l.Documents = append(l.Documents, documentOf(d))
		}
	})
	if err != nil {
		return l, err
	}
	for _, other := range slices.Sorted(maps.Keys(all)) {
		r := all[other]
		switch {
		case r.For != id:
		case r.State == memory.Merged:
			l.Merged = append(l.Merged, other)
		default:
			l.Superseded = append(l.Superseded, other)
		}
		if slices.Contains(r.Entry.Sources, id) {
			l.Derived = append(l.Derived, other)
		}
	}
	l.ErasedWith = subjectsBehind(all, id)
	fates, err := at.bank.Fates(ctx, p.tenant, ref, id)
	if err != nil {
		return l, err
	}
	l.Head = fates[id].Head.ID
	l.Commitments, err = at.promises(ctx, p.tenant, func(on located) bool { return on == located{ref, id} }, working)
	return l, err
}

// subjectsBehind are the subjects of an entry and of all that it was made of.
func subjectsBehind(all map[string]memory.Record, id string) []string {
	subjects, seen := map[string]bool{}, map[string]bool{}
	for open := []string{id}; len(open) > 0; {
		next := open[0]
		if open = open[1:]; seen[next] {
			continue
		}
		seen[next] = true
		for _, s := range all[next].Entry.Subjects {
			subjects[s] = true
		}
		open = append(open, all[next].Entry.Sources...)
	}
	return slices.Sorted(maps.Keys(subjects))
}

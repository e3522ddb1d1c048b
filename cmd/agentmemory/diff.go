package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// difference is what changed between two tokens.
type difference struct {
	Added    []line        `json:"added"`
	Removed  []line        `json:"removed"`
	Replaced []replacement `json:"replaced"`
	// Unreadable are refs in which something was forgotten or purged since.
	Unreadable []string `json:"unreadable,omitempty"`
}

// replacement is an entry of the first token and the one that has its place at the second.
type replacement struct {
	Ref  string       `json:"ref"`
	From memory.Entry `json:"from"`
	To   memory.Entry `json:"to"`
}

func (p *program) diff(ctx context.Context, at *session, args []string) error {
	var pasts [2]*memory.Past
	for i, token := range args {
		past, err := at.bank.AsOf(ctx, p.tenant, memory.Token(token))
		if err != nil {
			return fmt.Errorf("the %s token cannot be read: %w", [2]string{"first", "second"}[i], err)
		}
		pasts[i] = past
	}
	d := difference{Added: []line{}, Removed: []line{}, Replaced: []replacement{}}
	working := p.progress("compared", 0, "ref", "refs")
	defer working.end()
	for ref, err := range at.bank.Refs(ctx, p.tenant) {
		if err != nil {
			return err
		}
		before, err := all(ctx, pasts[0], ref)
		var after map[string]memory.Entry
		if err == nil {
			after, err = all(ctx, pasts[1], ref)
		}
		if err == nil {
			err = d.add(ctx, at, p.tenant, ref, before, after)
		}
		if errors.Is(err, memory.ErrSnapshotUnavailable) {
			d.Unreadable = append(d.Unreadable, ref)
		} else if err != nil {
			return err
		}
		working.step()
	}
	working.end()
	if err := p.differs(d); err != nil {
		return err
	}
	if len(d.Unreadable) > 0 {
		return advice(fmt.Sprintf("not compared, since something in them was forgotten or purged: %q", d.Unreadable))
	}
	return nil
}

// differs prints what changed.
func (p *program) differs(d difference) error {
	if p.json {
		return printJSON(p.out, d)
	}
	for _, l := range d.Removed {
		fmt.Fprintf(p.out, "- %q %s %q\n", l.Ref, l.Entry.ID, l.Entry.Content)
	}
	for _, r := range d.Replaced {
		fmt.Fprintf(p.out, "~ %q %s %q\n  now %s %q\n", r.Ref, r.From.ID, r.From.Content, r.To.ID, r.To.Content)
	}
	for _, l := range d.Added {
		fmt.Fprintf(p.out, "+ %q %s %q\n", l.Ref, l.Entry.ID, l.Entry.Content)
	}
	fmt.Fprintf(p.out, "%s, %s, %s\n", count(len(d.Added), "entry added", "entries added"),
		count(len(d.Removed), "removed", "removed"), count(len(d.Replaced), "replaced", "replaced"))
	return nil
}

// all are the entries of a ref by id.
func all(ctx context.Context, past *memory.Past, ref string) (map[string]memory.Entry, error) {
	byID := map[string]memory.Entry{}
	for after := (driver.Cursor{}); ; {
		page, err := past.List(ctx, ref, memory.ListOptions{Limit: memory.MaxListLimit, After: after})
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			byID[e.ID] = e
		}
		if len(page) < memory.MaxListLimit {
			return byID, nil
		}
		after = page[len(page)-1].Cursor()
	}
}

// add adds what is different in a ref. What has gone was replaced if the entry that it was retired
// for, or one that this was retired for, is there at the second token.
func (d *difference) add(ctx context.Context, at *session, tenant, ref string, before, after map[string]memory.Entry) error {
	fresh := map[string]bool{}
	for id := range after {
		if _, was := before[id]; !was {
			fresh[id] = true
		}
	}
	for _, e := range slices.SortedFunc(maps.Values(before), newestFirst) {
		if _, is := after[e.ID]; is {
			continue
		}
		to, err := at.successor(ctx, driver.Scope{Tenant: tenant, Ref: ref}, e.ID, after)
		if err != nil {
			return err
		}
		if to == "" {
			d.Removed = append(d.Removed, line{Ref: ref, Subjects: e.Subjects, Entry: e})
			continue
		}
		d.Replaced = append(d.Replaced, replacement{ref, e, after[to]})
		delete(fresh, to)
	}
	for _, e := range slices.SortedFunc(maps.Values(after), newestFirst) {
		if fresh[e.ID] {
			d.Added = append(d.Added, line{Ref: ref, Subjects: e.Subjects, Entry: e})
		}
	}
	return nil
}

// successor follows what an entry was retired for to one of those entries.
func (at *session) successor(ctx context.Context, s driver.Scope, id string, among map[string]memory.Entry) (string, error) {
	for seen := map[string]bool{}; id != "" && !seen[id]; {
		if _, ok := among[id]; ok {
			return id, nil
		}
		seen[id] = true
		records, err := at.Lookup(ctx, s, []string{id})
		if err != nil || len(records) == 0 {
			return "", err
		}
		id = records[0].For
	}
	return "", nil
}

func newestFirst(a, b memory.Entry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

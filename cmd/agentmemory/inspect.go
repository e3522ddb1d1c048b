package main

import (
	"context"
	"fmt"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// counts are the numbers of a scope, or of all scopes of a tenant.
type counts struct {
	Tenant    string         `json:"tenant"`
	Ref       string         `json:"ref,omitempty"`
	Refs      int            `json:"refs,omitempty"`
	Entries   map[string]int `json:"entries"` // by state
	Documents int            `json:"documents"`
}

func (p *program) inspect(ctx context.Context, at *session, args []string) error {
	switch {
	case p.tenant != "" && len(args) == 1:
		return p.inspectRef(ctx, at, args[0])
	case p.tenant != "":
		return p.inspectTenant(ctx, at)
	case len(args) == 1:
		return misuse("say whose ref it is: -tenant ID")
	}
	return p.inspectTenants(ctx, at)
}

func (p *program) inspectTenants(ctx context.Context, at *session) error {
	working := p.progress("counted", 0, "record", "records")
	all := []counts{}
	for tenant, err := range at.bank.Tenants(ctx) {
		if err != nil {
			return err
		}
		refs, err := at.countRefs(ctx, tenant, working)
		if err != nil {
			return err
		}
		sum := counts{Tenant: tenant, Entries: map[string]int{}}
		for _, c := range refs {
			if c.Ref != "" {
				sum.Refs++
			}
			sum.Documents += c.Documents
			for state, n := range c.Entries {
				sum.Entries[state] += n
			}
		}
		all = append(all, sum)
	}
	working.end()
	if p.json {
		return printJSON(p.out, map[string]any{"tenants": all})
	}
	for _, c := range all {
		fmt.Fprintf(p.out, "%q: %s, %s, %s\n", c.Tenant, count(c.Refs, "ref", "refs"), states(c.Entries), count(c.Documents, "document", "documents"))
	}
	fmt.Fprintln(p.out, count(len(all), "tenant", "tenants"))
	return nil
}

func (p *program) inspectTenant(ctx context.Context, at *session) error {
	working := p.progress("counted", 0, "record", "records")
	refs, err := at.countRefs(ctx, p.tenant, working)
	if err != nil {
		return err
	}
	working.end()
	if p.json {
		return printJSON(p.out, map[string]any{"tenant": p.tenant, "refs": refs})
	}
	for _, c := range refs {
		name := fmt.Sprintf("%q", c.Ref)
		if c.Ref == "" {
			name = "of no ref"
		}
		fmt.Fprintf(p.out, "%s: %s, %s\n", name, states(c.Entries), count(c.Documents, "document", "documents"))
	}
	fmt.Fprintln(p.out, count(len(refs), "scope", "scopes"))
	return nil
}

// states are counts by state as text.
func states(n map[string]int) string {
	text := fmt.Sprintf("%d live", n["live"])
	for _, state := range []string{"expired", "merged", "superseded", "deleted", "erased"} {
		if n[state] > 0 {
			text += fmt.Sprintf(", %d %s", n[state], state)
		}
	}
	return text
}

// countRefs counts what each ref of a tenant holds; the empty ref is the tenant's own
// documents.
func (at *session) countRefs(ctx context.Context, tenant string, working *progress) ([]counts, error) {
	job, err := at.reader(tenant)
	if err != nil {
		return nil, err
	}
	refs := []string{""}
	for ref, err := range at.bank.Refs(ctx, tenant) {
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	all := []counts{}
	for _, ref := range refs {
		c := counts{Tenant: tenant, Ref: ref, Entries: map[string]int{}}
		err := at.walk(ctx, job, ref, func(r memory.Record) {
			c.Entries[stateOf(r, job.Now())]++
			working.step()
		}, func(driver.Document) {
			c.Documents++
			working.step()
		})
		if err != nil {
			return nil, err
		}
		if len(c.Entries) > 0 || c.Documents > 0 {
			all = append(all, c)
		}
	}
	return all, nil
}

// walk reads everything that a ref holds, or with an empty ref the tenant's own documents.
func (at *session) walk(ctx context.Context, job *memory.Job, ref string, record func(memory.Record), document func(driver.Document)) error {
	if ref != "" {
		for r, err := range job.History(ctx, ref) {
			if err != nil {
				return err
			}
			record(r)
		}
	}
	for d, err := range job.Documents(ctx, ref, driver.DocumentQuery{}) {
		if err != nil {
			return err
		}
		document(d)
	}
	return nil
}

func (p *program) inspectRef(ctx context.Context, at *session, ref string) error {
	job, err := at.reader(p.tenant)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range job.Scan(ctx, ref) {
		if err != nil {
			return err
		}
		n++
		shown := recordOf(memory.Record{Scope: memory.Scope{Ref: ref}, Entry: e}, job.Now())
		if !p.json {
			shown.text(p.out)
		} else if err := printJSON(p.out, shown); err != nil {
			return err
		}
	}
	if !p.json {
		fmt.Fprintln(p.out, count(n, "live entry", "live entries"))
	}
	return nil
}

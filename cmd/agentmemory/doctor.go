package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

const (
	// overdue is how late a commitment may be until it counts as one that no process fires.
	overdue = 10 * time.Minute
	// stale is how long an event may wait until it counts as one that no process relays.
	stale = time.Hour
)

// restoreWhole is the way out of a damaged file.
const restoreWhole = "restore a backup; if one was copied over the file while an old log (-wal, -journal) was there, that damaged it: remove the logs first"

// diagnosis is what doctor found.
type diagnosis struct {
	OK     bool     `json:"ok"`
	Wrong  []string `json:"wrong"` // one sentence for each trouble
	Schema int      `json:"schema"`
	// Tenants were read whole, Records and Documents of theirs.
	Tenants   int       `json:"tenants"`
	Records   int       `json:"records"`
	Documents int       `json:"documents"`
	Waiting   int       `json:"waiting"` // undelivered events
	Oldest    time.Time `json:"oldest,omitzero"`
	// Purges are by tenant when a purge was last noted; zero is never.
	Purges map[string]time.Time `json:"purges"`
	// Overdue commitments should have been looked at, the first of them at Since.
	Overdue int       `json:"overdue"`
	Since   time.Time `json:"since,omitzero"`
	// GivenUp commitments have a firing that was given up, and no later one that succeeded.
	GivenUp int `json:"givenUp"`
}

func (d *diagnosis) wrong(format string, args ...any) {
	d.Wrong = append(d.Wrong, fmt.Sprintf(format, args...))
}

func (p *program) doctor(ctx context.Context, at *session, _ []string) error {
	d := &diagnosis{Wrong: []string{}, Purges: map[string]time.Time{}}
	schema, damage, err := at.health(ctx)
	if err != nil {
		d.wrong("the database cannot check itself: %s", restoreWhole)
	}
	for _, said := range damage {
		d.wrong("the database file is damaged (%s): %s", said, restoreWhole)
	}
	d.Schema = schema
	for _, look := range []func(context.Context, *session, *diagnosis) error{p.findDamage, p.findEvents, p.findOverdue} {
		if err := look(ctx, at, d); err != nil {
			return err
		}
	}
	d.OK = len(d.Wrong) == 0
	return p.diagnosed(d)
}

// findDamage reads everything, tenant by tenant, and looks when each was purged.
func (p *program) findDamage(ctx context.Context, at *session, d *diagnosis) error {
	working := p.progress("read", 0, "record", "records")
	defer working.end()
	for tenant, err := range at.bank.Tenants(ctx) {
		if err != nil {
			d.wrong("the tenants cannot be listed (%v): restore a backup", err)
			return ctx.Err()
		}
		if p.tenant != "" && tenant != p.tenant {
			continue
		}
		d.Tenants++
		if err := p.readTenant(ctx, at, tenant, d, working); err != nil {
			return err
		}
		at.findPurge(ctx, tenant, d)
		if err := at.findGivenUp(ctx, tenant, d); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) readTenant(ctx context.Context, at *session, tenant string, d *diagnosis, working *progress) error {
	job, err := at.reader(tenant)
	if err != nil {
		return err
	}
	refs := []string{""}
	for ref, err := range at.bank.Refs(ctx, tenant) {
		if err != nil {
			d.wrong("the refs of tenant %q cannot be listed (%v): restore a backup", tenant, err)
			break
		}
		refs = append(refs, ref)
	}
	for _, ref := range refs {
		err := at.walk(ctx, job, ref, func(memory.Record) {
			d.Records++
			working.step()
		}, func(driver.Document) {
			d.Documents++
			working.step()
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.wrong("a row of tenant %q in ref %q cannot be read (%v): restore a backup", tenant, ref, err)
		}
	}
	return nil
}

// findPurge reads when the bank last noted a purge of the tenant.
func (at *session) findPurge(ctx context.Context, tenant string, d *diagnosis) {
	d.Purges[tenant] = time.Time{}
	for doc, err := range at.bank.Engines().Documents(ctx, tenant, driver.DocumentQuery{Kind: "memory/purge"}) {
		var marks []struct {
			Millis int64 `json:"i"`
		}
		if err == nil {
			err = json.Unmarshal(doc.Value, &marks)
		}
		if err != nil {
			d.wrong("the notes of purges of tenant %q cannot be read: restore a backup", tenant)
			return
		}
		if len(marks) == 0 {
			return
		}
		last := time.UnixMilli(marks[len(marks)-1].Millis).UTC()
		if d.Purges[tenant] = last; at.bank.Now().Sub(last) > memory.DefaultHorizon {
			d.wrong("tenant %q was last purged at %s, more than seven days ago, so that it grows for ever: have one process run Bank.Keep",
				tenant, last.Format(time.RFC3339))
		}
	}
}

// findGivenUp looks for firings of the tenant that were given up and that no person has settled.
func (at *session) findGivenUp(ctx context.Context, tenant string, d *diagnosis) error {
	engine, err := at.commitments()
	if err != nil {
		return err
	}
	found, first := 0, ""
	for c, err := range engine.Commitments(ctx, tenant) {
		switch {
		case err != nil && c.ID == "":
			d.wrong("the commitments of tenant %q cannot be listed (%v): restore a backup", tenant, err)
			return ctx.Err()
		case err == nil && c.GivenUp.Tries > 0:
			if found++; found == 1 {
				first = c.ID
			}
		}
	}
	if d.GivenUp += found; found > 0 {
		d.wrong("%s given up, of tenant %q and first of commitment %q, since the host's queue refused every try: "+
			"once it works, have the host call Engine.Retry or Engine.Cancel of package commitment",
			count(found, "firing was", "firings were"), tenant, first)
	}
	return nil
}

// findEvents looks for events that no sink takes.
func (p *program) findEvents(ctx context.Context, at *session, d *diagnosis) error {
	var err error
	if d.Waiting, err = at.Waiting(ctx, p.tenant, 1_000_000); err != nil {
		return err
	}
	if d.Waiting == 0 {
		return nil
	}
	waiting := map[string]int{}
	for rec, err := range at.Undelivered(ctx, "", "") {
		if err != nil {
			d.wrong("an event cannot be read, so that none behind it in its run is delivered: restore a backup")
			break
		}
		if p.tenant != "" && rec.Tenant != p.tenant {
			continue
		}
		if waiting[rec.Tenant]++; waiting[rec.Tenant] == memory.DefaultMaxUndelivered {
			d.wrong("%d events or more of tenant %q wait, so that its writes may be refused: have one process run Bank.Keep over a bank with the Config.Sink", waiting[rec.Tenant], rec.Tenant)
		}
		if d.Oldest.IsZero() || rec.Time.Before(d.Oldest) {
			d.Oldest = rec.Time
		}
	}
	if !d.Oldest.IsZero() && at.bank.Now().Sub(d.Oldest) > stale {
		d.wrong("%s, the oldest since %s: have one process run Bank.Keep over a bank with the Config.Sink; if one does, its log says why the sink refuses", count(d.Waiting, "event waits", "events wait"), d.Oldest.Format(time.RFC3339))
	}
	return nil
}

// findOverdue looks for commitments that no process fires.
func (p *program) findOverdue(ctx context.Context, at *session, d *diagnosis) error {
	due, err := at.Due(ctx, "commitment", at.bank.Now().Add(-overdue), 1_000_000)
	if err != nil {
		return err
	}
	for _, c := range due {
		if p.tenant != "" && c.Tenant != p.tenant {
			continue
		}
		if d.Overdue++; d.Overdue == 1 {
			d.Since = c.Due
		}
	}
	if d.Overdue > 0 {
		d.wrong("%s due and no process fires them, the first since %s: have one process run Bank.Keep over a bank with a commitment.Engine",
			count(d.Overdue, "commitment is", "commitments are"), d.Since.Format(time.RFC3339))
	}
	return nil
}

func (p *program) diagnosed(d *diagnosis) error {
	if p.json {
		if err := printJSON(p.out, d); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "schema %d; read: %s, %s, %s\n", d.Schema, count(d.Tenants, "tenant", "tenants"),
			count(d.Records, "record", "records"), count(d.Documents, "document", "documents"))
		fmt.Fprintf(p.out, "undelivered events: %d", d.Waiting)
		if !d.Oldest.IsZero() {
			fmt.Fprintf(p.out, ", the oldest since %s", d.Oldest.Format(time.RFC3339))
		}
		never := 0
		for _, at := range d.Purges {
			if at.IsZero() {
				never++
			}
		}
		fmt.Fprintf(p.out, "\ntenants that were never purged: %d\ncommitments that no process fires: %d\nfirings that were given up: %d\n",
			never, d.Overdue, d.GivenUp)
		for _, w := range d.Wrong {
			fmt.Fprintln(p.out, "wrong:", w)
		}
		if d.OK {
			fmt.Fprintln(p.out, "nothing is wrong")
		}
	}
	if !d.OK {
		return advice(count(len(d.Wrong), "thing is wrong", "things are wrong"))
	}
	return nil
}

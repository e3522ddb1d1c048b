package main

import (
	"context"
	"encoding/json"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// recover ends the runs that a killed process left under way: each log gets its terminal event. It
// is for a host of one process, before it serves; several would each need to know its own runs.
func (h *host) recover(ctx context.Context) error {
	for tenant, err := range h.bank.Tenants(ctx) {
		if err != nil {
			return err
		}
		left, err := h.runs(ctx, tenant, func(doc *runDoc) bool { return doc.Status == "running" })
		if err != nil {
			return err
		}
		for _, doc := range left {
			if err := h.end(ctx, tenant, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs returns the runs of a tenant for which is holds.
func (h *host) runs(ctx context.Context, tenant string, is func(*runDoc) bool) (runs []*runDoc, err error) {
	err = h.pass(ctx, tenant, "host-runs", func(job *memory.Job) error {
		for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: runKind}) {
			doc := &runDoc{}
			if err == nil {
				err = json.Unmarshal(d.Value, doc)
			}
			if err != nil {
				return err
			}
			if is(doc) {
				runs = append(runs, doc)
			}
		}
		return nil
	})
	return runs, err
}

// end keeps what a run came to that a process was killed in.
func (h *host) end(ctx context.Context, tenant string, doc *runDoc) error {
	all, err := h.recorded(ctx, tenant, doc.RunID)
	if err != nil {
		return err
	}
	var last events.Payload = events.HostPayload{}
	if n := len(all); n > 0 {
		last = all[n-1].Payload
	}
	switch last.EventType() { // it may have come to its end, but for this document
	case "run.completed":
		doc.Status = "completed"
	case "run.failed":
		doc.Status = "failed"
		if err := json.Unmarshal(last.(events.HostPayload).JSON, doc); err != nil { // its error
			return err
		}
	default:
		doc.Status, doc.Error = "failed", &wire.Failure{Code: memory.CodeInternal, Message: "the host was restarted"}
		if err := h.interrupted(ctx, tenant, doc, len(all) == 0); err != nil {
			return err
		}
	}
	doc.CompletedAt, doc.Shared = h.bank.Now(), min(doc.Shared, int64(len(all)))
	return h.save(ctx, tenant, doc, nil)
}

// interrupted gives the log of a run that a process was killed in its terminal event, under the
// same id each time, so that a second try adds nothing. A log begins with run.started.
func (h *host) interrupted(ctx context.Context, tenant string, doc *runDoc, empty bool) error {
	vault, err := newVault(nil)
	if err != nil {
		return err
	}
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: doc.RunID, Tenant: tenant, Redactor: vault})
	if err != nil {
		return err
	}
	if empty {
		first := event("run.started", map[string]any{"workflowId": doc.WorkflowID, "transport": "rest"})
		first.ID = "begun-" + doc.RunID
		if err := run.Emit(ctx, first); err != nil {
			return err
		}
	}
	last := event("run.failed", map[string]any{"error": doc.Error})
	last.ID = "interrupted-" + doc.RunID
	return run.Abort(ctx, last)
}

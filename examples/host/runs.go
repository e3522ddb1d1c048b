package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// runDoc is what the host keeps of a run beside its events: host text of its tenant, redacted, since
// the variables hold what the run read. The events hold no word of it.
type runDoc struct {
	wire.Run
	Workspace workspace.Snapshot `json:"workspace"`
	// Refs are what the run read. No client is shown them.
	Refs []string `json:"refs,omitempty"`
	// Shared is how many events of its log are those of ParentRunID, and Name the run that first wrote them: what
	// is made of its id must be the same again.
	Shared int64  `json:"shared,omitempty"`
	Name   string `json:"name,omitempty"`
	// Request is the digest of the request that began it.
	Request string `json:"request,omitempty"`
}

const runKind = "host/run"

// beginning is what a run begins with. The id is made unless one is given.
type beginning struct {
	id, workflow string
	request      string // see runDoc
	inputs       map[string]any
	options      wire.RunOptions
	secrets      map[string]string // the run's own: kept nowhere, and gone when it ends (RFC 0229)
	source       *runDoc           // of a fork
	shared       []part            // of a fork
	resume       memory.Token      // of a branch
}

// start runs a workflow from its start to its terminal event. A run of the id that is there already, or
// was begun at the same moment, is returned as it is.
func (h *host) start(ctx context.Context, tenant string, b beginning) (*runDoc, error) {
	work, ok := workflows[b.workflow]
	if !ok {
		return nil, wire.Invalid("workflowId", "there is no such workflow")
	}
	if b.id == "" {
		b.id = "run-" + rand.Text()
	} else if doc, err := h.find(ctx, tenant, b.id); err == nil {
		return doc, nil
	} else if !errors.Is(err, errNoRun) {
		return nil, err
	}
	doc := &runDoc{Request: b.request, Name: b.id, Run: wire.Run{
		RunID: b.id, WorkflowID: b.workflow, Status: "running", Inputs: b.inputs, RunOptions: b.options, StartedAt: h.bank.Now(),
		Agent: map[string]string{"agentId": assistant, "memoryRef": homeRef}, Variables: map[string]any{},
	}}
	x := &execution{host: h, tenant: tenant, doc: doc, secrets: b.secrets, shared: b.shared, resume: b.resume}
	if b.source != nil {
		x.doc.ParentRunID, x.doc.Workspace = b.source.RunID, b.source.Workspace
	}
	if n := len(b.shared); n > 0 {
		x.doc.Shared, x.doc.Name = b.shared[n-1].end(), b.source.Name
		x.doc.StartedAt = b.source.StartedAt // the workflow's own time
	}
	if err := x.open(ctx); err != nil {
		return nil, err
	}
	if err := h.save(ctx, tenant, x.doc, x.secrets); err != nil { // so that recover finds it
		if err = errors.Join(err, x.Abort(context.WithoutCancel(ctx))); errors.Is(err, memory.ErrConflict) {
			return h.find(ctx, tenant, b.id)
		}
		return nil, err
	}
	return x.doc, x.finish(context.WithoutCancel(ctx), x.work(ctx, work))
}

// work begins a run and does what it is for.
func (x *execution) work(ctx context.Context, work func(context.Context, *execution) error) error {
	if err := x.keepPoint(ctx); err != nil {
		return err
	}
	if x.doc.ParentRunID == "" {
		err := x.host.pass(ctx, x.tenant, "host-snapshot", func(job *memory.Job) (err error) {
			x.doc.Workspace, err = x.host.files.Snapshot(ctx, job)
			return err
		})
		if err != nil {
			return err
		}
	}
	started := event("run.started", map[string]any{"workflowId": x.doc.WorkflowID, "transport": "rest"})
	if err := x.emit(ctx, started); err != nil {
		return err
	}
	return work(ctx, x)
}

// finish ends the run, whose terminal event is the last of its log, and keeps what it came to. A
// process that is killed between the two leaves the rest to recover.
func (x *execution) finish(ctx context.Context, failed error) error {
	x.doc.Status = "completed"
	end, last := x.End, event("run.completed", map[string]any{"outputs": map[string]any{}})
	if failed == nil {
		last, failed = x.asRecorded(last)
	}
	if failed != nil {
		x.doc.Status, x.doc.Error = "failed", wire.FailureOf(failed)
		end, last = x.Abort, x.failure()
		x.host.logger.Warn("a run failed", "workflow", x.doc.WorkflowID, "code", memory.CodeOf(failed))
	}
	if err := end(ctx, last); err != nil {
		return err
	}
	x.doc.CompletedAt = x.host.bank.Now()
	err := x.host.save(ctx, x.tenant, x.doc, x.secrets)
	if errors.Is(err, memory.ErrSecretLeakage) { // a secret that the document cannot do without
		x.doc.Inputs, x.doc.Variables, x.doc.RunOptions = nil, nil, wire.RunOptions{}
		err = x.host.save(ctx, x.tenant, x.doc, nil)
	}
	return err
}

// failure is the terminal event of a run that failed. A fork that did so on its way shares no more.
func (x *execution) failure() events.Record {
	last := event("run.failed", map[string]any{"error": x.doc.Error})
	recorded, err := x.asRecorded(last)
	if err != nil {
		x.doc.Shared = x.seq
		return last
	}
	return recorded
}

func event(t events.Type, payload map[string]any) events.Record {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(err) // plain values
	}
	return events.Record{Payload: events.HostPayload{Type: t, JSON: raw}}
}

// save keeps a run's document, without the secrets of its tenant and of the run. One that is there
// already does not begin again: memory.ErrConflict.
func (h *host) save(ctx context.Context, tenant string, doc *runDoc, ofRun map[string]string) error {
	value, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return h.passWith(ctx, tenant, "host-save", ofRun, func(job *memory.Job) error {
		var kept runDoc
		clean, err := job.RedactText(ctx, string(value))
		if err != nil {
			return err
		}
		if json.Unmarshal([]byte(clean), &kept) != nil || kept.RunID != doc.RunID || kept.WorkflowID != doc.WorkflowID || kept.Status != doc.Status {
			return memory.ErrSecretLeakage // what is around the texts would be changed
		}
		d, err := job.Document(ctx, "", runKind, doc.RunID)
		if err == nil && d.Rev > 0 && doc.Status == "running" {
			err = memory.ErrConflict
		}
		if err != nil {
			return err
		}
		d.Class, d.Value = driver.HostText, value
		_, err = job.Rewrite(ctx, "", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: d}}
		}})
		return err
	})
}

var errNoRun = &wire.Error{Kind: memory.CodeNotFound, Message: "there is no such run"}

// find returns a run of a tenant. A background pass is one too, if its events are in the log, which is
// read first: a run that begins meanwhile is kept before its first event, and so is no pass.
func (h *host) find(ctx context.Context, tenant, id string) (*runDoc, error) {
	log, err := h.log.Read(ctx, tenant, id, 0, 1)
	if err != nil {
		return nil, err
	}
	doc := &runDoc{}
	err = h.pass(ctx, tenant, "host-find", func(job *memory.Job) error {
		d, err := job.Document(ctx, "", runKind, id)
		if err != nil || d.Rev == 0 {
			return err
		}
		return json.Unmarshal(d.Value, doc)
	})
	if err != nil || doc.RunID != "" {
		return doc, err
	}
	if len(log) == 0 {
		return nil, errNoRun
	}
	at := log[0].Time
	return &runDoc{Run: wire.Run{RunID: id, WorkflowID: "host.sample.pass", Status: "completed", StartedAt: at, CompletedAt: at}}, nil
}

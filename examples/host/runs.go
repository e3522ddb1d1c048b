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
	// Start and End are tokens of the run's view, where a replay begins and ends, and Refs what it
	// read. No client is shown them.
	Start memory.Token `json:"startToken,omitempty"`
	End   memory.Token `json:"endToken,omitempty"`
	Refs  []string     `json:"refs,omitempty"`
	// Request is the digest of the request that began it.
	Request string `json:"request,omitempty"`
}

const runKind = "host/run"

// execution is a run under way.
type execution struct {
	*memory.Run
	host    *host
	tenant  string
	doc     *runDoc
	secrets map[string]string
	replay  bool
}

// name is the run's, and in a replay the recorded one's: what is made of it must be the same again.
func (x *execution) name() string {
	if x.replay {
		return x.doc.ParentRunID
	}
	return x.doc.RunID
}

// nodeID is the one node of the sample workflows.
const nodeID = "sample"

// beginning is what a run begins with. The id is made unless one is given.
type beginning struct {
	id, workflow string
	request      string // see runDoc
	inputs       map[string]any
	options      wire.RunOptions
	secrets      map[string]string // the run's own: kept nowhere, and gone when it ends (RFC 0229)
	memory       memory.RunConfig  // of a fork
	source       *runDoc           // of a fork
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
	vault, err := newVault(b.secrets)
	if err != nil {
		return nil, wire.Invalid("runSecrets", "a name or a value cannot be redacted")
	}
	b.memory.ID, b.memory.Tenant, b.memory.Redactor = b.id, tenant, vault
	run, err := h.bank.Start(ctx, b.memory)
	if err != nil {
		return nil, err
	}
	x := &execution{Run: run, host: h, tenant: tenant, secrets: b.secrets, replay: b.memory.Replay != nil, doc: &runDoc{Request: b.request, Run: wire.Run{
		RunID: b.id, WorkflowID: b.workflow, Status: "running", Inputs: b.inputs, RunOptions: b.options, StartedAt: h.bank.Now(),
		Agent: map[string]string{"agentId": assistant, "memoryRef": homeRef}, Variables: map[string]any{},
	}}}
	if b.source != nil {
		x.doc.ParentRunID, x.doc.Workspace = b.source.RunID, b.source.Workspace
	}
	if x.replay {
		x.doc.StartedAt = b.source.StartedAt // the workflow's own time
	}
	if err := h.save(ctx, tenant, x.doc, x.secrets); err != nil { // so that recover finds it
		if err = errors.Join(err, run.Abort(context.WithoutCancel(ctx))); errors.Is(err, memory.ErrConflict) {
			return h.find(ctx, tenant, b.id)
		}
		return nil, err
	}
	return x.doc, x.finish(context.WithoutCancel(ctx), x.work(ctx, work))
}

// work begins a run and does what it is for. A replay stands on the tokens of the recorded run and
// has none of its own.
func (x *execution) work(ctx context.Context, work func(context.Context, *execution) error) (err error) {
	if !x.replay {
		if x.doc.Start, err = x.Token(ctx); err != nil {
			return err
		}
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
	if err := x.Emit(ctx, event("run.started", map[string]any{"workflowId": x.doc.WorkflowID, "transport": "rest"})); err != nil {
		return err
	}
	if err := work(ctx, x); err != nil {
		return err
	}
	if !x.replay {
		x.doc.End, err = x.Token(ctx)
	}
	return err
}

// finish ends the run, whose terminal event is the last of its log, and keeps what it came to. A
// process that is killed between the two leaves the rest to recover.
func (x *execution) finish(ctx context.Context, failed error) error {
	end, last := x.End, event("run.completed", map[string]any{"outputs": map[string]any{}})
	x.doc.Status = "completed"
	if failed != nil {
		x.doc.Status, x.doc.Error = "failed", wire.FailureOf(failed)
		end, last = x.Abort, event("run.failed", map[string]any{"error": x.doc.Error})
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

package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// runDoc is what the host keeps of a run beside its events: host text of its tenant, redacted, since
// the variables hold what the run read. The events hold no word of it.
type runDoc struct {
	RunID      string             `json:"runId"`
	WorkflowID string             `json:"workflowId"`
	Status     string             `json:"status"` // running, completed or failed
	Agent      map[string]string  `json:"agent"`
	Variables  map[string]any     `json:"variables"`
	Workspace  workspace.Snapshot `json:"workspace"`
	Error      *wire.Envelope     `json:"error,omitempty"`
	StartedAt  time.Time          `json:"startedAt"`
	ForkOf     string             `json:"forkOf,omitempty"`
	// Start and End are tokens of the run's view, where a replay begins and ends, and Refs what it
	// read. No client is shown them.
	Start memory.Token `json:"startToken,omitempty"`
	End   memory.Token `json:"endToken,omitempty"`
	Refs  []string     `json:"refs,omitempty"`
}

const runKind = "host/run"

// execution is a run under way.
type execution struct {
	*memory.Run
	host   *host
	tenant string
	doc    *runDoc
	replay bool
}

// name is the run's, and in a replay the recorded one's: what is made of it must be the same again.
func (x *execution) name() string {
	if x.replay {
		return x.doc.ForkOf
	}
	return x.doc.RunID
}

// nodeID is the one node of the sample workflows.
const nodeID = "sample"

// start runs a workflow from its start to its terminal event. The run id is made unless one is given;
// a run that is there already is returned as it is.
func (h *host) start(ctx context.Context, tenant, id, workflowID string, cfg memory.RunConfig, source *runDoc) (*runDoc, error) {
	work, ok := workflows[workflowID]
	if !ok {
		return nil, wire.Invalid("workflowId", "there is no such workflow")
	}
	if id == "" {
		id = "run-" + rand.Text()
	} else if doc, err := h.find(ctx, tenant, id); err == nil {
		return doc, nil
	} else if !errors.Is(err, memory.ErrNotFound) {
		return nil, err
	}
	vault, err := secrets(tenant)
	if err != nil {
		return nil, err
	}
	cfg.ID, cfg.Tenant, cfg.Redactor = id, tenant, vault
	run, err := h.bank.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	x := &execution{Run: run, host: h, tenant: tenant, replay: cfg.Replay != nil, doc: &runDoc{
		RunID: id, WorkflowID: workflowID, Status: "running", StartedAt: h.bank.Now(),
		Agent: map[string]string{"agentId": "host.sample.assistant", "memoryRef": homeRef}, Variables: map[string]any{},
	}}
	if source != nil {
		x.doc.ForkOf, x.doc.Workspace = source.RunID, source.Workspace
	}
	if x.replay {
		x.doc.StartedAt = source.StartedAt // the workflow's own time
	}
	if err := h.save(ctx, tenant, x.doc); err != nil { // so that recover finds it
		return nil, errors.Join(err, run.Abort(context.WithoutCancel(ctx)))
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
	if x.doc.ForkOf == "" {
		err := x.host.pass(ctx, x.tenant, "host-snapshot-"+x.ID(), func(job *memory.Job) (err error) {
			x.doc.Workspace, err = x.host.files.Snapshot(ctx, job)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := x.Emit(ctx, event("run.started", map[string]any{"workflowId": x.doc.WorkflowID})); err != nil {
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
	end, last := x.End, event("run.completed", map[string]any{})
	x.doc.Status = "completed"
	if failed != nil {
		envelope, _ := x.host.wire.Envelope(failed)
		x.doc.Status, x.doc.Error = "failed", &envelope
		end, last = x.Abort, event("run.failed", map[string]any{"error": map[string]any{"code": envelope.Code}})
		x.host.logger.Warn("a run failed", "workflow", x.doc.WorkflowID, "code", memory.CodeOf(failed))
	}
	if err := end(ctx, last); err != nil {
		return err
	}
	return x.host.save(ctx, x.tenant, x.doc)
}

func event(t events.Type, payload map[string]any) events.Record {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(err) // plain values
	}
	return events.Record{Payload: events.HostPayload{Type: t, JSON: raw}}
}

// save keeps a run's document.
func (h *host) save(ctx context.Context, tenant string, doc *runDoc) error {
	value, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return h.pass(ctx, tenant, "host-save", func(job *memory.Job) error {
		d, err := job.Document(ctx, "", runKind, doc.RunID)
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

// recover ends the runs that a killed process left under way: each log gets its terminal event. It
// is for a host of one process, before it serves; several would each need to know its own runs.
func (h *host) recover(ctx context.Context) error {
	for tenant, err := range h.bank.Tenants(ctx) {
		if err != nil {
			return err
		}
		var left []*runDoc
		err := h.pass(ctx, tenant, "host-recover", func(job *memory.Job) error {
			for d, err := range job.Documents(ctx, "", driver.DocumentQuery{Kind: runKind}) {
				doc := &runDoc{}
				if err == nil {
					err = json.Unmarshal(d.Value, doc)
				}
				if err != nil {
					return err
				}
				if doc.Status == "running" {
					left = append(left, doc)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, doc := range left {
			doc.Status, doc.Error = "failed", &wire.Envelope{Code: memory.CodeInternal, Message: "the host was restarted"}
			all, err := h.recorded(ctx, tenant, doc.RunID)
			if err != nil {
				return err
			}
			if n := len(all); n > 0 && all[n-1].Payload.EventType() == "run.completed" {
				doc.Status, doc.Error = "completed", nil // it had come to its end, but for this document
			} else if err := h.interrupted(ctx, tenant, doc); err != nil {
				return err
			}
			if err := h.save(ctx, tenant, doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// interrupted gives the log of a run that a process was killed in its terminal event, under the
// same id each time, so that a second try adds nothing.
func (h *host) interrupted(ctx context.Context, tenant string, doc *runDoc) error {
	vault, err := secrets(tenant)
	if err != nil {
		return err
	}
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: doc.RunID, Tenant: tenant, Redactor: vault})
	if err != nil {
		return err
	}
	last := event("run.failed", map[string]any{"error": map[string]any{"code": memory.CodeInternal}})
	last.ID = "interrupted-" + doc.RunID
	return run.Abort(ctx, last)
}

// find returns a run of a tenant.
func (h *host) find(ctx context.Context, tenant, id string) (*runDoc, error) {
	doc := &runDoc{}
	err := h.pass(ctx, tenant, "host-find", func(job *memory.Job) error {
		d, err := job.Document(ctx, "", runKind, id)
		if err == nil && d.Rev == 0 {
			err = memory.ErrNotFound
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(d.Value, doc)
	})
	return doc, err
}

// recorded returns all events of a run.
func (h *host) recorded(ctx context.Context, tenant, id string) ([]events.RunEvent, error) {
	var all []events.RunEvent
	for {
		page, err := h.log.Read(ctx, tenant, id, int64(len(all)), 0)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}

// fork repeats a run (mode replay), which writes nothing and emits the recorded events of memory
// again, or starts another from where it started (mode branch).
func (h *host) fork(ctx context.Context, tenant, id string, fromSeq int64, mode string) (*runDoc, error) {
	source, err := h.find(ctx, tenant, id)
	if errors.Is(err, memory.ErrNotFound) {
		return nil, errNoRun
	}
	if err != nil {
		return nil, err
	}
	recorded, err := h.recorded(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if fromSeq < 0 || fromSeq > int64(len(recorded)) {
		return nil, &wire.Error{Kind: wire.CodeInvalidFromSeq, Message: "the run's log does not reach so far",
			Details: map[string]any{"fromSeq": fromSeq, "maxSeq": len(recorded) - 1}}
	}
	if source.Start == "" {
		return nil, wire.Invalid("runId", "this run was itself a replay: fork the run that it repeats")
	}
	reason, err := h.bank.Check(ctx, tenant, source.Start, source.Refs...)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		return nil, &wire.Error{Kind: memory.CodeSnapshotUnavailable, Message: "memory as the run saw it is no longer available",
			Details: map[string]any{"fromSeq": fromSeq, "sourceRunId": id, "reason": "retention_expired", "cause": reason}}
	}
	switch mode {
	case "replay":
		replay := &memory.Replay{Events: recorded, From: source.Start, To: source.End}
		return h.start(ctx, tenant, "", source.WorkflowID, memory.RunConfig{Replay: replay}, source)
	case "branch":
		return h.start(ctx, tenant, "", source.WorkflowID, memory.RunConfig{Resume: source.Start}, source)
	}
	return nil, wire.Invalid("mode", "the mode is neither replay nor branch")
}

// queue starts the runs of commitments. The run's id is made from the firing's key, so that the same
// firing is the same run however often it is tried.
type queue struct{ *host }

func (q queue) Enqueue(ctx context.Context, f commitment.Firing) (string, error) {
	sum := sha256.Sum256([]byte(f.Key))
	doc, err := q.start(ctx, f.Tenant, "run-"+hex.EncodeToString(sum[:16]), "host.sample.reminder", memory.RunConfig{}, nil)
	if err != nil {
		return "", err
	}
	return doc.RunID, nil
}

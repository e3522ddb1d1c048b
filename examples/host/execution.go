package main

import (
	"context"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// execution is a run under way.
type execution struct {
	*memory.Run
	host    *host
	tenant  string
	doc     *runDoc
	secrets map[string]string
	seq     int64        // how many events it has in its log
	shared  []part       // of a fork: what is left of its shared history
	resume  memory.Token // of a branch: memory behind that
}

// nodeID is the one node of the sample workflows.
const nodeID = "sample"

// open opens the run's handle on memory: as it was while a fork shares its history, from its fork point on
// behind that, and as it is for any other run.
func (x *execution) open(ctx context.Context) error {
	vault, err := newVault(x.secrets)
	if err != nil {
		return wire.Invalid("runSecrets", "a name or a value cannot be redacted")
	}
	config := memory.RunConfig{ID: x.doc.RunID, Tenant: x.tenant, Redactor: vault, Resume: x.resume}
	if x.replays() {
		p := x.shared[0]
		config.Resume, config.Replay = "", &memory.Replay{Events: p.events, From: p.from, To: p.to}
	}
	run, err := x.host.bank.Start(ctx, config)
	if err == nil {
		x.Run = run
	}
	return err
}

// replays reports whether the run is in the history that it shares.
func (x *execution) replays() bool { return len(x.shared) > 0 }

// emit puts an event of the host into the log, in a shared history as it was recorded.
func (x *execution) emit(ctx context.Context, rec events.Record) error {
	rec, err := x.asRecorded(rec)
	if err == nil {
		err = x.Emit(ctx, rec)
	}
	if err != nil {
		return err
	}
	return x.goOn(ctx)
}

// put writes an entry of the run's agent and announces it by memory.written (RFC 0057).
func (x *execution) put(ctx context.Context, ref string, d memory.Draft) (memory.Entry, error) {
	d.NodeID, d.AgentID = nodeID, assistant
	e, err := x.Put(ctx, ref, d)
	if err != nil {
		return e, err
	}
	return e, x.goOn(ctx)
}

// list reads a ref as the run sees it, and notes that it was read.
func (x *execution) list(ctx context.Context, ref string, o memory.ListOptions) ([]memory.Entry, error) {
	x.doc.Refs = append(x.doc.Refs, ref)
	return x.Memory().List(ctx, ref, o)
}

// asRecorded is the next event of a shared history in the envelope of this run, and outside of one the given
// event. One of another type was not recorded.
func (x *execution) asRecorded(rec events.Record) (events.Record, error) {
	if !x.replays() {
		return rec, nil
	}
	p := x.shared[0]
	if x.seq == p.end() {
		return rec, memory.ErrDiverged
	}
	next := p.events[x.seq-p.events[0].Sequence]
	if next.Payload.EventType() != rec.Payload.EventType() {
		return rec, memory.ErrDiverged
	}
	return events.Reemit([]events.RunEvent{next}, x.doc.RunID)[0], nil
}

// goOn counts an event. Behind the last of a part it opens the next one, or memory from the fork point on.
func (x *execution) goOn(ctx context.Context) error {
	x.seq++
	if x.replays() && x.seq == x.shared[0].end() && (len(x.shared) > 1 || x.resume != "") {
		done := x.Run
		x.shared = x.shared[1:]
		if err := x.open(ctx); err != nil {
			return err
		}
		if err := done.Abort(ctx); err != nil {
			return err
		}
	}
	return x.keepPoint(ctx)
}

// keepPoint keeps the run's fork point. Those of a shared history are there.
func (x *execution) keepPoint(ctx context.Context) error {
	if x.replays() {
		return nil
	}
	token, err := x.Token(ctx)
	if err != nil {
		return err
	}
	return x.host.keepPoint(ctx, x.tenant, x.doc.RunID, x.seq, token)
}

package main

import (
	"context"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

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
func (a *api) fork(ctx context.Context, tenant string, source *runDoc, fromSeq int64, mode string) (*runDoc, error) {
	recorded, err := a.recorded(ctx, tenant, source.RunID)
	if err != nil {
		return nil, err
	}
	if fromSeq > int64(len(recorded)) {
		return nil, &wire.Error{Kind: wire.CodeInvalidFromSeq, Message: "the run's log does not reach so far",
			Details: map[string]any{"fromSeq": fromSeq, "maxSeq": len(recorded) - 1}}
	}
	if source.Start == "" {
		return nil, wire.Invalid("runId", "this run has no view of its own: fork the run that it repeats")
	}
	reason, err := a.bank.CheckToken(ctx, tenant, source.Start, source.Refs...)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		return nil, &wire.Error{Kind: memory.CodeSnapshotUnavailable, Message: "memory as the run saw it is no longer available",
			Details: map[string]any{"fromSeq": fromSeq, "sourceRunId": a.RunID(tenant, source.RunID), "reason": "retention_expired", "cause": reason}}
	}
	b := beginning{workflow: source.WorkflowID, inputs: source.Inputs, options: source.RunOptions, source: source}
	if mode == "replay" {
		b.memory.Replay = &memory.Replay{Events: recorded, From: source.Start, To: source.End}
	} else {
		b.memory.Resume = source.Start
	}
	return a.start(ctx, tenant, b)
}

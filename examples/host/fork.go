package main

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// recorded returns all events of a run that the log still has.
func (h *host) recorded(ctx context.Context, tenant, id string) (all []events.RunEvent, err error) {
	for from := int64(0); ; from = all[len(all)-1].Sequence + 1 {
		page, err := h.log.Read(ctx, tenant, id, from, 0)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}

// isWhole reports whether a log has all of its first n events: the oldest are purged first.
func isWhole(log []events.RunEvent, n int64) bool {
	return int64(len(log)) >= n && (n == 0 || log[0].Sequence == 0)
}

// history is what a fork shares with another run: its log below the fork point.
type history struct {
	parts []part
	to    memory.Token // memory as the run saw it at the fork point
}

// part is the events that one run wrote, with its fork points before and behind them. A fork of a fork has
// one of each.
type part struct {
	events   []events.RunEvent
	from, to memory.Token
}

// end is the sequence of the first event that is not shared.
func (p part) end() int64 { return p.events[len(p.events)-1].Sequence + 1 }

// fork repeats a run (mode replay), or starts another that shares its events below fromSeq (mode branch). What is
// shared is read as it was and emitted again as it is recorded, and writes nothing.
func (a *api) fork(ctx context.Context, tenant string, source *runDoc, fromSeq int64, mode string) (*runDoc, error) {
	log, err := a.recorded(ctx, tenant, source.RunID)
	if err != nil {
		return nil, err
	}
	n, err := a.forkPoint(source, int64(len(log)), fromSeq, mode)
	if err != nil {
		return nil, err
	}
	shared, err := a.history(ctx, tenant, source, n)
	if err != nil {
		return nil, err
	}
	cause, err := a.unavailable(ctx, tenant, source, shared)
	if err != nil {
		return nil, err
	}
	if cause != "" {
		return nil, &wire.Error{
			Kind: memory.CodeSnapshotUnavailable, Message: "memory as the run saw it is no longer available",
			Details: map[string]any{
				"fromSeq": fromSeq, "sourceRunId": a.RunID(tenant, source.RunID), "reason": "retention_expired", "cause": cause,
			},
		}
	}
	b := beginning{workflow: source.WorkflowID, inputs: source.Inputs, options: source.RunOptions, source: source}
	b.shared = shared.parts
	if mode == "branch" {
		b.resume = shared.to
	}
	return a.start(ctx, tenant, b)
}

// forkPoint returns how many events a fork shares with a run that has length of them.
func (a *api) forkPoint(source *runDoc, length, fromSeq int64, mode string) (int64, error) {
	last := length // SEAM §10: version 1 may fork behind the last event
	if a.Version == wire.V2 {
		last--
	}
	switch {
	case fromSeq > last:
		return 0, &wire.Error{Kind: wire.CodeForkPointInvalid, Message: "the run's log does not reach so far",
			Details: map[string]any{"fromSeq": fromSeq, "maxSeq": length - 1}}
	case workflows[source.WorkflowID] == nil:
		return 0, wire.Invalid("runId", "this is a background pass, which has no view: fork a run")
	case mode == "branch":
		return fromSeq, nil
	case source.Status == "running":
		return 0, wire.Invalid("runId", "the run has not ended: replay it then, or branch from it")
	}
	return max(length, 1), nil // a replay repeats all; a log without an event was purged
}

// history returns a run's log below n, and none if events of it were purged. What the run shares itself is that of
// the run of which it is a fork.
func (h *host) history(ctx context.Context, tenant string, doc *runDoc, n int64) (shared history, err error) {
	if doc.Shared > 0 {
		parent, err := h.find(ctx, tenant, doc.ParentRunID)
		if err != nil {
			return history{}, err
		}
		shared, err = h.history(ctx, tenant, parent, min(n, doc.Shared))
		if err != nil || shared.to == "" || n <= doc.Shared {
			return shared, err
		}
	}
	log, err := h.recorded(ctx, tenant, doc.RunID)
	if err != nil || !isWhole(log, n) {
		return history{}, err
	}
	points, err := h.points(ctx, tenant, doc.RunID)
	if err != nil {
		return history{}, err
	}
	if n > 0 && isLast(log[n-1]) { // which has no point behind it, and changes no memory
		shared.to = points[n-1]
	} else {
		shared.to = points[n]
	}
	if n > doc.Shared {
		shared.parts = append(shared.parts, part{log[doc.Shared:n], points[doc.Shared], shared.to})
	}
	return shared, nil
}

// unavailable says why memory can no longer be read as it was in a history, by a word of Bank.CheckToken or by
// "missing": the process was killed before it kept the fork point, or events were purged. It is empty if memory can be
// read.
func (h *host) unavailable(ctx context.Context, tenant string, source *runDoc, shared history) (string, error) {
	refs, tokens := slices.Clone(source.Refs), []memory.Token{shared.to}
	for _, p := range shared.parts {
		tokens = append(tokens, p.from, p.to)
		for _, ev := range p.events {
			if written, ok := ev.Payload.(events.MemoryWritten); ok {
				refs = append(refs, written.MemoryRef)
			}
		}
	}
	slices.Sort(refs)
	refs = slices.Compact(refs)
	for _, token := range tokens {
		if token == "" {
			return "missing", nil
		}
		if cause, err := h.bank.CheckToken(ctx, tenant, token, refs...); cause != "" || err != nil {
			return cause, err
		}
	}
	return "", nil
}

// isLast reports whether an event is the terminal one of its run.
func isLast(ev events.RunEvent) bool {
	t := ev.Payload.EventType()
	return t == "run.completed" || t == "run.failed"
}

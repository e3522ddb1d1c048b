package memory

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/telemetry"
)

// Begin tells the bank's Tracer and Logger that an operation begins, and returns the context in
// which it goes on. It is for engines: each of their passes is an operation. The caller defers
// telemetry.Span.Done, and fills in counts.
func (b *Bank) Begin(ctx context.Context, op telemetry.Op) (context.Context, telemetry.Span) {
	return b.hooks.Begin(ctx, op)
}

// Begin is [Bank.Begin] for an engine that has a job only.
func (j *Job) Begin(ctx context.Context, op telemetry.Op) (context.Context, telemetry.Span) {
	return j.bank.Begin(ctx, op)
}

// finding is a read of any number of entries, as an operation.
func finding[T any](ctx context.Context, b *Bank, op telemetry.Op, find func(context.Context) ([]T, error)) (found []T, err error) {
	ctx, span := b.Begin(ctx, op)
	defer span.Done(&err)
	found, err = find(ctx)
	span.Counts[telemetry.Records] = len(found)
	return found, err
}

// getting is a read of one entry, as an operation.
func getting(ctx context.Context, b *Bank, get func(context.Context) (Entry, error)) (e Entry, err error) {
	ctx, span := b.Begin(ctx, telemetry.Get)
	defer span.Done(&err)
	if e, err = get(ctx); err == nil {
		span.Counts[telemetry.Records] = 1
	}
	return e, err
}

// countStored counts a draft that was stored as an entry.
func countStored(span *telemetry.Span, d *Draft, e *Entry) {
	span.Counts[telemetry.Records]++
	if !span.Told() {
		return
	}
	if e.Content != d.Content {
		span.Counts[telemetry.Redactions]++
	}
	for _, t := range d.Tags {
		if t != "" && !slices.Contains(e.Tags, t) {
			span.Counts[telemetry.Redactions]++
		}
	}
}

// count counts what was forgotten.
func (f *Forgotten) count(span *telemetry.Span) {
	span.Counts[telemetry.Erased] = len(f.Erased)
	span.Counts[telemetry.Restored] = len(f.Restored)
	span.Counts[telemetry.Rewritten] = len(f.Rewritten)
	span.Counts[telemetry.Lost] = len(f.Lost)
	span.Counts[telemetry.Documents] = f.Documents
	span.Counts[telemetry.Events] = f.Events
}

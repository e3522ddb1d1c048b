package memory

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/telemetry"
)

// begin tells the bank's Tracer and Logger that an operation begins.
func (b *Bank) begin(ctx context.Context, op telemetry.Op) (context.Context, telemetry.Span) {
	return b.hooks.Begin(ctx, op)
}

// Begin is [Engines.Begin] for an engine that has a job only.
func (j *Job) Begin(ctx context.Context, op telemetry.Op) (context.Context, telemetry.Span) {
	return j.bank.begin(ctx, op)
}

// traced returns a reader of which each read is an operation. Without a Tracer it is r.
func (b *Bank) traced(r Reader) Reader {
	if b.cfg.Tracer == nil {
		return r
	}
	return tracedReader{b, r}
}

// tracedReader tells the bank's Tracer of each read.
type tracedReader struct {
	bank   *Bank
	reader Reader
}

func (r tracedReader) List(ctx context.Context, ref string, o ListOptions) (found []Entry, err error) {
	ctx, span := r.bank.begin(ctx, telemetry.List)
	defer span.Done(&err)
	found, err = r.reader.List(ctx, ref, o)
	span.Add(telemetry.Records.Of(len(found)))
	return found, err
}

func (r tracedReader) Get(ctx context.Context, ref, id string) (e Entry, err error) {
	ctx, span := r.bank.begin(ctx, telemetry.Get)
	defer span.Done(&err)
	if e, err = r.reader.Get(ctx, ref, id); err == nil {
		span.Add(telemetry.Records.Of(1))
	}
	return e, err
}

// redactions is how many texts of a draft the entry that was stored of it has otherwise.
func redactions(d *Draft, e *Entry) (n int) {
	if e.Content != d.Content {
		n++
	}
	for _, t := range d.Tags {
		if t != "" && !slices.Contains(e.Tags, t) {
			n++
		}
	}
	return n
}

// count counts what was forgotten.
func (f *Forgotten) count(span *telemetry.Span) {
	span.Add(telemetry.Documents.Of(f.Documents), telemetry.Events.Of(f.Events), telemetry.Erased.Of(len(f.Erased)),
		telemetry.Restored.Of(len(f.Restored)), telemetry.Rewritten.Of(len(f.Rewritten)), telemetry.Lost.Of(len(f.Lost)))
}

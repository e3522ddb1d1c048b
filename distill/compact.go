package distill

import (
	"cmp"
	"context"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/telemetry"
)

// Compact condenses the sources into one entry of at most MaxOutputBytes and emits
// memory.compacted with it (RFC 0012). It takes the oldest MaxInputEntries of the
// sources; Result.Left tells how many are left for another pass. The entry carries
// the tag compacted-from:<run>, lists its sources, and lives until it is deleted
// unless Options.WithSources says otherwise. There is no archive and no budget.
//
// The summary consists of whole items. Where not even one fits, it is cut between
// runes and outside redaction markers.
//
// Errors are those of [Runner.Distill], but for a [*BudgetError].
func (r *Runner) Compact(ctx context.Context, job *memory.Job, ref string, o Options) (done Result, err error) {
	if job == nil {
		return Result{}, errJob
	}
	ctx, span := job.Begin(ctx, telemetry.Compact)
	defer span.Done(&err)
	defer done.count(&span)
	if err := o.check(); err != nil {
		return Result{}, err
	}
	return retryConflict(func() (Result, error) { return r.compact(ctx, job, ref, o) })
}

// compact is one attempt.
func (r *Runner) compact(ctx context.Context, job *memory.Job, ref string, o Options) (Result, error) {
	r, uncounted := r.checkTokenizer(ctx)
	in, err := r.gather(ctx, job, ref, o, r.cfg.MaxInputEntries, 0)
	if err != nil || len(in.sources) == 0 {
		return Result{}, err
	}
	items, fallback, err := r.summarize(ctx, job, in, 0)
	if err = cmp.Or(uncounted(), err); err != nil || len(items) == 0 {
		return Result{}, err
	}
	p := product{text: join(items), in: in, o: o}
	rw := p.rewrite()
	rw.Announce = func(stored []memory.Entry) []events.Record {
		return []events.Record{p.compacted(ref, stored[0], nil)}
	}
	made, err := job.Rewrite(ctx, ref, rw)
	if err != nil {
		return Result{}, err
	}
	return Result{Output: made.Entries[0], Fallback: fallback, Sources: len(in.sources), Left: in.left, Events: made.Events}, nil
}

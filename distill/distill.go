package distill

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/telemetry"
)

// Result tells what a pass did.
type Result struct {
	// Output is the new entry, or the one that was there; zero if there was nothing
	// to work on, and then nothing was written or announced.
	Output memory.Entry
	// Archive is the address of the archive, of a distillation.
	Archive Digest
	// Existing reports whether the archive was there already: an earlier pass, or one that
	// ran at the same time, had distilled the same sources under the same settings. Nothing
	// was summarized again then, and Archive is that pass's archive.
	Existing bool
	// Fallback tells that the host's summarizer did not keep to its limits.
	Fallback bool
	// Sources is how many entries were read, Left how many were not because of
	// MaxInputEntries.
	Sources, Left int
	// LeftOut are the ids of the sources that Options.Fit left out, newest first.
	LeftOut []string
	// Budget and TokensUsed are the account of a distillation.
	Budget, TokensUsed int
	// Events are what the pass announced: memory.written, where the bank has it,
	// workspace.updated if IndexUpdated, and memory.compacted.
	Events []events.Record
	// IndexUpdated tells that the pass gave the memory index a new line, as a distillation
	// does whose archive was not there.
	IndexUpdated bool
	// IndexErr says why the index could not be rendered for the host's Workspace, or not be
	// given to it. The pass is complete nevertheless, and the next one or [Runner.Reindex]
	// makes up for it.
	IndexErr error
}

// Distill condenses the sources into an archive under a token budget, and an entry
// that names it, in the steps of RFC 0062 §B:
//
//  1. it reads the live entries that the options take, at one version (D1);
//  2. input and output together stay within the budget, or it fails with a
//     [*BudgetError] and writes nothing;
//  3. the summarizer's items are redacted as derived text (R5, D4); a question that was
//     answered before is answered by the stored archive (D2), unless the redactor finds
//     something in it today: then it is erased and made anew;
//  4. the entry, whose content is the summary, its archive, the head of the index,
//     workspace.updated and memory.compacted commit together, if every source is still
//     live and no other pass answered the question first (D3).
//
// A crash leaves all of it or nothing. If the pass runs again under its job's id, and has
// nothing left to do, it announces nothing. Nothing is generated at replay: a pass takes a
// job, and a replay has none (E4).
//
// Errors: [*BudgetError]; [memory.ErrValidation] for options that make no sense;
// [memory.ErrConflict] if memory moved too often; [memory.ErrNotProvided] if the bank's
// store is not a Transactor; [ErrIndex]; what the summarizer, the store and the job
// return.
func (r *Runner) Distill(ctx context.Context, job *memory.Job, ref string, o Options) (done Result, err error) {
	if job == nil {
		return Result{}, errJob
	}
	ctx, span := job.Begin(ctx, telemetry.Distill)
	defer span.Done(&err)
	defer done.count(&span)
	if err := o.check(); err != nil {
		return Result{}, err
	}
	budget, err := r.budget(o)
	if err != nil {
		return Result{}, err
	}
	return retryConflict(func() (Result, error) { return r.distill(ctx, job, ref, o, budget) })
}

// count counts what a pass did.
func (r *Result) count(span *telemetry.Span) {
	span.Add(telemetry.Sources.Of(r.Sources))
	if r.Output.ID != "" && !r.Existing {
		span.Add(telemetry.Derived.Of(1))
	}
}

// retryConflict runs attempt until it ends without a conflict, at most eight times.
func retryConflict(attempt func() (Result, error)) (res Result, err error) {
	for range 8 {
		if res, err = attempt(); !errors.Is(err, memory.ErrConflict) {
			break
		}
	}
	return res, err
}

// distill is one attempt.
func (r *Runner) distill(ctx context.Context, job *memory.Job, ref string, o Options, budget int) (Result, error) {
	r, tokenizerErr := r.checkTokenizer(ctx)
	var a *answer
	in, err := r.gather(ctx, job, ref, o, 0, budget)
	if err == nil {
		a, err = r.answer(ctx, job, ref, in, budget)
	}
	if err = cmp.Or(tokenizerErr(), err); err != nil || a == nil {
		return Result{}, err
	}
	p := product{text: a.archive.Text(), in: in, o: o, answer: a, expires: r.retention.From(job.Now())}
	for i := range in.outputs {
		if out := &in.outputs[i].Entry; slices.Contains(a.doc.Of, out.ID) && out.Content == p.text {
			p.existing = out
		}
	}
	res := Result{
		Archive: a.address, Existing: a.doc.Rev != 0, Fallback: a.archive.Fallback, Sources: len(in.sources),
		LeftOut: in.leftOut,
		Budget:  budget, TokensUsed: a.archive.Tokens.used(),
	}
	if res.Output, res.Events, err = r.publish(ctx, job, ref, p); err != nil {
		return Result{}, err
	}
	res.IndexUpdated = p.existing == nil
	if r.cfg.Workspace != nil {
		_, res.IndexErr = r.Reindex(ctx, job)
	}
	return res, nil
}

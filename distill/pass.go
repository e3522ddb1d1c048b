package distill

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Result tells what a pass did.
type Result struct {
	// Output is the new entry, or the one that was there; zero if there was nothing
	// to work on, and then nothing was written or announced.
	Output memory.Entry
	// Archive is the address of the archive, of a distillation.
	Archive string
	// Existing reports whether the archive was there already: an earlier pass, or one that
	// ran at the same time, had distilled the same sources under the same settings. Nothing
	// was summarized again then, and Archive is that pass's archive.
	Existing bool
	// Fallback tells that nothing is left of the answer of the host's summarizer: it did not keep to its limits, or no
	// source says any line of it.
	Fallback bool
	// Refused is how many lines of that answer were left out, because their sources do not say them or because it is
	// not known on which day (C8). It is 0 for an archive that was there.
	Refused int
	// Sources is how many entries were read, Left how many were not because of
	// MaxInputEntries.
	Sources, Left int
	// Budget and TokensUsed are the account of a distillation.
	Budget, TokensUsed int
	// Events are what the pass announced: memory.written, where the bank has it,
	// workspace.updated if IndexUpdated, and memory.compacted.
	Events []events.Record
	// IndexUpdated tells that the pass gave the memory index a new line, as a distillation
	// does whose archive was not there.
	IndexUpdated bool
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
// store is not a Transactor; [ErrNewerFormat]; what the summarizer, the store and the job
// return.
func (r *Runner) Distill(ctx context.Context, job *memory.Job, ref string, o Options) (Result, error) {
	budget, err := r.budget(o)
	if err != nil {
		return Result{}, err
	}
	return r.run(ctx, telemetry.Distill, pass{job: job, ref: ref, o: o, budget: budget})
}

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
func (r *Runner) Compact(ctx context.Context, job *memory.Job, ref string, o Options) (Result, error) {
	return r.run(ctx, telemetry.Compact, pass{job: job, ref: ref, o: o})
}

// pass is one attempt of a distillation, or with a budget of 0 of a compaction.
type pass struct {
	Config // with the tokenizer of the attempt
	job    *memory.Job
	ref    string
	o      Options
	budget int
	input
}

// run attempts a pass until it ends without a conflict, at most eight times.
func (r *Runner) run(ctx context.Context, op telemetry.Op, p pass) (done Result, err error) {
	if p.job == nil {
		return Result{}, errJob
	}
	ctx, span := p.job.Begin(ctx, op)
	defer span.Done(&err)
	if err := p.o.check(); err != nil {
		return Result{}, err
	}
	for range 8 {
		attempt := p
		attempt.Config = r.cfg
		if done, err = attempt.do(ctx, r.retention); !errors.Is(err, memory.ErrConflict) {
			break
		}
	}
	span.Add(telemetry.Sources.Of(done.Sources), telemetry.Refused.Of(done.Refused))
	if done.Output.ID != "" && !done.Existing {
		span.Add(telemetry.Derived.Of(1))
	}
	return done, err
}

func (p *pass) do(ctx context.Context, keep retention) (Result, error) {
	within, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p.Tokenizer = guardedTokenizer{p.Tokenizer, within, fail}
	s, err := p.condense(ctx)
	if failed := context.Cause(within); failed != nil && ctx.Err() == nil {
		err = failed
	}
	if err != nil || s == nil {
		return Result{}, err
	}
	if s.archive != nil {
		s.expires = keep.From(p.job.Now())
	}
	return p.publish(ctx, s)
}

// summary is what a pass commits; of a compaction it is the text alone.
type summary struct {
	text     string
	fallback bool
	refused  int // lines of the summarizer
	expires  time.Time
	archive  *Archive
	address  string
	doc      driver.Document // holds the archive; Rev is 0 for a new one
	existing *memory.Entry   // the live entry that names the archive already
}

// condense reads the sources and summarizes them; nil if they say nothing.
func (p *pass) condense(ctx context.Context) (*summary, error) {
	if err := p.gather(ctx); err != nil || len(p.sources) == 0 {
		return nil, err
	}
	if p.budget > 0 {
		return p.answer(ctx)
	}
	made, err := p.summarize(ctx, 0)
	if err != nil || len(made.items) == 0 {
		return nil, err
	}
	return &summary{text: join(made.items), fallback: made.fallback, refused: made.refused}, nil
}

// publish commits the entry and its events, of a distillation with its archive and the head of the
// index, and retires the sources, all at once. It renders no index: the head counts one archive
// more, however many the others are.
func (p *pass) publish(ctx context.Context, s *summary) (Result, error) {
	done := Result{Fallback: s.fallback, Refused: s.refused, Sources: len(p.sources), Left: p.left, Archive: s.address}
	if s.archive != nil {
		done.Existing, done.Budget, done.TokensUsed = s.doc.Rev != 0, p.budget, s.archive.Tokens.used()
		done.IndexUpdated = s.existing == nil
	}
	rw := p.rewrite(s)
	if s.existing != nil && s.existing.RunID == p.job.ID() && len(rw.Retire) == 0 {
		done.Output = *s.existing // the pass is asked for again, and has its event
		return done, nil
	}
	for before := int64(-1); ; {
		var h head
		if done.IndexUpdated {
			var err error
			if h, err = readHead(ctx, p.job); err != nil {
				return Result{}, err
			}
			if h.doc.Rev == before {
				return Result{}, memory.ErrConflict // and not over the head: the pass begins anew
			}
			h, before = h.next(h.Archives+1), h.doc.Rev
			rw.Documents = func(stored []memory.Entry) []driver.DocumentSwap {
				return []driver.DocumentSwap{{Document: h.doc}, s.swap(stored[0].ID)}
			}
		}
		rw.Announce = func(stored []memory.Entry) (all []events.Record) {
			if done.IndexUpdated {
				all = append(all, h.announcement())
			}
			return append(all, p.compacted(s, s.output(stored), done.IndexUpdated))
		}
		made, err := p.job.Rewrite(ctx, p.ref, rw)
		// Another pass may have published meanwhile, on any ref. Then it is only the
		// head that has to be read again.
		if errors.Is(err, memory.ErrConflict) && done.IndexUpdated {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		done.Output, done.Events = s.output(made.Entries), made.Events
		return done, nil
	}
}

func (s *summary) output(stored []memory.Entry) memory.Entry {
	if s.existing != nil {
		return *s.existing
	}
	return stored[0]
}

// rewrite is what becomes of entries.
func (p *pass) rewrite(s *summary) memory.Rewrite {
	var rw memory.Rewrite
	ids, d := p.ids(), memory.Derived{Compacted: true, Draft: memory.Draft{Content: s.text, ExpiresAt: s.expires}}
	for _, e := range p.entries {
		if p.o.WithSources && !e.ExpiresAt.IsZero() && (d.ExpiresAt.IsZero() || e.ExpiresAt.Before(d.ExpiresAt)) {
			d.ExpiresAt = e.ExpiresAt
		}
		switch {
		case e.Compacted(): // outputs stay until they expire
		case p.o.Sources == RemoveSources:
			rw.Retire = append(rw.Retire, memory.Retire{ID: e.ID, State: memory.Deleted})
		case p.o.Sources == ExpireSources && s.existing != nil:
			rw.Retire = append(rw.Retire, memory.Retire{ID: e.ID, State: memory.Merged, For: s.existing.ID})
		case p.o.Sources == ExpireSources:
			d.Merges = append(d.Merges, e.ID)
		}
	}
	if s.existing != nil {
		rw.Expect = append(ids, s.existing.ID)
		return rw
	}
	d.Sources = ids
	if p.o.Tag != "" {
		d.Tags = []string{p.o.Tag}
	}
	if s.archive != nil {
		d.Archive = s.address
	}
	rw.Derive = []memory.Derived{d}
	return rw
}

// compacted is memory.compacted (RFC 0012 §B). The bank issues its id: a pass commits once, and
// another one, of the same job too, has an event of its own.
func (p *pass) compacted(s *summary, out memory.Entry, indexed bool) events.Record {
	ids := p.ids()
	payload := events.MemoryCompacted{
		MemoryRef: p.ref, OutputID: out.ID, SourceCount: int64(len(ids)), Trigger: p.o.Trigger, ByteSize: int64(len(out.Content)),
	}
	if s.archive != nil {
		payload.Distillation = &events.Distillation{
			TokenBudget: int64(p.budget), TokensUsed: int64(s.archive.Tokens.used()), IndexUpdated: &indexed,
		}
	}
	if len(ids) <= events.MaxListedSources {
		payload.SourceIDs = ids
	}
	return events.Record{Payload: payload}
}

// ids are the sources in the order of the archive.
func (p *pass) ids() []string {
	ids := make([]string, len(p.entries))
	for i := range p.entries {
		ids[i] = p.entries[i].ID
	}
	slices.Sort(ids)
	return ids
}

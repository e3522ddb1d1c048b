package consolidate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/telemetry"
)

// Planner decides what a pass does. [Rules] is the default; a host may bring its own,
// a model among them. It gets the entries of one scope that may be changed, newest
// first, and must not keep or change them. It is called outside any lock, with a
// deadline, and not at all for a corpus that the last pass left as it is (C2). What it
// returns is checked: a group that breaks a rule is refused, and the rest goes on. An
// error stops the pass before anything is written.
//
// A Planner must be safe for concurrent use if its [Consolidator] is used so.
type Planner interface {
	Plan(ctx context.Context, entries []memory.Entry) (Plan, error)
	// Version names the planner as it is now, with its model and its settings. While
	// it stays the same, an unchanged corpus is not planned again. It is called in place.
	Version() string
}

// ErrDiffer is what a [Merger] returns for entries that do not say the same. They all
// stay, and the pass goes on.
var ErrDiffer = errors.New("consolidate: the entries differ")

// Merger decides whether entries say the same, and in what words. Where [Rules] plan, it
// is asked about groups of two to [MaxCandidates] entries that [Similar] finds; a
// [Planner] of the host may propose others. It returns the text that is to take the place
// of all of them, which may be one of theirs, or [ErrDiffer]. Its answer is judged: it is
// redacted as derived text, and refused if a fact of an entry is missing or a new one is
// in it (C8). Another error stops the pass after the groups that are already done, and so
// do a panic, a call that outlives its deadline and an answer of more than a megabyte
// above what the entries hold.
//
// It is called outside any lock, in a goroutine of its own, and must be safe for
// concurrent use if its [Consolidator] is used so. It must not keep or change the entries.
type Merger interface {
	Merge(ctx context.Context, group []memory.Entry) (string, error)
	// Version is like that of a [Planner].
	Version() string
}

// Config sets up a [Consolidator]. The zero value is one that needs no model.
type Config struct {
	// Planner decides; nil means [Rules].
	Planner Planner
	// Merger decides about candidates. Without one, only what is equal in form is merged.
	Merger Merger
	// Score is the least score of the candidates that the Merger is asked about where
	// [Rules] plan, see [Similar]; 0 means [DefaultScore].
	Score float64
	// Trigger is how passes are started unless [Options] say otherwise, as the host
	// advertises it (RFC 0068 §A); empty means host-managed.
	Trigger events.ConsolidationTrigger
	// Timeout bounds each call of the Planner and the Merger; 0 means a minute.
	// A pass that died keeps others from its scope for twice as long.
	Timeout time.Duration
}

// Consolidator reconciles the long-term entries of a scope: merges those that say the
// same and supersedes stale ones (RFC 0068). It is safe for concurrent use.
type Consolidator struct{ cfg Config }

// New returns a consolidator. It fails with [memory.ErrValidation] for an unknown
// trigger, a negative duration, or a score that is not from 0 to 1.
func New(cfg Config) (*Consolidator, error) {
	cfg.Trigger = cmp.Or(cfg.Trigger, events.ConsolidationHostManaged)
	switch {
	case !validTrigger(cfg.Trigger):
		return nil, invalid("Config.Trigger is unknown: leave it empty for host-managed")
	case cfg.Timeout < 0:
		return nil, invalid("Config.Timeout is below zero: 0 means a minute")
	case !(cfg.Score >= 0 && cfg.Score <= 1):
		return nil, invalid("Config.Score is not from 0 to 1")
	}
	cfg.Planner = cmp.Or[Planner](cfg.Planner, Rules{})
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	return &Consolidator{cfg}, nil
}

// Trigger is how passes are started, as the host advertises it.
func (c *Consolidator) Trigger() events.ConsolidationTrigger { return c.cfg.Trigger }

func validTrigger(t events.ConsolidationTrigger) bool {
	return t == events.ConsolidationHostManaged || t == events.ConsolidationScheduled || t == events.ConsolidationOnDemand
}

// MaxMergedIDs is up to how many merged and superseded entries the event of a pass
// lists them; above, it leaves the list out (RFC 0068 §B).
const MaxMergedIDs = 256

// Options are for one pass. The zero value considers all live entries.
type Options struct {
	// Trigger is how this pass was started; empty means the consolidator's.
	Trigger events.ConsolidationTrigger
	// Tag, if set, narrows the corpus to the entries that carry it.
	Tag string
	// RedactorVersion names what the job's redactor knows, for example a digest of
	// the ids of its secrets. When it changes, an unchanged corpus is looked at again.
	RedactorVersion string
	// Progress, if set, is called in place between the steps of the pass, by the goroutine
	// that runs it.
	Progress func(Progress)
}

// Phase is a part of a pass.
type Phase string

// The phases of a pass, in their order.
const (
	Reading  Phase = "reading"  // Done counts entries; Total is not known
	Planning Phase = "planning" // Total are the entries to plan
	Applying Phase = "applying" // Done and Total count groups
)

// Progress tells how far a pass is.
type Progress struct {
	Phase       Phase
	Done, Total int
}

// Result tells what a pass did. After an error it tells what was done before.
type Result struct {
	// Pass is the job's id. [Consolidator.Undo] takes it.
	Pass string
	// InputCount and OutputCount are the entries before and after, as on the event.
	InputCount, OutputCount int
	// Merged and Superseded entries were retired; Derived ones were written.
	Merged, Superseded, Derived int
	// Unchanged tells that the corpus is as the last pass left it, so that nothing
	// was planned.
	Unchanged bool
	// Skipped groups had changed when they were to be committed. The next pass looks
	// at them again.
	Skipped int
	// Different groups were candidates of which the [Merger] said [ErrDiffer].
	Different int
	// Refused groups broke a rule. They stay as they are, and are not tried again
	// until something changes.
	Refused []Refusal
	// Events are what this call announced, in order: the memory.written of derived entries,
	// where the bank has them, and then the agent.memory.consolidated of the pass.
	Events []events.Record
}

// Refusal is a group that a planner or merger proposed and that broke a rule.
type Refusal struct {
	// IDs are the entries of the group, all of which stay.
	IDs []string
	// Reason names the rule.
	Reason string
}

// Plan says what [Consolidator.Run] would do, and writes nothing: the dry run. It calls the
// Planner whether or not the corpus has changed, and no Merger.
func (c *Consolidator) Plan(ctx context.Context, job *memory.Job, ref string, o Options) (Plan, error) {
	p, err := c.newPass(job, ref, o)
	if err != nil {
		return nil, err
	}
	view, _, err := job.View(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := p.readCorpus(ctx, view); err != nil {
		return nil, err
	}
	return p.plan(ctx)
}

// Run makes one pass over the long-term entries of a ref: it reads, plans, applies and
// announces (RFC 0068 §D). The job is the pass: its id names it, its redactor cleans
// what is written, and its tenant bounds what is read. To run again after an error,
// open a job of the same id: the pass goes on, and announces all that it has done as one.
// If the pass is over and the corpus as it left it, nothing is done or announced; else
// it is another pass, with an event of its own in the same run's log, and
// [Consolidator.Undo] of the id takes back both.
//
// While another pass holds the scope's lease it fails with [memory.ErrConflict], and so it
// does if another pass came first while it read. It returns the error of the context, of the
// store, or [memory.ErrInternal] for an error of the Planner or Merger; what was done before
// stays done and is complete, no event is emitted, and the scope's lease is given up as far as
// the store can be reached. Cancelling finishes the current group.
func (c *Consolidator) Run(ctx context.Context, job *memory.Job, ref string, o Options) (done Result, err error) {
	p, err := c.newPass(job, ref, o)
	if err != nil {
		return Result{}, err
	}
	ctx, span := job.Begin(ctx, telemetry.Consolidate)
	defer span.Done(&err)
	err = p.run(ctx)
	done = p.result
	span.Add(telemetry.Sources.Of(done.InputCount), telemetry.Merged.Of(done.Merged), telemetry.Superseded.Of(done.Superseded),
		telemetry.Derived.Of(done.Derived), telemetry.Refused.Of(len(done.Refused)), telemetry.Skipped.Of(done.Skipped))
	return done, err
}

// newPass checks what a pass is given.
func (c *Consolidator) newPass(job *memory.Job, ref string, o Options) (*pass, error) {
	if job == nil {
		return nil, invalid("the job is nil: open one by Bank.Background or Bank.Pass")
	}
	o.Trigger = cmp.Or(o.Trigger, c.cfg.Trigger)
	if !validTrigger(o.Trigger) {
		return nil, invalid("Options.Trigger is unknown: leave it empty for that of the Consolidator")
	}
	return &pass{Consolidator: c, job: job, ref: ref, o: o, result: Result{Pass: job.ID()}}, nil
}

// pkg begins the texts of this package's errors.
const pkg = "consolidate"

// ErrNewerFormat: a document of the ref was written by a newer version of this package. It is left
// as it is.
var ErrNewerFormat = internal("a document of the ref was written by a newer version of this package", nil)

func invalid(rule string) error { return memory.ErrValidation.In(pkg, rule, nil) }

func internal(detail string, cause error) error { return memory.ErrInternal.In(pkg, detail, cause) }

package commitment

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Inferrer finds intentions in entries, by a model or without one. It may return the
// arms of an entry in any order, several for one entry, and none for most. It says
// for each entry in which it sees an intention that it cannot read why not.
//
// It is called outside any lock, and must be safe for concurrent use. A call of Infer that takes
// longer than [InferTimeout] counts as failed.
type Inferrer interface {
	Infer(ctx context.Context, r Request) (Inference, error)
	// Version names the inferrer as it is now, with its model and its settings, in at most 256
	// bytes. While it stays the same, an entry is not asked about again. It is called in place.
	Version() string
}

// Request holds what an [Inferrer] reads.
type Request struct {
	// Entries are live entries of one ref, at most [RequestSize], redacted as memory
	// has them.
	Entries []memory.Entry
	// Now is the bank's time. Instants that are not after Now, or that lie further
	// ahead than Horizon, cannot be armed.
	Now     time.Time
	Horizon time.Duration
}

// RequestSize bounds the entries of a [Request].
const RequestSize = 100

// InferTimeout is the deadline of one call of an [Inferrer].
const InferTimeout = 2 * time.Minute

const theInferrer = "the inferrer"

// Inference is what an [Inferrer] found.
type Inference struct {
	Intents []Intent
	Unread  []Unread
}

// Intent is an entry with the arm that it asks for.
type Intent struct {
	MemoryID string
	Arm      Arm
}

// Unread names an entry in which an intention was seen but could not be armed.
type Unread struct {
	MemoryID string
	Why      Why
}

// Why says why an intention was not armed. It is one of a few fixed phrases; an
// [Inferrer] may have others, which must not quote the entry.
type Why string

// What [Tagged] and the engine say.
const (
	WhyBadTag    Why = "a tag that names no instant, such as due:2026-06-30T09:00Z with its zone, interval, schedule or predicate"
	WhyPast      Why = "the instant has passed"
	WhyHorizon   Why = "the instant lies beyond the horizon"
	WhyPredicate Why = "no such predicate is registered"
	WhyRefused   Why = "the arm was refused: it is not valid, or its every: is no duration such as 24h and Config.Schedule is nil"
	WhyUnknown   Why = "the entry was not asked about"
	WhyTooMany   Why = "more intentions than one entry may have"
)

// MaxArms bounds the commitments that [Engine.Infer] arms for one entry. The rest is
// reported as one [Unread] with [WhyTooMany].
const MaxArms = 32

// Inferred tells what an [Engine.Infer] did.
type Inferred struct {
	// Armed are the new commitments.
	Armed []Commitment
	// Known counts the intentions that had been armed before.
	Known int
	// Unread are the intentions that were seen and not armed, of the entries that were asked about.
	Unread []Unread
}

// readKind is the kind of the documents that tell what was read: one for an entry, under its id,
// which goes with the entry.
const readKind = "commitment-read"

// readMark is what such a document holds.
type readMark struct {
	// Version is that of the inferrer, or empty if the entry is to be read again.
	Version string `json:"version,omitzero"`
	// Arms counts the commitments that were armed for the entry.
	Arms int   `json:"arms,omitzero"`
	rev  int64 // of the document
}

func (m readMark) isDone(version string) bool {
	return m.rev != 0 && m.Version == version || m.Arms >= MaxArms
}

func (m readMark) document(s memory.Scope, entry string) driver.Document {
	text, _ := json.Marshal(m) // a string and a number, which never fails
	return driver.Document{Scope: s, Class: driver.Content, Kind: readKind, Key: entry, Value: text, Of: []string{entry}, Rev: m.rev}
}

func readMarkOf(d *driver.Document) readMark {
	m := readMark{rev: d.Rev}
	_ = json.Unmarshal(d.Value, &m) // what is no mark has no version: the entry is read again
	return m
}

// Infer asks the Inferrer about the live entries of a ref and arms what it finds for
// the job's tenant. It remembers with each entry that it was read, in the mutation that
// arms what was found, so that an entry is asked about once for each version of the
// Inferrer, and after a crash nothing is armed twice (K1). An entry of which an arm was
// refused because it lies beyond the horizon, or because its predicate is not registered, is
// asked about again by the next Infer. One entry gets at most [MaxArms] commitments, by all
// versions; in any state, they stay as they are, also what was given up, for which there
// is [Engine.Retry]. A ref that is not the tenant's is
// an empty one.
//
// For an entry that was merged from others, or has superseded one, Infer first looks for a commitment of
// theirs with the same arm, and lets the new one go on from there: with its marks, intervals and a
// firing under way or given up. One that has ended is Known, and nothing is armed.
//
// An arm that is refused is reported in Unread. Any other error ends the call, and
// leaves armed what it had armed.
func (e *Engine) Infer(ctx context.Context, j *memory.Job, ref string) (done Inferred, err error) {
	if j == nil {
		return Inferred{}, errJob
	}
	ctx, span := j.Begin(ctx, telemetry.Infer)
	defer span.Done(&err)
	defer func() {
		span.Add(telemetry.Armed.Of(len(done.Armed)), telemetry.Refused.Of(len(done.Unread)))
	}()
	in := inferring{Engine: e, job: j, ref: ref}
	in.version, err = hostcall.Inline(theInferrer, func() (string, error) { return e.cfg.Inferrer.Version(), nil })
	if err != nil {
		return in.done, hostcall.Failed(ctx, theInferrer, err, internal)
	}
	if in.version == "" || len(in.version) > maxSpecBytes {
		return in.done, invalid("Config.Inferrer has no Version, or one longer than 256 bytes")
	}
	if err := in.readMarks(ctx); err != nil {
		return in.done, err
	}
	var entries []memory.Entry
	for entry, err := range j.Scan(ctx, ref) {
		if err != nil {
			return in.done, err
		}
		if m := in.marks[entry.ID]; m.isDone(in.version) {
			in.done.Known += m.Arms
			continue
		}
		if entries = append(entries, entry); len(entries) == RequestSize {
			if err := in.infer(ctx, entries); err != nil {
				return in.done, err
			}
			entries = entries[:0]
		}
	}
	if len(entries) > 0 {
		err = in.infer(ctx, entries)
	}
	return in.done, err
}

// inferring is one [Engine.Infer].
type inferring struct {
	*Engine
	job     *memory.Job
	ref     string
	version string
	marks   map[string]readMark // by entry, at the beginning
	done    Inferred

	replaced map[string][]memory.Record // by the entry that replaced them
}

// readMarks reads which entries were read.
func (in *inferring) readMarks(ctx context.Context) error {
	in.marks = map[string]readMark{}
	for d, err := range in.job.Documents(ctx, in.ref, driver.DocumentQuery{Kind: readKind}) {
		if err != nil {
			return err
		}
		in.marks[d.Key] = readMarkOf(&d)
	}
	return nil
}

// infer calls the inferrer with some entries and arms what it finds.
func (in *inferring) infer(ctx context.Context, entries []memory.Entry) error {
	asked := Request{slices.Clone(entries), in.bank.Now(), in.cfg.Horizon}
	found, err := hostcall.Call(ctx, theInferrer, InferTimeout, func(ctx context.Context) (Inference, error) { return in.cfg.Inferrer.Infer(ctx, asked) })
	if err != nil {
		return hostcall.Failed(ctx, theInferrer, err, internal)
	}
	in.done.Unread = append(in.done.Unread, found.Unread...)
	arms := map[string][]Arm{}
	for _, i := range found.Intents {
		arms[i.MemoryID] = append(arms[i.MemoryID], i.Arm.normal())
	}
	kept := false
	err = in.lookBack(ctx, arms)
	for left := entries; len(left) > 0 && !kept && err == nil; {
		if kept, err = in.armEntries(ctx, left, arms); !kept && err == nil {
			left, err = in.unread(ctx, left)
		}
	}
	for _, entry := range entries {
		delete(arms, entry.ID)
	}
	for id := range arms {
		in.done.Unread = append(in.done.Unread, Unread{id, WhyUnknown})
	}
	return err
}

// unread returns those of the entries that have not ended and that no other process has read meanwhile.
func (in *inferring) unread(ctx context.Context, entries []memory.Entry) (left []memory.Entry, err error) {
	for _, entry := range entries {
		if _, err := in.job.Get(ctx, in.ref, entry.ID); errors.Is(err, memory.ErrNotFound) {
			continue
		} else if err != nil {
			return nil, err
		}
		d, err := in.job.Document(ctx, in.ref, readKind, entry.ID)
		if err != nil {
			return nil, err
		}
		m := readMarkOf(&d)
		if m.isDone(in.version) {
			in.done.Known += m.Arms
			continue
		}
		in.marks[entry.ID] = m
		left = append(left, entry)
	}
	return left, nil
}

// armEntries arms what was found in some entries and remembers that they were read, in one mutation.
// It reports false if another process was faster, or an entry has ended.
func (in *inferring) armEntries(ctx context.Context, entries []memory.Entry, arms map[string][]Arm) (bool, error) {
	var done Inferred
	var made, moved []Commitment
	var swaps []driver.DocumentSwap
	var ids []string
	for _, entry := range entries {
		m := in.marks[entry.ID]
		m.Version = in.version
		full, seen := false, map[string]bool{}
		for _, a := range arms[entry.ID] {
			c := in.commitment(in.job, Source{in.ref, entry.ID}, a)
			if seen[c.ID] {
				continue
			}
			seen[c.ID] = true
			known, err := in.load(ctx, c.Tenant, c.ID)
			if known.ID != "" { // also one that cannot be read
				done.Known++
				continue
			}
			if !errors.Is(err, memory.ErrNotFound) {
				return false, err
			}
			old, why, err := in.whyNotArmed(ctx, &c)
			switch {
			case errors.Is(err, ErrNewerFormat): // the processes of that version take care of it
				done.Known++
				m.Version = ""
			case err != nil:
				return false, err
			case why == "" && m.Arms >= MaxArms:
				full = true
			case why == "":
				m.Arms++
				made, moved = append(made, c), append(moved, old...)
			default:
				done.Unread = append(done.Unread, Unread{entry.ID, why})
				if why == WhyHorizon || why == WhyPredicate {
					m.Version = "" // this may pass
				}
			}
		}
		if full {
			done.Unread = append(done.Unread, Unread{entry.ID, WhyTooMany})
		}
		ids = append(ids, entry.ID)
		swaps = append(swaps, driver.DocumentSwap{Document: m.document(memory.Scope{Tenant: in.job.Tenant(), Ref: in.ref}, entry.ID)})
	}
	for _, c := range slices.Concat(made, moved) {
		swaps = append(swaps, driver.DocumentSwap{Document: c.document()})
	}
	stored, err := in.job.Rewrite(ctx, in.ref, memory.Rewrite{
		Expect: ids, Documents: func([]memory.Entry) []driver.DocumentSwap { return swaps },
	})
	if errors.Is(err, memory.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i, c := range made {
		c.Rev = stored.Revs[len(entries)+i]
		if c.State.Final() { // what it goes on for has ended
			in.done.Known++
		} else {
			in.done.Armed = append(in.done.Armed, c)
		}
	}
	in.done.Known += done.Known
	in.done.Unread = append(in.done.Unread, done.Unread...)
	return true, nil
}

// whyNotArmed returns why a commitment cannot be armed now. Otherwise it sets when it is due, or lets it go
// on for one of an entry that was replaced, which it returns as it is then.
func (in *inferring) whyNotArmed(ctx context.Context, c *Commitment) (replaced []Commitment, why Why, err error) {
	err = in.admit(ctx, in.job, Source{c.Ref, c.MemoryID}, c.Arm)
	if err == nil {
		replaced, err = in.takeOver(ctx, c)
	}
	if err == nil && replaced == nil {
		c.Due, err = in.nextOf(ctx, c.Arm, c.ArmedAt, c.ArmedAt, c.ArmedAt)
	}
	horizon := (*HorizonError)(nil)
	switch {
	case errors.As(err, &horizon):
		return nil, WhyHorizon, nil
	case errors.Is(err, errPast):
		return nil, WhyPast, nil
	case errors.Is(err, errPredicate):
		return nil, WhyPredicate, nil
	case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
		return nil, WhyRefused, nil
	}
	return replaced, "", err
}

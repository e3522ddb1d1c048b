package commitment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Inferrer finds intentions in entries, by a model or without one. It may return the
// arms of an entry in any order, several for one entry, and none for most. It says
// for each entry in which it sees an intention that it cannot read why not.
//
// It is called outside any lock, and must be safe for concurrent use.
type Inferrer interface {
	Infer(ctx context.Context, r Request) (Inference, error)
}

// Request is what an [Inferrer] looks at.
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

// What [Dates] and the engine say.
const (
	WhyNoDate     Why = "no date, interval or predicate that can be read"
	WhyAmbiguous  Why = "more than one reading"
	WhyUnclear    Why = "a word that can belong to a time was not read"
	WhyImpossible Why = "no such day or time of day"
	WhyZone       Why = "a time zone that cannot be read or is not that of the day"
	WhyNegated    Why = "negated, canceled or done"
	WhyReported   Why = "reported or quoted"
	WhySupposed   Why = "supposed, asked or conditional"
	WhyTold       Why = "a statement, of the past or of a state"
	WhyNoIntent   Why = "not in the form of an intention"
	WhyRelative   Why = "a relative date in an entry that was derived from others"
	WhyBadTag     Why = "a tag that names no instant, interval or predicate"
	WhyPast       Why = "the instant has passed"
	WhyHorizon    Why = "the instant lies beyond the horizon"
	WhyPredicate  Why = "no such predicate is registered"
	WhyRefused    Why = "the arm was refused"
	WhyUnknown    Why = "the entry was not asked about"
	WhyTooMany    Why = "more intentions than one entry may have"
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
	// Unread are the intentions that were seen and not armed.
	Unread []Unread
}

// Infer asks the Inferrer about the live entries of a ref and arms what it finds for
// the job's tenant. Doing it again arms nothing twice (K1): an entry whose intentions
// are all armed is not asked about again, so that a model's second opinion does not
// make a second commitment; whatever state they are in, they stay as they are. One entry
// gets at most [MaxArms] of them. A ref that is not the tenant's is an empty one.
//
// An arm that is refused is reported in Unread. Any other error ends the call, and
// leaves armed what it had armed.
func (e *Engine) Infer(ctx context.Context, j *memory.Job, ref string) (Inferred, error) {
	in := inferring{Engine: e, job: j, ref: ref, held: map[string][]string{}}
	settled := map[string]bool{} // entries of which all is armed
	for c, err := range e.Commitments(ctx, j.Tenant()) {
		if err != nil {
			return in.done, err
		}
		if c.Ref == ref {
			in.held[c.MemoryID] = append(in.held[c.MemoryID], c.ID)
			settled[c.MemoryID] = settled[c.MemoryID] || c.Complete || len(in.held[c.MemoryID]) >= MaxArms
		}
	}
	var entries []memory.Entry
	for entry, err := range j.Scan(ctx, ref) {
		if err != nil {
			return in.done, err
		}
		if settled[entry.ID] {
			in.done.Known++
			continue
		}
		if entries = append(entries, entry); len(entries) == RequestSize {
			if err := in.ask(ctx, entries); err != nil {
				return in.done, err
			}
			entries = entries[:0]
		}
	}
	if len(entries) == 0 {
		return in.done, nil
	}
	err := in.ask(ctx, entries)
	return in.done, err
}

// inferring is one [Engine.Infer].
type inferring struct {
	*Engine
	job  *memory.Job
	ref  string
	held map[string][]string // the commitments of an entry, at the beginning
	done Inferred
}

// ask asks about some entries.
func (in *inferring) ask(ctx context.Context, entries []memory.Entry) error {
	found, err := in.cfg.Inferrer.Infer(ctx, Request{slices.Clone(entries), in.bank.Now(), in.cfg.Horizon})
	if err != nil {
		return hostFailed("the inferrer failed", err)
	}
	in.done.Unread = append(in.done.Unread, found.Unread...)
	arms := map[string][]Arm{}
	for _, i := range found.Intents {
		arms[i.MemoryID] = append(arms[i.MemoryID], i.Arm)
	}
	for _, entry := range entries {
		if err := in.armAll(ctx, entry.ID, arms[entry.ID]); err != nil {
			return err
		}
		delete(arms, entry.ID)
	}
	for id := range arms {
		in.unread(id, WhyUnknown)
	}
	return nil
}

func (in *inferring) unread(id string, why Why) {
	in.done.Unread = append(in.done.Unread, Unread{id, why})
}

// armAll arms what was found in one entry, in the order of the commitments' ids. The last of
// all tells that the entry is complete, so that after a crash the entry is asked about
// again.
func (in *inferring) armAll(ctx context.Context, memoryID string, arms []Arm) error {
	arms, complete := in.bounded(memoryID, arms)
	for i, a := range arms {
		c, fresh, err := in.arm(ctx, in.job, Source{in.ref, memoryID}, a, complete && i == len(arms)-1)
		if why := whyNot(err); why != "" { // its instant passed meanwhile, say
			in.unread(memoryID, why)
			complete = false
			continue
		}
		if errors.Is(err, memory.ErrNotFound) {
			return nil // the entry ended meanwhile
		}
		if err != nil {
			return err
		}
		if fresh {
			in.done.Armed = append(in.done.Armed, c)
		} else {
			in.done.Known++
		}
	}
	return nil
}

// bounded returns the arms of an entry by the ids of their commitments: those that are
// held, and as many others that can be armed as [MaxArms] leaves room for. It reports
// false if some were refused.
func (in *inferring) bounded(memoryID string, arms []Arm) (kept []Arm, complete bool) {
	s := Source{in.ref, memoryID}
	id := func(a Arm) string { return ID(in.job.Tenant(), s.Ref, s.MemoryID, a) }
	byID := func(a, b Arm) int { return strings.Compare(id(a), id(b)) }
	slices.SortFunc(arms, byID)
	arms = slices.CompactFunc(arms, func(a, b Arm) bool { return byID(a, b) == 0 })
	held := in.held[memoryID]
	room, complete := MaxArms-len(held), true
	for _, a := range arms {
		if !slices.Contains(held, id(a)) {
			if why := whyNot(in.refusal(s, a)); why != "" {
				in.unread(memoryID, why)
				complete = false
				continue
			}
			if room--; room < 0 {
				continue
			}
		}
		kept = append(kept, a)
	}
	if room < 0 {
		in.unread(memoryID, WhyTooMany)
	}
	return kept, complete
}

// refusal is why an arm cannot be armed now.
func (in *inferring) refusal(s Source, a Arm) error {
	a = a.normal()
	err := in.admit(in.job, s, a)
	if err == nil {
		_, err = in.firstDue(a, in.bank.Now())
	}
	return err
}

// whyNot tells why an arm was refused, or "" for any other outcome.
func whyNot(err error) Why {
	horizon := (*HorizonError)(nil)
	switch {
	case errors.As(err, &horizon):
		return WhyHorizon
	case errors.Is(err, errPast):
		return WhyPast
	case errors.Is(err, errPredicate):
		return WhyPredicate
	case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
		return WhyRefused
	}
	return ""
}

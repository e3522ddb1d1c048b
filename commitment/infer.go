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
	WhyNoDate    Why = "no date, interval or predicate that can be read"
	WhyAmbiguous Why = "more than one reading"
	WhyRelative  Why = "a relative date in an entry that was derived from others"
	WhyBadTag    Why = "a tag that names no instant, interval or predicate"
	WhyPast      Why = "the instant has passed"
	WhyHorizon   Why = "the instant lies beyond the horizon"
	WhyPredicate Why = "no such predicate is registered"
	WhyRefused   Why = "the arm was refused"
	WhyUnknown   Why = "the entry was not asked about"
)

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
// make a second commitment; whatever state they are in, they stay as they are.
//
// An arm that is refused is reported in Unread. Any other error ends the call, and
// leaves armed what it had armed.
func (e *Engine) Infer(ctx context.Context, j *memory.Job, ref string) (Inferred, error) {
	var done Inferred
	armed := map[string]bool{} // entries that are complete
	for c, err := range e.cfg.Store.OfTenant(ctx, j.Tenant(), "") {
		if err != nil {
			return done, storeFailed(err)
		}
		if c.Ref == ref && c.Complete {
			armed[c.MemoryID] = true
			done.Known++
		}
	}
	var entries []memory.Entry
	for entry, err := range j.Scan(ctx, ref) {
		if err != nil {
			return done, err
		}
		if armed[entry.ID] {
			continue
		}
		if entries = append(entries, entry); len(entries) == RequestSize {
			if err := e.infer(ctx, j, ref, entries, &done); err != nil {
				return done, err
			}
			entries = entries[:0]
		}
	}
	if len(entries) == 0 {
		return done, nil
	}
	return done, e.infer(ctx, j, ref, entries, &done)
}

// infer asks about some entries.
func (e *Engine) infer(ctx context.Context, j *memory.Job, ref string, entries []memory.Entry, done *Inferred) error {
	found, err := e.cfg.Inferrer.Infer(ctx, Request{slices.Clone(entries), e.bank.Now(), e.cfg.Horizon})
	if err != nil {
		return hostFailed("the inferrer failed", err)
	}
	done.Unread = append(done.Unread, found.Unread...)
	arms := map[string][]Arm{}
	for _, i := range found.Intents {
		arms[i.MemoryID] = append(arms[i.MemoryID], i.Arm)
	}
	for _, entry := range entries {
		if err := e.armAll(ctx, j, Source{ref, entry.ID}, arms[entry.ID], done); err != nil {
			return err
		}
		delete(arms, entry.ID)
	}
	for id := range arms {
		done.Unread = append(done.Unread, Unread{id, WhyUnknown})
	}
	return nil
}

// armAll arms what was found in one entry. Those that can be armed come first and the
// last of all tells that the entry is complete, so that after a crash the entry is
// asked about again.
func (e *Engine) armAll(ctx context.Context, j *memory.Job, s Source, arms []Arm, done *Inferred) error {
	complete := true
	slices.SortFunc(arms, func(a, b Arm) int {
		return strings.Compare(ID(j.Tenant(), s.Ref, s.MemoryID, a), ID(j.Tenant(), s.Ref, s.MemoryID, b))
	})
	for i, a := range arms {
		c, fresh, err := e.arm(ctx, j, s, a, complete && i == len(arms)-1)
		if why := whyNot(err); why != "" {
			done.Unread = append(done.Unread, Unread{s.MemoryID, why})
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
			done.Armed = append(done.Armed, c)
		} else {
			done.Known++
		}
	}
	return nil
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

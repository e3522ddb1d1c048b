package conversation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// Answer is what a model said, perhaps of entries that it was shown.
type Answer struct {
	Bank *memory.Bank
	// Tenant and Redactor are those of the run.
	Tenant   string
	Redactor memory.Redactor
	Ref      string
	// Draft is to be written. If its Key is empty, the same content is written once for each run.
	Draft memory.Draft
	// Bridge begins keys and names of passes.
	Bridge string
	// HasRoom reports whether what is to be written is short enough.
	HasRoom func(content string) bool
	// Sources returns the entries that the model was shown. ok is false if one of them has ended.
	Sources func(context.Context) (found []memory.Entry, ok bool, err error)
}

const ended = "a source has ended"

// Remember writes an answer in a run, under the subjects of all its sources and with the expiry of the first that ends
// (M10). why says by a code why it was left out; an answer that was written before is no error. If a source is forgotten
// while the answer is written, the answer is erased again; a forgetting that begins later finds it by its subjects.
func (a Answer) Remember(ctx context.Context, run *memory.Run) (why string, err error) {
	d := a.Draft
	if strings.TrimSpace(d.Content) == "" {
		return "", nil
	}
	sources, ok, err := a.Sources(ctx)
	if err != nil || !ok {
		return ended, err
	}
	Inherit(&d, sources, a.Bank.Now())
	// What a model says may repeat what it was told of a secret, so it counts as derived text.
	if d.Content, err = a.Redactor.RedactDerived(d.Content); err != nil {
		if _, err := run.Memory().List(ctx, a.Ref, memory.ListOptions{Limit: 1}); errors.Is(err, memory.ErrEnded) {
			return "", err
		}
		return string(memory.CodeSecretLeakage), nil
	}
	if !a.HasRoom(d.Content) {
		return "too long", nil
	}
	if d.Key == "" {
		d.Key = a.Bridge + " answer " + Digest(run.ID(), d.Content)
	}
	e, err := run.Put(ctx, a.Ref, d)
	switch {
	case err == nil:
		return a.unlessEnded(context.WithoutCancel(ctx), run, e.ID)
	case errors.Is(err, memory.ErrDeleted), errors.Is(err, memory.ErrConflict):
		return "", nil // it was remembered before
	case errors.Is(err, memory.ErrValidation), errors.Is(err, memory.ErrSecretLeakage):
		return string(memory.CodeOf(err)), nil
	}
	return "", err
}

// unlessEnded erases an answer of which a source has ended between the look at the sources and the write.
func (a Answer) unlessEnded(ctx context.Context, run *memory.Run, id string) (why string, err error) {
	if _, ok, err := a.Sources(ctx); ok || err != nil {
		return "", err
	}
	// The run goes on with its redactor, which the end of a pass would close.
	pass := memory.JobConfig{ID: a.Bridge + "-answer-" + Digest(run.ID(), id), Tenant: a.Tenant, Redactor: struct{ memory.Redactor }{a.Redactor}}
	return ended, a.Bank.Pass(ctx, pass, func(j *memory.Job) error {
		_, err := j.Rewrite(ctx, a.Ref, memory.Rewrite{Erase: []string{id}})
		return err
	})
}

// Inherit gives a draft the subjects of its sources, and the end of the one that ends first.
func Inherit(d *memory.Draft, sources []memory.Entry, now time.Time) {
	d.Subjects = slices.Clone(d.Subjects)
	if d.TTL > 0 && d.ExpiresAt.IsZero() && len(sources) > 0 {
		d.ExpiresAt, d.TTL = now.Add(d.TTL), 0
	}
	for _, e := range sources {
		for _, subject := range e.Subjects {
			if !slices.Contains(d.Subjects, subject) {
				d.Subjects = append(d.Subjects, subject)
			}
		}
		if !e.ExpiresAt.IsZero() && (d.ExpiresAt.IsZero() || e.ExpiresAt.Before(d.ExpiresAt)) {
			d.ExpiresAt = e.ExpiresAt
		}
	}
	slices.Sort(d.Subjects)
}

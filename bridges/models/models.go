package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/openwop/agentmemory/memory"
)

// Config sets up Models.
type Config struct {
	// Model answers the prompts; nil is for a host that only embeds.
	Model Model
	// Vectors turns texts into vectors; nil is for a host without such a model.
	Vectors Vectors
	// Calls, if set, is told of every call, also of those that fail. It may be called by several
	// goroutines at once.
	Calls func(Call)
	// Prices of Model and of Vectors, by which Call.Cost is reckoned.
	Prices, VectorPrices Prices
	// Tries bounds the calls for one prompt; 0 is 4. Patience bounds how long all waits between
	// them take together; 0 is 30 seconds. A wait is half a second, then twice the one before,
	// and no shorter than the service asks for. A wait that would outlast Patience or the
	// context's deadline is not begun.
	Tries    int
	Patience time.Duration
}

// Prices are those of a million tokens, in the host's currency. Cached are tokens of the input
// that the service had in its cache.
type Prices struct{ Input, Cached, Output float64 }

func (p Prices) of(t Tokens) float64 {
	return (float64(t.Input-t.Cached)*p.Input + float64(t.Cached)*p.Cached + float64(t.Output)*p.Output) / 1e6
}

func (p Prices) valid() bool { return p.Input >= 0 && p.Cached >= 0 && p.Output >= 0 }

// Call tells what one call of a model was for, and what it took. It holds no text of a prompt or
// an answer.
type Call struct {
	Task  Task
	Model string
	// Try counts from 1.
	Try    int
	Tokens Tokens
	Cost   float64
	Took   time.Duration
	// Err is nil for an answer that was used.
	Err error
}

// Models makes the parts of the engines out of the host's models. It is safe for concurrent use.
type Models struct{ cfg Config }

// New returns Models. It fails with memory.ErrValidation for a model whose name is empty, longer
// than 128 bytes or not text, and for negative numbers.
func New(cfg Config) (*Models, error) {
	for _, name := range []string{nameOf(cfg.Model), nameOf(cfg.Vectors)} {
		if name == "" || len(name) > 128 || !utf8.ValidString(name) {
			return nil, invalid("a model's name must have 1 to 128 bytes of text")
		}
	}
	if cfg.Tries < 0 || cfg.Patience < 0 || !cfg.Prices.valid() || !cfg.VectorPrices.valid() {
		return nil, invalid("tries, patience and prices must not be negative")
	}
	if cfg.Tries == 0 {
		cfg.Tries = 4
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	return &Models{cfg}, nil
}

func nameOf(m interface{ Name() string }) string {
	if m == nil {
		return "none"
	}
	return m.Name()
}

type invalid string

func (e invalid) Error() string        { return "models: " + string(e) }
func (e invalid) Is(target error) bool { return target == memory.ErrValidation }

// firstWait is the wait after the first try.
const firstWait = 500 * time.Millisecond

// ask puts a prompt to the model and reads its answer into a struct, which complete then looks at.
func (m *Models) ask(ctx context.Context, p Prompt, into any, complete func() bool) error {
	if m.cfg.Model == nil {
		return invalid("there is no model")
	}
	return m.try(ctx, Call{Task: p.Task, Model: m.cfg.Model.Name()}, m.cfg.Prices, func() (Tokens, error) {
		answer, err := m.cfg.Model.Complete(ctx, p)
		if err == nil {
			err = read(answer.Text, into)
		}
		if err == nil && !complete() {
			err = unusable(nil)
		}
		return answer.Tokens, err
	})
}

// atOnce is how many prompts about one text each are answered at the same time.
const atOnce = 4

// each does something with each of n texts, with some of them at the same time, until one fails.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			if within.Err() != nil {
				return nil // the first one that failed counts
			}
			return do(within, i)
		})
	}
	err := group.Wait()
	return cmp.Or(ctx.Err(), err)
}

// read reads an answer strictly: one value of JSON, no fields that are not asked for.
func read(answer string, into any) error {
	if len(answer) > MaxAnswerBytes {
		return unusable(nil)
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return unusable(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return unusable(err)
	}
	return nil
}

// try makes calls until one succeeds or no other is worth it.
func (m *Models) try(ctx context.Context, c Call, prices Prices, call func() (Tokens, error)) error {
	wait, patience := firstWait, m.cfg.Patience
	for c.Try = 1; ; c.Try++ {
		begun := time.Now()
		var failed *Error
		c.Tokens, c.Err = recovering(call)
		if c.Err != nil && !errors.As(c.Err, &failed) {
			failed = &Error{Kind: CodeUnavailable, Err: c.Err}
		} else if c.Err != nil && failed == nil { // a nil *Error is an error as well, but has no methods that work
			failed = &Error{Kind: CodeUnavailable}
		}
		switch {
		case ctx.Err() != nil && failed != nil:
			c.Err = ctx.Err()
		case failed != nil:
			c.Err = failed
		}
		c.Tokens = c.Tokens.sane()
		c.Took, c.Cost = time.Since(begun), prices.of(c.Tokens)
		if m.cfg.Calls != nil {
			m.cfg.Calls(c)
		}
		if failed == nil || ctx.Err() != nil || !failed.Again || c.Try == m.cfg.Tries {
			return c.Err
		}
		pause := max(wait, failed.After)
		deadline, ok := ctx.Deadline()
		if pause > patience || ok && time.Until(deadline) <= pause {
			return c.Err
		}
		wait, patience = 2*wait, patience-pause
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// recovering makes a call, of which a panic is an error: it may run in a goroutine of ours.
func recovering(call func() (Tokens, error)) (t Tokens, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Kind: CodeUnavailable, Err: fmt.Errorf("panic: %v", r)}
		}
	}()
	return call()
}

type redactorKey struct{}

// WithRedactor returns a context for a pass of consolidation or commitments: what is asked within
// it is redacted first, as derived text. Give it the redactor of the job.
func WithRedactor(ctx context.Context, r memory.Redactor) context.Context {
	return context.WithValue(ctx, redactorKey{}, r)
}

// redacted returns texts as they may be shown to a model.
func redacted(ctx context.Context, texts []string) ([]string, error) {
	r, ok := ctx.Value(redactorKey{}).(memory.Redactor)
	if !ok || r == nil {
		return nil, &Error{Kind: CodeNoRedactor}
	}
	clean := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if clean[i], err = r.RedactDerived(text); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

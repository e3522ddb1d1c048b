package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// maxShown bounds what is listed one by one; the rest is counted.
const maxShown = 10

// load writes the notes into acme's memory, each at its own time, by a background
// pass: an import is no run.
func (h *host) load(ctx context.Context, notes io.Reader, name string) error {
	h.title("Reading " + name)
	h.now = time.Unix(0, 0) // the first note sets the clock
	job, err := h.background(acme, "import")
	if err != nil {
		return err
	}
	wall := time.Now()
	written, expiring := 0, 0
	var refused []badLine
	bad, err := readLines(notes, func(l line) error {
		if l.CreatedAt.IsZero() && written == 0 {
			h.now = wall
		}
		if l.CreatedAt.After(h.now) {
			h.now = l.CreatedAt
		}
		_, err := job.Put(ctx, acmeRef, memory.Draft{
			Content: l.Content, Tags: l.Tags, Subjects: l.Subjects, CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt,
		})
		if errors.Is(err, memory.ErrValidation) || errors.Is(err, memory.ErrSecretLeakage) {
			refused = append(refused, badLine{l.Number, err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		if written++; written%1000 == 0 {
			// A host has bank.Keep in a goroutine; here the clock is the notes' own.
			if _, err := h.bank.Maintain(ctx); err != nil {
				return err
			}
		}
		if !l.ExpiresAt.IsZero() {
			expiring++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := job.End(ctx); err != nil {
		return err
	}
	if written == 0 {
		h.now = wall
	}
	h.say("%d written to %s, %d of them with an expiry. Not read: %d. Refused by the bank: %d.",
		written, acmeRef, expiring, len(bad), len(refused))
	h.list("not read", bad)
	h.list("refused", refused)
	return nil
}

func (h *host) list(what string, bad []badLine) {
	for i, b := range bad {
		if i == maxShown {
			h.say("  … and %d more", len(bad)-maxShown)
			return
		}
		h.say("  %s: %v", what, b)
	}
}

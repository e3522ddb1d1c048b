package main

import (
	"context"
	"errors"
	"strings"

	"github.com/openwop/agentmemory/distill"
)

// summaryTokens is what the host allows the summary, beside what reading takes.
const summaryTokens = 1500

// distilling condenses the notes under a token budget, twice: the same notes give the
// same archive.
func (h *host) distilling(ctx context.Context) error {
	h.title("Distillation under a token budget")
	runner, err := distill.New(distill.Config{MaxTokenBudget: 10_000_000, ArchiveRetention: "P90D"})
	if err != nil {
		return err
	}
	h.wired.Distiller = runner
	pass := func(id string, budget int) (distill.Result, error) {
		job, err := h.background(acme, id)
		if err != nil {
			return distill.Result{}, err
		}
		res, err := runner.Distill(ctx, job, acmeRef, distill.Options{TokenBudget: budget})
		return res, errors.Join(err, job.End(ctx))
	}

	_, err = pass("dream-1", 1)
	var over *distill.BudgetError
	if !errors.As(err, &over) {
		if err == nil {
			h.say("There is nothing to distill.")
		}
		return err
	}
	h.say("A budget of %d is refused: %s, at least %d are required by %s.", over.Budget, over.Code(), over.MinimumRequired, runner.TokenizerName())

	first, err := pass("dream-2", over.MinimumRequired+summaryTokens)
	if err != nil {
		return err
	}
	items := strings.Split(first.Output.Content, "\n")
	h.say("%d notes in %d facts, with %d of %d tokens. The first of them:", first.Sources, len(items), first.TokensUsed, first.Budget)
	for _, item := range items[:min(3, len(items))] {
		h.say("  %s", short(item))
	}
	second, err := pass("dream-3", first.Budget)
	if err != nil {
		return err
	}
	h.say("%s", first.Archive)
	h.say("Once more over the same notes: the same address: %t, known already: %t.", second.Archive == first.Archive, second.Existing)

	run, err := start(ctx, h.bank, acme, "run-6", "")
	if err != nil {
		return err
	}
	job, err := h.background(acme, "session-6")
	if err != nil {
		return err
	}
	lines, err := runner.LoadIndex(ctx, job, run.Memory(), acmeRef)
	if err != nil {
		return err
	}
	h.say("The next session finds %d archive in %s.", len(lines), distill.IndexPath)
	return errors.Join(job.End(ctx), run.End(ctx))
}

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

func (s *story) merge(ctx context.Context) (err error) {
	if s.consolidator, err = consolidate.New(consolidate.Config{}); err != nil {
		return err
	}
	if s.distiller, err = distill.New(distill.Config{ArchiveRetention: "P90D"}); err != nil {
		return err
	}
	return s.host.pass(ctx, acme, func(job *memory.Job) error {
		if err := s.consolidate(ctx, job); err != nil {
			return err
		}
		return s.distill(ctx, job)
	})
}

// consolidate shows what a pass will do, and lets it.
func (s *story) consolidate(ctx context.Context, job *memory.Job) error {
	plan, err := s.consolidator.Plan(ctx, job, ref, consolidate.Options{})
	if err != nil {
		return err
	}
	for _, group := range plan[:min(2, len(plan))] {
		before, err := job.Live(ctx, ref, append(group.Retire, group.Keep))
		if err != nil {
			return err
		}
		for _, e := range before {
			s.row("before", "%s", quote(e.Content))
		}
		s.row("after", "%s", quote(before[len(before)-1].Content))
		s.row("", "because: %s", group.Reason)
	}
	done, err := s.consolidator.Run(ctx, job, ref, consolidate.Options{})
	if err != nil {
		return err
	}
	if done.Merged == 0 || done.Superseded == 0 {
		return errors.New("nothing was merged or replaced")
	}
	s.row("", "(the agent gave both the tag slot:kestrel/plan)")
	s.row("in all", "%d notes before, the two of screen 1 among them, and %d after", done.InputCount, done.OutputCount)
	return nil
}

// distill condenses the notes into one that a prompt can begin with.
func (s *story) distill(ctx context.Context, job *memory.Job) error {
	budget := distill.Options{TokenBudget: 300}
	done, err := s.distiller.Distill(ctx, job, ref, budget)
	if exceeded := (*distill.BudgetError)(nil); errors.As(err, &exceeded) { // your notes are more
		budget.TokenBudget = exceeded.MinimumRequired
		done, err = s.distiller.Distill(ctx, job, ref, budget)
	}
	if err != nil {
		return err
	}
	if done.TokensUsed > done.Budget {
		return errors.New("the summary is over the budget")
	}
	s.row("condensed", "%d notes into a summary of %d lines beside them, by picking lines; a model", done.Sources, strings.Count(done.Output.Content, "\n")+1)
	s.row("", "may write it. Reading and writing took %d of %d tokens", done.TokensUsed, done.Budget)
	return nil
}

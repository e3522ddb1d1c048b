package main

import (
	"context"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

func (h *host) consolidation(ctx context.Context) error {
	h.title("Consolidation")
	c, err := consolidate.New(consolidate.Config{Trigger: events.ConsolidationOnDemand})
	if err != nil {
		return err
	}
	h.wired.Consolidator = c
	dry, err := h.background(acme, "dry-run")
	if err != nil {
		return err
	}
	plan, err := c.Plan(ctx, dry, acmeRef, consolidate.Options{})
	if err != nil {
		return err
	}
	if err := dry.End(ctx); err != nil {
		return err
	}
	before, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return err
	}
	text := map[string]memory.Entry{}
	for _, e := range before {
		text[e.ID] = e
	}
	for _, g := range instructive(plan, text) {
		for _, id := range g.Retire {
			h.say("  - %s", short(text[id].Content))
		}
		sign := "="
		if g.Superseded {
			sign = ">"
		}
		h.say("  %s %s", sign, short(text[g.Keep].Content))
		h.say("      %s", g.Reason)
	}
	for _, id := range []string{"pass-1", "pass-2"} {
		job, err := h.background(acme, id)
		if err != nil {
			return err
		}
		done, err := c.Run(ctx, job, acmeRef, consolidate.Options{})
		if err != nil {
			return err
		}
		if err := job.End(ctx); err != nil {
			return err
		}
		h.say("%s: %d → %d notes, %d merged, %d superseded. Nothing to do: %t.",
			id, done.InputCount, done.OutputCount, done.Merged, done.Superseded, done.Unchanged)
	}
	return nil
}

// instructive picks up to three merges, of different texts rather than of equal ones, and the
// first supersession.
func instructive(plan consolidate.Plan, text map[string]memory.Entry) (picked consolidate.Plan) {
	var equal, superseded consolidate.Plan
	seen := map[string]bool{}
	for _, g := range plan {
		switch {
		case g.Superseded:
			superseded = append(superseded, g)
		case text[g.Retire[0]].Content != text[g.Keep].Content && !seen[g.Reason]:
			seen[g.Reason] = true
			picked = append(picked, g)
		default:
			equal = append(equal, g)
		}
	}
	picked = append(picked, equal...)
	return append(picked[:min(3, len(picked))], superseded[:min(1, len(superseded))]...)
}

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
	for _, m := range instructive(plan.Merge, text) {
		for _, id := range m.Retire {
			h.say("  - %s", short(text[id].Content))
		}
		h.say("  = %s", short(text[m.Keep].Content))
		h.say("      %s", m.Reason)
	}
	if len(plan.Supersede) > 0 {
		s := plan.Supersede[0]
		for _, id := range s.Retire {
			h.say("  - %s", short(text[id].Content))
		}
		h.say("  > %s", short(text[s.By].Content))
		h.say("      %s", s.Reason)
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

// instructive picks up to three merges, of different texts rather than of equal ones.
func instructive(all []consolidate.Merge, text map[string]memory.Entry) []consolidate.Merge {
	var picked, plain []consolidate.Merge
	seen := map[string]bool{}
	for _, m := range all {
		if text[m.Retire[0]].Content != text[m.Keep].Content && !seen[m.Reason] {
			seen[m.Reason] = true
			picked = append(picked, m)
		} else {
			plain = append(plain, m)
		}
	}
	picked = append(picked, plain...)
	return picked[:min(3, len(picked))]
}

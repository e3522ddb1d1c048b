package capability

import (
	"slices"

	"github.com/openwop/agentmemory/events"
)

func (g *grants) grantDistiller(changes []need) {
	const compaction, distillation = "memory/compaction", "memory/distillation"
	condenses := append(slices.Clip(changes), g.distiller)
	d := g.in.Distiller
	if d == nil {
		g.allow(compaction, nil, condenses...)
		g.allow(distillation, nil, condenses...)
		return
	}
	g.allow(compaction, object{"supported": true, "trigger": string(events.CompactionHostManaged)}, condenses...)

	name, budget, kept := d.TokenizerName(), d.MaxTokenBudget(), d.Retention()
	distils := append(condenses,
		need{name != "", "the distiller names no tokenizer"},
		need{budget > 0, "the distiller has no maximum budget"})
	detail := func(field string, value any, needs ...need) {
		g.allow(distillation+"/"+field, value, append(slices.Clip(distils), needs...)...)
	}
	g.allow(distillation, object{"supported": true, "tokenizerName": name, "maxTokenBudget": integer(budget)}, distils...)
	detail("indexEmitted", true, g.workspace, need{g.rendered, "no workspace renders the index"})
	detail("scheduled", true, need{g.in.ScheduledDistillation, "the host does not schedule the distiller"}, g.scheduling)
	detail("archiveRetention", kept, need{kept != "", "the distiller does not say how long it keeps an archive"})
}

func (g *grants) grantConsolidator(changes []need) {
	reconciles := append(slices.Clip(changes), g.durable, g.consolidator)
	c := g.in.Consolidator
	if c == nil {
		g.allow(consolidation, nil, reconciles...)
		return
	}
	trigger := c.Trigger()
	known := []events.ConsolidationTrigger{
		events.ConsolidationHostManaged, events.ConsolidationScheduled, events.ConsolidationOnDemand,
	}
	g.allow(consolidation, object{"supported": true, "schedule": string(trigger)}, append(reconciles,
		need{slices.Contains(known, trigger), "the consolidator has no trigger that the protocol knows"},
		need{trigger != events.ConsolidationScheduled || g.scheduling.met, "its passes are scheduled, and " + g.scheduling.missing})...)
}

func (g *grants) grantCommitments() {
	var conditions []events.Condition
	if c := g.in.Commitments; c != nil {
		has := c.Conditions()
		for _, known := range []events.Condition{events.ConditionTime, events.ConditionPredicate} {
			if slices.Contains(has, known) {
				conditions = append(conditions, known)
			}
		}
	}
	g.allow(commitments, object{"supported": true, "fireConditions": list(conditions...)}, g.memory, g.commitments,
		need{len(conditions) > 0, "the commitment engine knows no condition"})
}

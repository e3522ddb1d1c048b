package distill

import (
	"cmp"
	"encoding/json"
	"math"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Policy says what becomes of the sources when the new entry commits. Earlier
// outputs are left as they are under every policy: the protocol has them readable
// until they expire (RFC 0012 §B).
type Policy uint8

// The policies.
const (
	// KeepSources leaves the sources live.
	KeepSources Policy = iota
	// ExpireSources ends the sources' life in favour of the new entry. Views that
	// are open keep them, lineage leads from them to the new entry, and forgetting
	// that one brings back what is not to be forgotten (M10).
	ExpireSources
	// RemoveSources deletes the sources. Nothing brings them back: when one subject of the
	// new entry is forgotten, what it said of all others is lost too.
	RemoveSources
)

// BudgetKey is the reserved key of a run's options (RFC 0062 §B).
const BudgetKey = "distillation.tokenBudget"

// Options are those of one pass. The zero value distills every live entry of the
// ref that is no earlier output, and keeps the sources.
type Options struct {
	// Tag keeps sources that carry it; the new entry then carries it too. Empty
	// keeps all.
	Tag string
	// Select keeps sources for which it is true; nil keeps all. It must depend on
	// the entry alone. It is called in place for every entry, so it must return promptly.
	Select func(memory.Entry) bool
	// Sources is what becomes of them.
	Sources Policy
	// Recursive takes in the outputs of earlier passes, which otherwise are never
	// sources (D4). An output that was itself made from outputs is left out as long
	// as all of its sources are there.
	Recursive bool
	// WithSources ends the new entry's life with the first of its sources to
	// expire, if that is before the retention does (D5).
	WithSources bool
	// Trigger is on the event; empty is host-managed, which is also what a scheduled
	// pass is.
	Trigger events.CompactionTrigger

	// TokenBudget bounds input and output together; 0 looks into Configurable. A
	// budget above the runner's maximum is that maximum (RFC 0062 §B step 2).
	TokenBudget int
	// Configurable are a run's options, of which [BudgetKey] is read. Without it the
	// budget is the maximum.
	Configurable map[string]any
}

func (o *Options) check() error {
	if o.Sources > RemoveSources {
		return invalid("Options.Sources is no Policy")
	}
	if o.TokenBudget < 0 {
		return invalid("Options.TokenBudget is below 0: 0 looks into Options.Configurable")
	}
	o.Trigger = cmp.Or(o.Trigger, events.CompactionHostManaged)
	return nil
}

// budget is the one in force.
func (r *Runner) budget(o Options) (int, error) {
	asked := o.TokenBudget
	if asked == 0 {
		value, given := o.Configurable[BudgetKey]
		if !given || value == nil {
			return r.cfg.MaxTokenBudget, nil
		}
		data, err := json.Marshal(value) // a number of any type
		var n float64
		if err != nil || json.Unmarshal(data, &n) != nil || n != math.Trunc(n) || n < 1 {
			return 0, invalid("Options.Configurable: " + BudgetKey + " is not an integer above 0")
		}
		asked = int(min(n, float64(r.cfg.MaxTokenBudget)))
	}
	return min(asked, r.cfg.MaxTokenBudget), nil
}

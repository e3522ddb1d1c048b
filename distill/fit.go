package distill

import (
	"context"
	"errors"
	"math"

	"github.com/openwop/agentmemory/memory"
)

// fit keeps those of the sources, and of their entries, that leave room in the budget for a
// summary of them: at most three quarters of it, or else a single one that needs more.
func (r *Runner) fit(ctx context.Context, job *memory.Job, in *input, picked []memory.Entry, budget int) ([]memory.Entry, error) {
	req := r.request(ctx, job, in, 0)
	candidates := make([]candidate, len(in.sources))
	for i, s := range in.sources {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		candidates[i] = candidate{s.Text, s.Weight, req.Count(s.Text)}
	}
	chosen := make([]bool, len(candidates))
	required := math.MaxInt // of the source that needs least
	for _, limit := range []int{budget - budget/4, budget} {
		used, least := 0, math.MaxInt/2 // least is the smallest fact of those that are chosen
		var failed error
		err := choose(ctx, candidates, func(i int) (taken, more bool) {
			cost := candidates[i].cost
			if used > 0 && used+cost > limit {
				return false, true
			}
			if used+cost+least > budget {
				one := req
				one.Sources = in.sources[i : i+1]
				fact, err := minimum(ctx, one)
				if failed = err; err != nil {
					return false, false
				}
				if fact == 0 {
					return false, true // it says nothing
				}
				required = min(required, cost+fact)
				if cost > limit || used+cost+min(least, fact) > budget {
					return false, true
				}
				least = min(least, fact)
			}
			used += cost
			chosen[i] = true
			return true, limit < budget
		})
		if failed != nil || err != nil {
			return nil, errors.Join(failed, err)
		}
		if used > 0 {
			break
		}
	}
	var sources []Source
	var entries []memory.Entry
	for i, s := range in.sources {
		if chosen[i] {
			sources, entries = append(sources, s), append(entries, picked[i])
		} else {
			in.leftOut = append(in.leftOut, s.ID)
		}
	}
	if len(sources) == 0 && required < math.MaxInt {
		return nil, &BudgetError{Budget: budget, MinimumRequired: required}
	}
	in.sources = sources
	return entries, nil
}

package commitment

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/openwop/agentmemory/memory"
)

// Export yields the commitments of the job's tenant as [Engine.Restore] takes them: all that
// [Engine.Commitments] yields, and then those that [Engine.Infer] would make for entries that have
// replaced others and were not read since, as far as it needs no Inferrer. Those are in no store:
// Export changes nothing. It stops after an error.
func (e *Engine) Export(ctx context.Context, j *memory.Job) iter.Seq2[Commitment, error] {
	return func(yield func(Commitment, error) bool) {
		if j == nil {
			yield(Commitment{}, errJob)
			return
		}
		known := map[string]bool{}            // by id
		arms := map[string]map[string][]Arm{} // by ref and entry
		for c, err := range e.Commitments(ctx, j.Tenant()) {
			if !yield(c, err) || err != nil {
				return
			}
			known[c.ID] = true
			if c.MemoryID != "" {
				if arms[c.Ref] == nil {
					arms[c.Ref] = map[string][]Arm{}
				}
				arms[c.Ref][c.MemoryID] = append(arms[c.Ref][c.MemoryID], c.Arm)
			}
		}
		for ref, of := range arms {
			for entries := range slices.Chunk(slices.Sorted(maps.Keys(of)), sweepPageSize) {
				moving, err := e.moving(ctx, j, ref, entries, of)
				if err != nil {
					yield(Commitment{}, err)
					return
				}
				for _, c := range moving {
					if known[c.ID] {
						continue
					}
					if known[c.ID] = true; !yield(c, nil) {
						return
					}
				}
			}
		}
	}
}

// moving returns what those of some entries of a ref that were replaced leave to the ones in their place.
func (e *Engine) moving(ctx context.Context, j *memory.Job, ref string, entries []string, arms map[string][]Arm) (
	moving []Commitment, err error) {
	outcomes, err := e.bank.Lineage(ctx, j.Tenant(), ref, entries...)
	if err != nil {
		return nil, err
	}
	heads, left := map[string]memory.Entry{}, map[string][]Arm{} // by the entry in their place
	for id, o := range outcomes {
		if o.State == memory.Merged || o.State == memory.Superseded {
			heads[o.Head.ID] = o.Head
			left[o.Head.ID] = append(left[o.Head.ID], arms[id]...)
		}
	}
	if len(heads) == 0 {
		return nil, nil
	}
	in := inferring{Engine: e, job: j, ref: ref}
	if err := in.readMarks(ctx); err != nil {
		return nil, err
	}
	if err := in.lookBack(ctx, left); err != nil {
		return nil, err
	}
	for id, head := range heads {
		for _, arm := range left[id] {
			old, why, err := in.predecessor(ctx, &Commitment{Tenant: j.Tenant(), Ref: ref, MemoryID: id, Arm: arm})
			if err != nil {
				return nil, err
			}
			c := old.movedTo(id, e.bank.Now())
			ended := c.State == Acknowledged || c.State == Lapsed // and fires for no entry any more
			if old.ID != "" && (ended || why == ReasonMerged || declares(&head, &c)) {
				moving = append(moving, c)
			}
		}
	}
	return moving, nil
}

package crashload

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/commitment"
)

// checkCommitments compares the commitments with the swaps that were acknowledged and
// the runs that were started, and returns the events that their firings must have.
func (v *verifier) checkCommitments(ctx context.Context) ([]expected, error) {
	kept := map[place]commitment.Commitment{}
	for _, tenant := range tenants {
		for c, err := range v.stores.Commitments.OfTenant(ctx, tenant, "") {
			if err != nil {
				return nil, err
			}
			kept[place{tenant, c.ID}] = c
		}
	}
	last := v.checkSwaps(kept)
	if err := v.checkDue(ctx, kept, last); err != nil {
		return nil, err
	}
	for _, op := range v.ops {
		if op.What == arm && op.outcome == done {
			if _, there := kept[place{op.Tenant, op.out.IDs[0]}]; !there {
				v.wrong(op, "its acknowledged commitment is not there")
			}
		}
	}
	var events []expected
	v.checkRuns()
	for at, starts := range v.starts {
		c, there := kept[at]
		op := last[at]
		if !there || op == nil {
			v.astray("a run was started for a commitment that is not there")
			continue
		}
		events = append(events, v.checkFirings(op, &c, starts)...)
	}
	return events, nil
}

// checkSwaps looks for lost swaps, and for two that won the same revision. It returns
// the newest swap of each commitment.
func (v *verifier) checkSwaps(kept map[place]commitment.Commitment) map[place]*operation {
	type revision struct {
		place
		from int64
	}
	last, winners := map[place]*operation{}, map[revision]*operation{}
	for _, op := range v.swapped {
		at := place{op.Tenant, op.IDs[0]}
		if first := winners[revision{at, op.From}]; first != nil {
			v.wrong(op, "it won the revision that operation %d had won: claimed twice", first.N)
		}
		winners[revision{at, op.From}] = op
		if last[at] == nil || last[at].Rev < op.Rev {
			last[at] = op
		}
	}
	for at, op := range last {
		c, there := kept[at]
		switch {
		case !there:
			v.wrong(op, "its commitment is not there")
		case c.Rev < op.Rev:
			v.wrong(op, "an acknowledged swap of its commitment is lost")
		case c.Rev == op.Rev && sumOfCommitment(c) != op.Sum:
			v.wrong(op, "its commitment is not what was swapped in")
		}
	}
	return last
}

// checkDue looks whether what waits for an instant will be found when it comes.
func (v *verifier) checkDue(ctx context.Context, kept map[place]commitment.Commitment, last map[place]*operation) error {
	const farAhead = 1000 * 24 * time.Hour
	list, err := v.stores.Commitments.Due(ctx, v.bank.Now().Add(farAhead), math.MaxInt32)
	if err != nil {
		return err
	}
	due := map[place]time.Time{}
	for _, c := range list {
		due[place{c.Tenant, c.ID}] = c.Due
	}
	for at, c := range kept {
		op := last[at]
		if op == nil {
			continue // armed by a swap of which nobody knows
		}
		waits := !c.State.Final() && (c.Arm.Predicate == "" || c.State != commitment.Armed)
		if waits && (c.Due.IsZero() || !due[at].Equal(c.Due)) {
			v.wrong(op, "its commitment waits and never falls due")
		}
	}
	return nil
}

// checkRuns looks for keys with two runs and runs with two keys.
func (v *verifier) checkRuns() {
	runs, keys := map[string]string{}, map[string]string{}
	for _, starts := range v.starts {
		for _, s := range starts {
			if run, known := runs[s.Key]; known && run != s.Run {
				v.astray("a firing has two runs")
			}
			if key, known := keys[s.Run]; known && key != s.Key {
				v.astray("a run has two firings")
			}
			runs[s.Key], keys[s.Run] = s.Run, s.Key
		}
	}
	v.report.Firings = len(runs)
}

// checkFirings compares a commitment with the runs that were started for it.
func (v *verifier) checkFirings(op *operation, c *commitment.Commitment, starts []start) []expected {
	keys, fences := map[string]bool{}, map[int64]bool{}
	for _, s := range starts {
		keys[s.Key] = true
		if fences[s.Fence] {
			v.wrong(op, "its commitment was claimed twice under one fence")
		}
		fences[s.Fence] = true
		if s.Fence > c.Fence {
			v.wrong(op, "its commitment has forgotten a claim under which a run was started")
		}
	}
	if underWay := c.State == commitment.Claimed || c.State == commitment.Delivered; underWay {
		delete(keys, c.Key()) // its event may not be there yet
	}
	if c.Fired != len(keys) {
		v.wrong(op, "its commitment counts %d firings, and %d were started", c.Fired, len(keys))
	}
	if c.Arm.Every == 0 && c.Arm.Predicate == "" && len(keys) > 1 {
		v.wrong(op, "its commitment fired %d times for one instant", len(keys))
	}
	var all []expected
	for key := range keys {
		if !onGrid(c, key) {
			v.wrong(op, "its commitment fired for an instant that is none of its own")
		}
		all = append(all, expected{op, runKey{c.Tenant, c.ID}, func(d *delivered) bool { return d.ID == key }})
	}
	return all
}

// onGrid reports whether a key is of an instant for which the commitment may fire.
func onGrid(c *commitment.Commitment, key string) bool {
	_, after, byTime := strings.Cut(key, "@")
	ms, err := strconv.ParseInt(after, 10, 64)
	switch {
	case !byTime:
		return c.Arm.Predicate != ""
	case err != nil:
		return false
	case c.Arm.Every == 0:
		return ms == c.Arm.At.UnixMilli()
	}
	return (ms-c.ArmedAt.UnixMilli())%c.Arm.Every.Milliseconds() == 0
}

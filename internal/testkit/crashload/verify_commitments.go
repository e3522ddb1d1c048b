package crashload

import (
	"context"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// commitmentKind are the documents of commitments, as package commitment declares them.
const commitmentKind = "commitment"

// checkCommitments compares the commitments with the runs that were started. What
// their firings announce is in the mutations.
func (v *verifier) checkCommitments(ctx context.Context) error {
	kept := map[place]*commitment.Commitment{}
	for _, tenant := range tenants {
		for c, err := range v.commitments.Commitments(ctx, tenant) {
			if err != nil && c.ID == "" {
				return err
			}
			op := v.writerOf(c)
			if op == nil {
				continue // of no operation, which was reported
			}
			kept[place{tenant, c.ID}] = &c
			waits := !c.State.Final() && (c.Arm.Predicate == "" || c.State != commitment.Armed)
			switch {
			case err != nil:
				v.wrong(op, "its commitment cannot be read")
			case waits && c.Due.IsZero():
				v.wrong(op, "its commitment waits and never falls due")
			}
		}
	}
	v.checkRuns()
	for at, starts := range v.starts {
		if c := kept[at]; c != nil {
			v.checkFirings(v.writerOf(*c), c, starts)
		} else {
			v.astray("a run was started for a commitment that is not there")
		}
	}
	return nil
}

// writerOf returns the last operation that meant to write a commitment, or nil.
func (v *verifier) writerOf(c commitment.Commitment) *operation {
	list := v.changes[docName{memory.Scope{Tenant: c.Tenant}, commitmentKind, c.ID}]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].operation
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
func (v *verifier) checkFirings(op *operation, c *commitment.Commitment, starts []start) {
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
	for key := range keys {
		if !onGrid(c, key) {
			v.wrong(op, "its commitment fired for an instant that is none of its own")
		}
	}
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

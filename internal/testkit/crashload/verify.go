package crashload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Report tells what a [Log.Verify] has compared, so that a test can see that there was
// something.
type Report struct {
	Lanes        int
	Acknowledged int // operations
	Refused      int
	Unknown      int // operations that may have taken place or not
	Things       int // entries, documents, kept events and others that are there
	Events       int // delivered, each counted once
	Readings     int // of versions
}

// Broken is what [Log.Verify] returns for a store that did not keep what it had
// acknowledged.
type Broken struct{ Problems []string }

// mostProblems are listed in an error.
const mostProblems = 20

func (b *Broken) Error() string {
	text := b.Problems
	if len(text) > mostProblems {
		text = append(text[:mostProblems:mostProblems], fmt.Sprintf("and %d more", len(b.Problems)-mostProblems))
	}
	return "crashload: the store broke its word:\n\t" + strings.Join(text, "\n\t")
}

// untilNext is the time between two comparisons: a transaction of a process that was killed may
// be under way in a server still, so that the second one sees more than the first.
const untilNext = 200 * time.Millisecond

// Verify delivers what waits in the outbox and compares the store with the log. No load
// may run meanwhile. It returns a [*Broken] that lists what is wrong, by lane, and other errors
// if it could not compare.
func (l *Log) Verify(ctx context.Context, store Store) (Report, error) {
	for n := 1; ; n++ {
		v := &verifier{Log: l, store: store, there: map[string]*state{}, told: newState()}
		if err := v.run(ctx); err != nil {
			return v.report, err
		}
		if len(v.problems) == 0 {
			return v.report, v.noteKept()
		}
		if n >= l.comparisons {
			return v.report, &Broken{v.problems}
		}
		pause(ctx, untilNext)
		// What a process that died was handed to deliver may be hidden for a while, but never
		// from a query for one run.
		for number := range l.lanes.Load() {
			lane := newLane(l.seed, number+1)
			if err := l.drain(ctx, store, lane.tenant, lane.name()); err != nil {
				return v.report, err
			}
		}
	}
}

// verifier is one comparison.
type verifier struct {
	*Log
	store    Store
	report   Report
	problems []string

	there map[string]*state // by tenant
	told  *state            // what was delivered, of all tenants
}

func (v *verifier) wrong(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *verifier) run(ctx context.Context) error {
	if err := v.drain(ctx, v.store, "", ""); err != nil {
		return err
	}
	outcomes, err := v.read()
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		if v.there[tenant], err = stateOf(ctx, v.store, tenant); err != nil {
			return err
		}
	}
	lanes, readings, delivered := map[int64][]outcome{}, []*reading{}, map[string]bool{}
	for _, out := range outcomes {
		switch {
		case delivered[out.Event]: // again
		case out.Event != "":
			delivered[out.Event] = true
			v.report.Events++
			v.told.add(strings.TrimPrefix(out.Event, "the event "), "%s", out.Event)
		case out.Begins:
			lanes[out.Lane] = nil
		case out.Reading != nil:
			readings = append(readings, out.Reading)
		case out.Kept != nil:
			v.compareKept(out.Kept)
		case out.Lane > 0:
			lanes[out.Lane] = append(lanes[out.Lane], out)
		}
	}
	v.report.Lanes = len(lanes)
	for _, number := range slices.Sorted(maps.Keys(lanes)) {
		v.compare(newLane(v.seed, number), lanes[number])
	}
	for _, s := range append(slices.Collect(maps.Values(v.there)), v.told) {
		for of, lines := range s.lines {
			if number, _ := strconv.ParseInt(strings.TrimPrefix(of, lanePrefix), 10, 64); number == 0 || number > v.lanes.Load() {
				v.wrong("this is there, and of no operation: %s", lines[0])
			}
		}
	}
	return v.compareReadings(ctx, readings)
}

// compare makes the operations of a lane again, and compares what they come to with what is
// there: without the operation after the last outcome, or with all of it.
func (v *verifier) compare(l *lane, outcomes []outcome) {
	for _, out := range outcomes {
		op := l.next()
		if out.Refused {
			v.report.Refused++
			continue
		}
		if err := l.accept(op, out); err != nil {
			v.wrong("operation %d of %s: %v", l.count, l.name(), err)
			return
		}
		v.report.Acknowledged++
	}
	without := l.state()
	with := without
	if l.count < laneLength {
		v.report.Unknown++
		last := l.next()
		if _, _, err := l.perform(context.Background(), l.model, last, last.Mutation); err == nil { // else the store refuses it, too
			with = l.state()
		}
	}
	there := slices.Sorted(slices.Values(slices.Concat(v.there[l.tenant].lines[l.name()], v.told.lines[l.name()])))
	for _, s := range []*state{with, without} {
		if slices.Equal(there, s.lines[l.name()]) {
			v.report.Things += len(there)
			v.compareRevs(l, s)
			return
		}
	}
	v.differ(l, there, without, with)
}

// compareRevs compares the revisions of a lane's documents with those that the store has given. Of an
// operation whose outcome is unknown they are not known.
func (v *verifier) compareRevs(l *lane, s *state) {
	for name, rev := range s.revs {
		if given, known := l.revs[rev]; known && given != v.there[l.tenant].revs[name] {
			v.wrong("after operation %d of %s: the document %s %s has another revision than it was given", l.count, l.name(), name.kind, name.key)
		}
	}
}

// differ tells what is missing of a lane and what is too much, beside the state that is nearest.
func (v *verifier) differ(l *lane, there []string, states ...*state) {
	lacks := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
	}
	var nearest []string
	for i, s := range states {
		var problems []string
		for _, line := range lacks(s.lines[l.name()], there) {
			problems = append(problems, "missing: "+line)
		}
		for _, line := range lacks(there, s.lines[l.name()]) {
			problems = append(problems, "there: "+line)
		}
		if i == 0 || len(problems) < len(nearest) {
			nearest = problems
		}
	}
	if len(nearest) == 0 {
		nearest = []string{"there twice"}
	}
	for _, problem := range nearest {
		v.wrong("after operation %d of %s this is %s", l.count, l.name(), problem)
	}
}

// compareKept compares the kept events of a run with those that an earlier comparison found: they
// are where they were.
func (v *verifier) compareKept(before *keptSoFar) {
	ids := v.there[before.Tenant].kept[before.Run]
	if len(ids) < before.Count || sum(strings.Join(ids[:before.Count], " ")) != before.Sum {
		v.wrong("the first %d kept events of %s of %s are not what they were", before.Count, before.Run, before.Tenant)
	}
}

// noteKept writes down what compareKept is told the next time.
func (v *verifier) noteKept() error {
	for tenant, s := range v.there {
		for run, ids := range s.kept {
			found := keptSoFar{tenant, run, len(ids), sum(strings.Join(ids, " "))}
			if err := v.add(outcome{Kept: &found}); err != nil {
				return err
			}
		}
	}
	return nil
}

// compareReadings reads what was read at a version, but for what was erased since.
func (v *verifier) compareReadings(ctx context.Context, readings []*reading) error {
	for _, r := range readings {
		v.report.Readings++
		entries, err := v.store.List(ctx, r.Scope, driver.Query{Version: r.Version})
		if errors.Is(err, driver.ErrSnapshotUnavailable) {
			v.wrong("a version of %s that was read is not available any more", r.Ref)
			continue
		}
		if err != nil {
			return err
		}
		want := slices.DeleteFunc(slices.Clone(r.IDs), func(id string) bool {
			return v.there[r.Tenant].erased[driver.Located{Scope: r.Scope, ID: id}]
		})
		if !slices.Equal(want, idsOf(entries)) {
			v.wrong("a version of %s shows something else than when it was read", r.Ref)
		}
	}
	return nil
}

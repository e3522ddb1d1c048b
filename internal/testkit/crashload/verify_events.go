package crashload

import (
	"context"
	"slices"

	"github.com/openwop/agentmemory/events"
)

// readDeliveries reads the sink, and before that gives it what a relay may not have had:
// what was handed to a process that died may be hidden for a while, but never from a
// query for one run.
func (v *verifier) readDeliveries(ctx context.Context) error {
	if err := v.readSink(); err != nil {
		return err
	}
	fetched := map[eventName]bool{}
	for _, m := range v.mutations {
		for _, d := range m.Events {
			run := eventName{tenant: d.Tenant, run: d.Run}
			if v.deliveries[d.name()] != nil || m.outcome == refused || fetched[run] {
				continue
			}
			fetched[run] = true
			if err := v.fetch(ctx, run); err != nil {
				return err
			}
		}
	}
	return v.readSink()
}

func (v *verifier) fetch(ctx context.Context, of eventName) error {
	var recs []events.Record
	for rec, err := range v.store.Undelivered(ctx, of.tenant, of.run) {
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	if err := v.Emit(ctx, recs...); err != nil {
		return err
	}
	return v.store.Delivered(ctx, recs)
}

func (v *verifier) readSink() error {
	lines, err := readLines[delivery](v.sink)
	v.deliveries = map[eventName][]delivery{}
	for _, d := range lines {
		v.deliveries[d.name()] = append(v.deliveries[d.name()], d)
	}
	v.report.Events, v.report.Doubles = len(v.deliveries), len(lines)-len(v.deliveries)
	return err
}

// same reports whether a delivery is that of an event.
func (d delivery) same(o delivery) bool {
	return d.name() == o.name() && d.Type == o.Type && string(d.Payload) == string(o.Payload)
}

// checkEvents looks for the cause of every event, and for passes and versions of files
// that have two.
func (v *verifier) checkEvents() {
	type subject struct {
		place
		t       events.Type
		version int64
	}
	known, once := map[eventName][]delivery{}, map[subject]eventName{}
	for _, m := range v.mutations {
		for _, d := range m.Events {
			if m.outcome != refused {
				known[d.name()] = append(known[d.name()], d)
			}
		}
	}
	for name, list := range v.deliveries {
		if known[name] == nil {
			v.astray("an event tells of what no operation did")
			continue
		}
		if slices.ContainsFunc(list, func(d delivery) bool { return !slices.ContainsFunc(known[name], d.same) }) {
			v.astray("an event came under the id of another")
		}
		d := list[0]
		s := subject{place: place{name.tenant, name.run}, t: d.Type}
		payload, _ := events.Decode(d.Type, d.Payload) // it is what the load has announced
		switch p := payload.(type) {
		case events.MemoryConsolidated, events.MemoryCompacted:
		case events.CommitmentFired:
			starts := v.starts[place{name.tenant, name.run}]
			if !slices.ContainsFunc(starts, func(s start) bool { return s.Key == d.ID && s.Run == p.EnqueuedRunID }) {
				v.astray("an event tells of a run that was not started")
			}
			continue
		case events.WorkspaceUpdated:
			s.id, s.version = p.Path, p.Version
		default:
			continue
		}
		if _, twice := once[s]; twice {
			v.astray("a pass or a version of a file has two events")
		}
		once[s] = name
	}
}

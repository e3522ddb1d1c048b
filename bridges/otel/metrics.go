package otel

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/openwop/agentmemory/telemetry"
)

// instruments are the metrics of a tracer.
type instruments struct {
	genAI, own   metric.Float64Histogram
	counts       [telemetry.Waiting]metric.Int64Counter // of those that are summed up
	conflicts    metric.Int64Counter
	refused      metric.Int64Counter
	waiting, due metric.Int64Gauge
	oldest       metric.Float64Gauge
}

// seconds are the bounds of the histograms' buckets. Most operations take less than ten milliseconds.
var seconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// counters are the unit and the description of the counter of each count that is summed up. The units are
// annotations of UCUM, as the conventions have them for what is counted.
var counters = [telemetry.Waiting]struct{ unit, about string }{
	telemetry.Records:    {"{entry}", "Entries that were read, written or changed in their state."},
	telemetry.Redactions: {"{text}", "Texts out of which the redactor took something as they were written."},
	telemetry.Documents:  {"{document}", "Documents that were changed or removed."},
	telemetry.Events:     {"{event}", "Events that were delivered, emitted by a host, or dropped by a scrub."},
	telemetry.Stuck:      {"{run}", "Runs whose events the sink refused."},
	telemetry.Tenants:    {"{tenant}", "Tenants that a round of maintenance looked at, or that were dropped."},
	telemetry.Purged:     {"{record}", "Records that were purged."},
	telemetry.Trimmed:    {"{erasure}", "Erasures that left the ledger."},
	telemetry.Erased:     {"{entry}", "Entries that were forgotten."},
	telemetry.Restored:   {"{entry}", "Entries that are live again."},
	telemetry.Rewritten:  {"{entry}", "Entries that replaced erased ones in a redacted form."},
	telemetry.Lost:       {"{entry}", "Entries that were erased without a redacted copy."},
	telemetry.Sources:    {"{entry}", "Entries that a pass read."},
	telemetry.Merged:     {"{entry}", "Entries that were replaced by one that says the same."},
	telemetry.Superseded: {"{entry}", "Entries that were replaced by a newer one."},
	telemetry.Derived:    {"{item}", "Entries or vectors that a pass made."},
	telemetry.Refused:    {"{item}", "Groups or intentions that an engine did not accept."},
	telemetry.Skipped:    {"{item}", "Groups that had changed, or missed instants that were passed over."},
	telemetry.Armed:      {"{commitment}", "Commitments that were armed, or armed again."},
	telemetry.Claimed:    {"{commitment}", "Commitments that an observation made fire."},
	telemetry.Fired:      {"{firing}", "Firings that are over."},
	telemetry.Failed:     {"{delivery}", "Deliveries that failed and are tried again."},
	telemetry.Lapsed:     {"{commitment}", "Commitments that ended without firing."},
	telemetry.GivenUp:    {"{firing}", "Firings that were given up."},
	telemetry.Removed:    {"{commitment}", "Ended commitments that were removed."},
}

func newInstruments(m metric.Meter) (*instruments, error) {
	i := new(instruments)
	var failed []error
	histogram := func(name, about string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(seconds...))
		failed = append(failed, err)
		return h
	}
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = append(failed, err)
		return c
	}
	gauge := func(name, unit, about string) metric.Int64Gauge {
		g, err := m.Int64Gauge(name, metric.WithUnit(unit), metric.WithDescription(about))
		failed = append(failed, err)
		return g
	}
	i.genAI = histogram("gen_ai.client.operation.duration", "How long operations on memory take.")
	i.own = histogram("agentmemory.operation.duration", "How long runs take to start, rounds of maintenance and passes of engines.")
	for c := range telemetry.Waiting {
		i.counts[c] = counter("agentmemory."+c.String(), counters[c].unit, counters[c].about)
	}
	i.conflicts = counter("agentmemory.conflicts", "{operation}", "Operations that ended since something else had changed.")
	i.refused = counter("agentmemory.refused_writes", "{write}", "Writes that broke a rule or a limit, or held a secret that cannot be redacted.")
	i.waiting = gauge("agentmemory.outbox.waiting", "{event}", "Events that wait in the outbox.")
	i.due = gauge("agentmemory.commitments.due", "{commitment}", "Commitments that the last tick found due.")
	var err error
	i.oldest, err = m.Float64Gauge("agentmemory.outbox.oldest", metric.WithUnit("s"), metric.WithDescription("The age of the oldest event that the last relay could not deliver."))
	return i, errors.Join(append(failed, err)...)
}

// measure takes the measures of an operation that has ended.
func (i *instruments) measure(ctx context.Context, o *operation, r *telemetry.Result) {
	as := metric.WithAttributeSet(o.set)
	ended := as
	if r.Code != "" {
		ended = metric.WithAttributes(append(slices.Clone(o.attrs), attribute.String("error.type", r.Code))...)
	}
	if o.genAI {
		i.genAI.Record(ctx, r.Took.Seconds(), ended)
	} else {
		i.own.Record(ctx, r.Took.Seconds(), ended)
	}
	for _, c := range r.Counts {
		switch n := int64(c.N); {
		case c.Count == telemetry.Waiting:
			i.waiting.Record(ctx, n, o.store)
			i.oldest.Record(ctx, r.Oldest.Seconds(), o.store)
		case c.Count == telemetry.Due:
			i.due.Record(ctx, n, o.store)
		case c.Count < telemetry.Waiting && n > 0:
			i.counts[c.Count].Add(ctx, n, as)
		}
	}
	switch {
	case r.Code == "conflict":
		i.conflicts.Add(ctx, 1, as)
	case o.write && refuses(r.Code):
		i.refused.Add(ctx, 1, ended)
	}
}

// refuses reports whether a write that ended with the code was refused for what it was.
func refuses(code string) bool {
	switch code {
	case "validation_error", "forbidden", "secret_leakage", "storage_limit_exceeded":
		return true
	}
	return false
}

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

func newInstruments(m metric.Meter) (*instruments, error) {
	i := new(instruments)
	var failed []error
	histogram := func(name, about string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(seconds...))
		failed = append(failed, err)
		return h
	}
	counter := func(name, about string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithDescription(about))
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
		i.counts[c] = counter("agentmemory."+c.String(), "The count of that name of package telemetry, summed up.")
	}
	i.conflicts = counter("agentmemory.conflicts", "Operations that ended since something else had changed.")
	i.refused = counter("agentmemory.refused_writes", "Writes that broke a rule or a limit, or held a secret that cannot be redacted.")
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
		ended = metric.WithAttributes(append(slices.Clone(o.metric), attribute.String("error.type", r.Code))...)
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

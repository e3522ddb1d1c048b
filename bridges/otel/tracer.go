package otel

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/openwop/agentmemory/telemetry"
)

// Config sets up a [Tracer]. The zero value uses what the host has registered globally.
type Config struct {
	// TracerProvider and MeterProvider take the spans and metrics; nil means the global one.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// StoreID is gen_ai.memory.store.id on every span and metric: a name for the bank's store that
	// the host chooses, of at most 128 bytes, and that must be no tenant's name. Empty leaves it out.
	StoreID string
}

// Tracer makes spans and metrics of what a bank and its engines do. It is a telemetry.Tracer, and
// safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	ops    map[telemetry.Op]operation
	*instruments
}

var _ telemetry.Tracer = (*Tracer)(nil)

// scope names the instrumentation.
const scope = "github.com/openwop/agentmemory/bridges/otel"

// New returns a tracer for memory.Config. It fails for a StoreID that is too long or not UTF-8, and
// if the MeterProvider refuses an instrument.
func New(cfg Config) (*Tracer, error) {
	if len(cfg.StoreID) > 128 || !utf8.ValidString(cfg.StoreID) {
		return nil, fmt.Errorf("otel: a store id must have at most 128 bytes of text")
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = global.GetTracerProvider()
	}
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = global.GetMeterProvider()
	}
	made, err := newInstruments(cfg.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	t := &Tracer{tracer: cfg.TracerProvider.Tracer(scope), ops: map[telemetry.Op]operation{}, instruments: made}
	for _, op := range telemetry.Ops() {
		t.ops[op] = newOperation(op, cfg.StoreID)
	}
	return t, nil
}

// conventional are the operations that the GenAI conventions have a name for.
var conventional = map[telemetry.Op]string{
	telemetry.Put:        "create_memory",
	telemetry.Rewrite:    "update_memory",
	telemetry.Scrub:      "update_memory",
	telemetry.Delete:     "delete_memory",
	telemetry.Forget:     "delete_memory",
	telemetry.EraseAgain: "delete_memory",
	telemetry.DropTenant: "delete_memory_store",
	telemetry.Get:        "search_memory",
	telemetry.List:       "search_memory",
	telemetry.Search:     "search_memory",
}

// operation is what is the same for every call of an operation.
type operation struct {
	name    string // of the span
	genAI   bool   // whether the conventions have it
	records telemetry.Count
	write   bool
	attrs   []attribute.KeyValue // of its span and its metrics
	span    trace.SpanStartOption
	set     attribute.Set
	store   metric.RecordOption // the attributes of a gauge
}

func newOperation(op telemetry.Op, storeID string) operation {
	o := operation{name: "agentmemory." + op.String(), records: telemetry.Records}
	var store []attribute.KeyValue
	if storeID != "" {
		store = append(store, attribute.String("gen_ai.memory.store.id", storeID))
	}
	span := append(slices.Clone(store), attribute.String("agentmemory.operation", op.String()))
	if name, ok := conventional[op]; ok {
		o.name, o.genAI = name, true
		span = append(span, attribute.String("gen_ai.operation.name", name))
	}
	o.attrs, o.span, o.set, o.store = span, trace.WithAttributes(span...), attribute.NewSet(slices.Clone(span)...), metric.WithAttributes(store...)
	switch op {
	case telemetry.Put, telemetry.Delete, telemetry.Rewrite, telemetry.Emit:
		o.write = true
	case telemetry.Forget, telemetry.Scrub, telemetry.EraseAgain:
		o.records = telemetry.Erased
	}
	return o
}

// Start begins a span of kind internal.
func (t *Tracer) Start(ctx context.Context, op telemetry.Op) (context.Context, func(telemetry.Result)) {
	o, known := t.ops[op]
	if !known {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, o.name, o.span, trace.WithSpanKind(trace.SpanKindInternal))
	return ctx, func(r telemetry.Result) {
		if span.IsRecording() {
			describe(span, &o, &r)
		}
		t.measure(ctx, &o, &r)
		span.End()
	}
}

// describe says on a span how the operation ended.
func describe(span trace.Span, o *operation, r *telemetry.Result) {
	var attrs, counts []attribute.KeyValue
	if r.Code != "" {
		attrs = append(attrs, attribute.String("error.type", r.Code))
		span.SetStatus(codes.Error, "")
	}
	records := 0
	for _, c := range r.Counts {
		if c.Count == o.records {
			records = c.N
		}
		if c.N > 0 && c.Count != telemetry.Records {
			counts = append(counts, attribute.Int("agentmemory."+c.Count.String(), c.N))
		}
	}
	if o.genAI && (records > 0 || r.Code == "") {
		attrs = append(attrs, attribute.Int("gen_ai.memory.record.count", records))
	}
	span.SetAttributes(append(attrs, counts...)...)
}

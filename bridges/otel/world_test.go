package otel_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	memoryotel "github.com/openwop/agentmemory/bridges/otel"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
	"github.com/openwop/agentmemory/telemetry"
)

var ctx = context.Background()

// world is a bank with all engines, under the real SDK. Names and texts in it hold "canary".
type world struct {
	t       testing.TB
	store   *faulty
	bank    *memory.Bank
	clock   atomic.Int64 // milliseconds
	sinkErr error        // what the sink and other parts of the host say
	log     bytes.Buffer

	spans  *tracetest.InMemoryExporter
	traces *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider

	reconciler  *consolidate.Consolidator
	distiller   *distill.Runner
	commitments *commitment.Engine
	ranker      *recall.Ranker
}

const (
	tenant  = "canary-tenant"
	ref     = "canary-ref"
	secret  = "canary-secret-77x"
	subject = "canary-subject"
)

// newWorld makes a world, with a tracer unless plain is set.
func newWorld(t testing.TB, plain bool) *world {
	w := &world{t: t, store: &faulty{Store: inmem.New()}, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	w.clock.Store(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixMilli()) // a Monday
	w.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	w.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	tracer, err := memoryotel.New(memoryotel.Config{TracerProvider: w.traces, MeterProvider: w.meters, StoreID: "agents"})
	require.NoError(t, err)
	w.ranker, err = recall.New(recall.Config{Embedder: embedder{w}, Redactor: w.vaults})
	require.NoError(t, err)
	cfg := memory.Config{
		Now: func() time.Time { return time.UnixMilli(w.clock.Load()) }, Sink: sink{w}, WriteEvents: true,
		Ranker: w.ranker, TokenCounter: chars{}, MaxEntryBytes: 4096,
	}
	if !plain {
		cfg.Tracer = few{t, tracer}
		cfg.Logger = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	w.bank, err = memory.New(w.store, cfg)
	require.NoError(t, err)
	w.reconciler, err = consolidate.New(consolidate.Config{})
	require.NoError(t, err)
	w.distiller, err = distill.New(distill.Config{})
	require.NoError(t, err)
	w.commitments, err = commitment.New(w.bank, commitment.Config{
		Redactor: w.vaults, Enqueuer: starter{w}, Predicate: func(string, string) bool { return true },
	})
	require.NoError(t, err)
	return w
}

func (w *world) advance(d time.Duration) { w.clock.Add(d.Milliseconds()) }

// vault is a registry with the secret.
func (w *world) vault() *redact.SecretRegistry {
	r := redact.New(redact.Config{})
	require.NoError(w.t, r.Register("canary-secret-id", []byte(secret)))
	return r
}

func (w *world) vaults(context.Context, string) (memory.Redactor, error) {
	return w.vault(), w.sinkErr
}

func (w *world) job(id string) *memory.Job {
	j, err := w.bank.Background(memory.JobConfig{ID: id, Tenant: tenant, Redactor: w.vault()})
	require.NoError(w.t, err)
	return j
}

// ended are the exported spans, oldest first.
func (w *world) ended() tracetest.SpanStubs { return w.spans.GetSpans() }

// metrics reads all metrics.
func (w *world) metrics() map[string]metricdata.Metrics {
	var all metricdata.ResourceMetrics
	require.NoError(w.t, w.reader.Collect(ctx, &all))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// attributeOf returns an attribute of a span; nil if it has none.
func attributeOf(attrs []attribute.KeyValue, key string) any {
	for _, a := range attrs {
		if string(a.Key) == key {
			return a.Value.AsInterface()
		}
	}
	return nil
}

// few sees to it that an operation names few counts, each once.
type few struct {
	t testing.TB
	telemetry.Tracer
}

func (f few) Start(ctx context.Context, op telemetry.Op) (context.Context, func(telemetry.Result)) {
	ctx, end := f.Tracer.Start(ctx, op)
	return ctx, func(r telemetry.Result) {
		named := map[telemetry.Count]bool{}
		for _, c := range r.Counts {
			named[c.Count] = true
		}
		if len(named) != len(r.Counts) || len(named) > 6 {
			f.t.Errorf("%v names %v", op, r.Counts)
		}
		end(r)
	}
}

// The host's parts.

type sink struct{ *world }

func (s sink) Emit(context.Context, ...events.Record) error { return s.sinkErr }

type starter struct{ *world }

func (s starter) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	return "canary-run-" + f.Key, s.sinkErr
}

type embedder struct{ *world }

func (embedder) Model() string { return "canary-model" }
func (e embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{1, float32(len(text)), float32(strings.Count(text, "a"))}
	}
	return vectors, e.sinkErr
}

type chars struct{}

func (chars) Name() string          { return "chars" }
func (chars) Count(text string) int { return len(text) }

// faulty is a store of which every so many calls fail, with an error that quotes what it should not.
type faulty struct {
	*inmem.Store
	every int
	calls atomic.Int64
}

type quoting struct{}

func (quoting) Error() string { return "canary: constraint violated by canary-content" }
func (quoting) Code() string  { return "canary_code" }

func (f *faulty) fail() error {
	if n := f.calls.Add(1); f.every > 0 && n%int64(f.every) == 0 {
		return errors.Join(quoting{})
	}
	return nil
}

func (f *faulty) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.List(ctx, s, q)
}

func (f *faulty) Version(ctx context.Context, tenant string) (driver.Version, error) {
	if err := f.fail(); err != nil {
		return "", err
	}
	return f.Store.Version(ctx, tenant)
}

func (f *faulty) Lookup(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Lookup(ctx, s, ids)
}

func (f *faulty) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if err := f.fail(); err != nil {
		return driver.Applied{}, err
	}
	return f.Store.Apply(ctx, tenant, m)
}

func (f *faulty) Delete(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
	if err := f.fail(); err != nil {
		return false, err
	}
	return f.Store.Delete(ctx, s, id, at)
}

func (f *faulty) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	if err := f.fail(); err != nil {
		return func(yield func(driver.Record, error) bool) { yield(driver.Record{}, err) }
	}
	return f.Store.History(ctx, tenant, q)
}

func (f *faulty) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	if err := f.fail(); err != nil {
		return func(yield func(driver.Document, error) bool) { yield(driver.Document{}, err) }
	}
	return f.Store.Documents(ctx, q)
}

func (f *faulty) Undelivered(ctx context.Context, tenant, runID string) iter.Seq2[events.Record, error] {
	if err := f.fail(); err != nil {
		return func(yield func(events.Record, error) bool) { yield(events.Record{}, err) }
	}
	return f.Store.Undelivered(ctx, tenant, runID)
}

func (f *faulty) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.Store.Due(ctx, kind, at, limit)
}

func (f *faulty) Purge(ctx context.Context, tenant string, v driver.Version, at time.Time) (int, error) {
	if err := f.fail(); err != nil {
		return 0, err
	}
	return f.Store.Purge(ctx, tenant, v, at)
}

func (f *faulty) DropTenant(ctx context.Context, tenant string, limit int) (bool, error) {
	if err := f.fail(); err != nil {
		return false, err
	}
	return f.Store.DropTenant(ctx, tenant, limit)
}

package otel_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	memoryotel "github.com/openwop/agentmemory/bridges/otel"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/telemetry"
)

// Each operation has the name that the conventions give it, or one of its own.
func TestSpanNames(t *testing.T) {
	names := map[string][]string{
		"create_memory":       {"put"},
		"update_memory":       {"rewrite", "scrub"},
		"delete_memory":       {"delete", "forget", "erase_again"},
		"delete_memory_store": {"drop_tenant"},
		"search_memory":       {"get", "list", "search", "recall"},
	}
	want := map[string]string{}
	for name, ops := range names {
		for _, op := range ops {
			want[op] = name
		}
	}
	w := newWorld(t, false)
	w.everything()
	for _, s := range w.ended() {
		op := attributeOf(s.Attributes, "agentmemory.operation").(string)
		name, genAI := want[op]
		if !genAI {
			require.Equal(t, "agentmemory."+op, s.Name)
			require.Nil(t, attributeOf(s.Attributes, "gen_ai.operation.name"))
			continue
		}
		require.Equal(t, name, s.Name)
		require.Equal(t, name, attributeOf(s.Attributes, "gen_ai.operation.name"))
		require.Equal(t, "agents", attributeOf(s.Attributes, "gen_ai.memory.store.id"))
		if s.Status.Code != codes.Error {
			require.NotNil(t, attributeOf(s.Attributes, "gen_ai.memory.record.count"), "%s", op)
		}
	}
}

// A span says how its operation ended and what it counted, and no more.
func TestSpanAttributes(t *testing.T) {
	w := newWorld(t, false)
	run, err := w.bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: w.vault()})
	require.NoError(t, err)
	_, err = run.Put(ctx, ref, memory.Draft{Content: "it is " + secret})
	require.NoError(t, err)
	_, err = run.Put(ctx, ref, memory.Draft{Content: strings.Repeat("x", 5000)})
	require.ErrorIs(t, err, memory.ErrValidation)
	spans := w.ended()
	require.Len(t, spans, 3)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("gen_ai.memory.store.id", "agents"), attribute.String("agentmemory.operation", "put"),
		attribute.String("gen_ai.operation.name", "create_memory"),
		attribute.Int("gen_ai.memory.record.count", 1), attribute.Int("agentmemory.redactions", 1),
	}, spans[1].Attributes)
	require.Equal(t, sdktrace.Status{Code: codes.Unset}, spans[1].Status)
	require.Equal(t, []attribute.KeyValue{
		attribute.String("gen_ai.memory.store.id", "agents"), attribute.String("agentmemory.operation", "put"),
		attribute.String("gen_ai.operation.name", "create_memory"), attribute.String("error.type", "validation_error"),
	}, spans[2].Attributes)
	require.Equal(t, sdktrace.Status{Code: codes.Error}, spans[2].Status)
}

// drawing is a store that makes a span of its own for each mutation, as a traced driver does.
type drawing struct {
	*inmem.Store
	tracer trace.Tracer
}

func (d drawing) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	ctx, span := d.tracer.Start(ctx, "store")
	defer span.End()
	return d.Store.Apply(ctx, tenant, m)
}

func (d drawing) Put(ctx context.Context, s driver.Scope, e driver.Entry) error {
	ctx, span := d.tracer.Start(ctx, "store")
	defer span.End()
	return d.Store.Put(ctx, s, e)
}

// A span is the child of the caller's and the parent of those of the store, also across the goroutines of a
// pass.
func TestSpansNest(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	tracer, err := memoryotel.New(memoryotel.Config{TracerProvider: traces})
	require.NoError(t, err)
	w := newWorld(t, true)
	bank, err := memory.New(drawing{inmem.New(), traces.Tracer("store")}, memory.Config{Tracer: tracer})
	require.NoError(t, err)
	caller, request := traces.Tracer("host").Start(ctx, "request")
	reconciler, err := consolidate.New(consolidate.Config{})
	require.NoError(t, err)
	require.NoError(t, bank.Pass(caller, memory.JobConfig{ID: "p", Tenant: tenant, Redactor: w.vault()}, func(j *memory.Job) error {
		for range 2 {
			if _, err := j.Put(caller, ref, memory.Draft{Content: "the same"}); err != nil {
				return err
			}
		}
		_, err := reconciler.Run(caller, j, ref, consolidate.Options{})
		return err
	}))
	request.End()
	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range spans.GetSpans() {
		byID[s.SpanContext.SpanID()] = s
	}
	parents := map[string]int{}
	for _, s := range byID {
		require.Equal(t, request.SpanContext().TraceID(), s.SpanContext.TraceID())
		parents[byID[s.Parent.SpanID()].Name+" > "+s.Name]++
	}
	require.Equal(t, 2, parents["create_memory > store"])
	require.Equal(t, 2, parents["request > create_memory"])
	require.Equal(t, 1, parents["request > agentmemory.consolidate"])
	require.Positive(t, parents["agentmemory.consolidate > update_memory"])
	require.Equal(t, parents["agentmemory.consolidate > update_memory"], parents["update_memory > store"])
	require.Empty(t, parents["> store"])
}

// sum is that of the points of a counter whose attributes include the given one.
func sum(t *testing.T, m metricdata.Metrics, key, value string) (n int64) {
	t.Helper()
	data, ok := m.Data.(metricdata.Sum[int64])
	require.True(t, ok, m.Name)
	require.True(t, data.IsMonotonic)
	for _, p := range data.DataPoints {
		if v, _ := p.Attributes.Value(attribute.Key(key)); key == "" || v.AsString() == value {
			n += p.Value
		}
	}
	return n
}

// Durations have buckets below ten milliseconds, and a point for each operation and code.
func TestDurations(t *testing.T) {
	w := newWorld(t, false)
	reader := w.bank.Reader(tenant)
	for range 3 {
		_, err := reader.List(ctx, ref, memory.ListOptions{})
		require.NoError(t, err)
	}
	_, err := reader.Get(ctx, ref, "nothing")
	require.ErrorIs(t, err, memory.ErrNotFound)
	_, err = w.bank.Maintain(ctx)
	require.NoError(t, err)
	all := w.metrics()
	points := all["gen_ai.client.operation.duration"].Data.(metricdata.Histogram[float64]).DataPoints
	require.Equal(t, "s", all["gen_ai.client.operation.duration"].Unit)
	counts := map[string]uint64{}
	for _, p := range points {
		op, _ := p.Attributes.Value("agentmemory.operation")
		code, _ := p.Attributes.Value("error.type")
		name, _ := p.Attributes.Value("gen_ai.operation.name")
		require.Equal(t, "search_memory", name.AsString())
		require.False(t, p.Attributes.HasValue("gen_ai.provider.name"), "which is for external providers")
		counts[op.AsString()+" "+code.AsString()] = p.Count
		below := 0
		for _, bound := range p.Bounds {
			if bound < 0.01 {
				below++
			}
		}
		require.Equal(t, 6, below)
	}
	require.Equal(t, map[string]uint64{"list ": 3, "get not_found": 1}, counts)
	require.Len(t, all["agentmemory.operation.duration"].Data.(metricdata.Histogram[float64]).DataPoints, 4, "maintain and relay, tick and embed")
}

// Every instrument has a unit as the conventions write them, and a description of its own; one has a
// name that is theirs.
func TestUnitsAndDescriptions(t *testing.T) {
	unit := regexp.MustCompile(`^(s|By|1|\{[a-z]+\})$`)
	theirs, names, abouts := []string{}, map[string]bool{}, map[string]bool{}
	look := sdkmetric.WithView(func(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
		require.Regexp(t, unit, i.Unit, i.Name)
		require.Regexp(t, `^[A-Z].{15,}\.$`, i.Description, i.Name)
		require.False(t, names[i.Name] || abouts[i.Description], i.Name)
		names[i.Name], abouts[i.Description] = true, true
		if !strings.HasPrefix(i.Name, "agentmemory.") {
			theirs = append(theirs, i.Name)
		}
		return sdkmetric.Stream{}, false
	})
	_, err := memoryotel.New(memoryotel.Config{MeterProvider: sdkmetric.NewMeterProvider(look, sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	require.NoError(t, err)
	require.Equal(t, []string{"gen_ai.client.operation.duration"}, theirs)
	for c := range telemetry.Waiting {
		require.True(t, names["agentmemory."+c.String()], c)
	}
	require.Len(t, names, 2+int(telemetry.Waiting)+2+3, "durations, counts, conflicts and refused writes, gauges")
}

// What an operator asks about is counted: each thing once, though operations are within operations.
func TestCountsAndGauges(t *testing.T) {
	w := newWorld(t, false)
	w.sinkErr = context.DeadlineExceeded
	run, err := w.bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: w.vault()})
	require.NoError(t, err)
	_, err = run.Put(ctx, ref, memory.Draft{Content: "it is " + secret, Tags: []string{secret}, Subjects: []string{subject}})
	require.NoError(t, err)
	for range 2 {
		_, err = run.Put(ctx, ref, memory.Draft{Content: "x", Subjects: []string{secret}})
		require.ErrorIs(t, err, memory.ErrSecretLeakage)
	}
	job := w.job("p")
	for range 3 {
		_, err = job.Put(ctx, ref, memory.Draft{Content: "the same"})
		require.NoError(t, err)
	}
	_, err = job.Put(ctx, ref, memory.Draft{Content: "Call Lena next Monday.", Tags: []string{"every:24h"}})
	require.NoError(t, err)
	_, err = w.commitments.Infer(ctx, job, ref)
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, ref, memory.Rewrite{Expect: []string{"nothing"}, Erase: []string{"nothing"}})
	require.ErrorIs(t, err, memory.ErrConflict)
	_, err = w.reconciler.Run(ctx, job, ref, consolidate.Options{})
	require.NoError(t, err)
	_, err = w.distiller.Distill(ctx, w.job("d"), ref, distill.Options{})
	require.NoError(t, err)

	w.advance(90 * time.Minute)
	_, err = w.bank.Maintain(ctx)
	require.Error(t, err)
	all := w.metrics()
	gauge := func(name string) int64 {
		points := w.metrics()[name].Data.(metricdata.Gauge[int64]).DataPoints
		require.Len(t, points, 1)
		require.Equal(t, attribute.NewSet(attribute.String("gen_ai.memory.store.id", "agents")), points[0].Attributes)
		return points[0].Value
	}
	waiting, err := w.store.Waiting(ctx, "", 1000)
	require.NoError(t, err)
	require.Positive(t, waiting)
	require.EqualValues(t, waiting, gauge("agentmemory.outbox.waiting"))
	require.Equal(t, (90 * time.Minute).Seconds(), all["agentmemory.outbox.oldest"].Data.(metricdata.Gauge[float64]).DataPoints[0].Value)

	w.sinkErr = nil
	w.advance(7 * 24 * time.Hour)
	_, err = w.commitments.Tick(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, gauge("agentmemory.commitments.due"))
	_, err = w.commitments.Tick(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 0, gauge("agentmemory.commitments.due"))
	_, err = w.bank.Maintain(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 0, gauge("agentmemory.outbox.waiting"))
	require.Zero(t, w.metrics()["agentmemory.outbox.oldest"].Data.(metricdata.Gauge[float64]).DataPoints[0].Value)
	done, err := w.bank.Forget(ctx, tenant, subject)
	require.NoError(t, err)
	purged := 0
	for range 2 {
		n, err := w.bank.Purge(ctx, tenant)
		require.NoError(t, err)
		purged += n
		w.advance(8 * 24 * time.Hour)
	}
	maintained, err := w.bank.Maintain(ctx)
	require.NoError(t, err)
	purged += maintained.Purged
	require.Positive(t, purged)

	all = w.metrics()
	require.EqualValues(t, 2, sum(t, all["agentmemory.redactions"], "", ""), "the content and a tag")
	require.EqualValues(t, 2, sum(t, all["agentmemory.refused_writes"], "error.type", "secret_leakage"))
	require.EqualValues(t, 2, sum(t, all["agentmemory.refused_writes"], "", ""))
	require.EqualValues(t, 1, sum(t, all["agentmemory.conflicts"], "agentmemory.operation", "rewrite"))
	require.EqualValues(t, 2, sum(t, all["agentmemory.merged"], "", ""))
	require.EqualValues(t, 1+4, sum(t, all["agentmemory.derived"], "", ""), "what was distilled, and the vectors of four entries")
	require.EqualValues(t, 1, sum(t, all["agentmemory.armed"], "", ""))
	require.EqualValues(t, 2, sum(t, all["agentmemory.fired"], "", ""))
	require.EqualValues(t, len(done.Erased), sum(t, all["agentmemory.erased"], "", ""))
	require.EqualValues(t, purged, sum(t, all["agentmemory.purged"], "", ""))
	require.EqualValues(t, waiting+2, sum(t, all["agentmemory.events"], "", ""), "with two firings")
	require.NotContains(t, all, "agentmemory.waiting")
	require.NotContains(t, all, "agentmemory.due")
}

// What is no operation is passed over, and a store id must be short text.
func TestUnknownAndInvalid(t *testing.T) {
	tracer, err := memoryotel.New(memoryotel.Config{})
	require.NoError(t, err, "the global providers do")
	within, end := tracer.Start(ctx, telemetry.Op(99))
	require.Equal(t, ctx, within)
	require.Nil(t, end)
	for _, id := range []string{strings.Repeat("x", 129), "\xff"} {
		_, err = memoryotel.New(memoryotel.Config{StoreID: id})
		require.Error(t, err)
		require.NotContains(t, err.Error(), id)
	}
}

// Many goroutines may use a tracer, and a span ends once for each operation.
func TestConcurrentOperations(t *testing.T) {
	w := newWorld(t, false)
	run, err := w.bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: tenant, Redactor: w.vault()})
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 25 {
				if _, err := run.Put(ctx, ref, memory.Draft{Content: "x"}); err != nil {
					t.Error(err)
				}
				if _, err := run.Memory().List(ctx, ref, memory.ListOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.Len(t, w.ended(), 1+8*25*2)
	require.EqualValues(t, 200, sum(t, w.metrics()["agentmemory.records"], "agentmemory.operation", "put"))
}

package otel_test

import (
	"context"
	"fmt"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	memoryotel "github.com/openwop/agentmemory/bridges/otel"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// A host gives the bank a tracer. Here it exports to the process itself, and prints what it got.
func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter() // a real host has an OTLP exporter
	traces := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	reader := sdkmetric.NewManualReader()
	tracer, err := memoryotel.New(memoryotel.Config{
		TracerProvider: traces, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), StoreID: "agents",
	})
	if err != nil {
		panic(err)
	}
	bank, err := memory.New(inmem.New(), memory.Config{Tracer: tracer})
	if err != nil {
		panic(err)
	}
	secrets := redact.New(redact.Config{})
	if err := secrets.Register("billing-key", []byte("acme-live-7Qm2vT9x")); err != nil {
		panic(err)
	}

	ctx, request := traces.Tracer("host").Start(ctx, "answer a ticket")
	run, err := bank.Start(ctx, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
	if err != nil {
		panic(err)
	}
	if _, err := run.Put(ctx, "support", memory.Draft{Content: "The key is acme-live-7Qm2vT9x."}); err != nil {
		panic(err)
	}
	if _, err := run.Put(ctx, "support", memory.Draft{Content: "Too late.", ExpiresAt: time.Unix(0, 0)}); err == nil {
		panic("an entry that has expired was taken")
	}
	if _, err := run.Memory().List(ctx, "support", memory.ListOptions{}); err != nil {
		panic(err)
	}
	request.End()

	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
		for _, a := range s.Attributes {
			fmt.Printf("    %s=%v\n", a.Key, a.Value.AsInterface())
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		panic(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output:
	// agentmemory.start
	//     gen_ai.memory.store.id=agents
	//     agentmemory.operation=start
	// create_memory
	//     gen_ai.memory.store.id=agents
	//     agentmemory.operation=put
	//     gen_ai.operation.name=create_memory
	//     gen_ai.memory.record.count=1
	//     agentmemory.redactions=1
	// create_memory
	//     gen_ai.memory.store.id=agents
	//     agentmemory.operation=put
	//     gen_ai.operation.name=create_memory
	//     error.type=validation_error
	// search_memory
	//     gen_ai.memory.store.id=agents
	//     agentmemory.operation=list
	//     gen_ai.operation.name=search_memory
	//     gen_ai.memory.record.count=1
	// answer a ticket
	// agentmemory.records 1
	// agentmemory.redactions 1
	// agentmemory.refused_writes 1
}

// Package otel shows in OpenTelemetry what a host's memory does: spans, durations, counts, and
// what waits.
//
//	tracer, err := memoryotel.New(memoryotel.Config{StoreID: "agents"}) // github.com/openwop/agentmemory/bridges/otel
//	…
//	bank, err := memory.New(store, memory.Config{Tracer: tracer})
//
// The engines that work on the bank need nothing more. Nothing here can hold content, a query, a
// tag, an id, a tenant or a secret, since package telemetry has no place for it. Whose request it was
// says the span of the host around it, of which every span here is a child; and spans that a
// store's driver makes are children of these.
//
// # Spans
//
// Spans are of kind internal. What the conventions for GenAI memory have a name for has that name
// (open-telemetry/semantic-conventions-genai, in development, as of v0.1.0): create_memory for a put,
// update_memory for a rewrite by a pass and a scrub, delete_memory for a delete, a forgetting and the
// erasures of a ledger, delete_memory_store for a dropped tenant, search_memory for every read. They
// carry gen_ai.operation.name, gen_ai.memory.store.id and gen_ai.memory.record.count, and no
// gen_ai.provider.name, which is for services outside. The rest is ours: agentmemory.start,
// agentmemory.relay, agentmemory.consolidate and so on. Each has agentmemory.operation, which is the
// exact name, error.type with the code if it failed, and each count that is not zero by its name,
// such as agentmemory.redactions. There is no gen_ai.memory.record.id, and the opt-in attributes with
// the query and the records are not offered.
//
// # Metrics
//
// The conventions have one metric for memory, gen_ai.client.operation.duration. Its attributes
// gen_ai.memory.store.id and agentmemory.operation, its buckets below 10 ms and all other metrics are
// ours. Units are those of the conventions: s, and {entry} or the like for what is counted.
//
//   - gen_ai.client.operation.duration, in seconds, for what the conventions have a name for, and
//     agentmemory.operation.duration for the rest; buckets begin at 0.1 ms.
//   - agentmemory.conflicts, and agentmemory.refused_writes by error.type.
//   - a counter for each count of package telemetry, such as agentmemory.redactions,
//     agentmemory.purged, agentmemory.erased (forgotten), agentmemory.fired, agentmemory.given_up.
//   - the gauges agentmemory.outbox.waiting and agentmemory.outbox.oldest, as of the last relay, and
//     agentmemory.commitments.due, as of the last tick. They need a host that calls memory.Bank.Keep,
//     with the tick, in this process.
package otel

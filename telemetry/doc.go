// Package telemetry is how a host learns what its memory does and how long that takes, without
// learning what is remembered.
//
// A host gives the bank a [Tracer]; module bridges/otel has one for OpenTelemetry. The bank, and the
// engines that work on it, call it where an operation begins and where it ends. An [Op] is a number
// out of a closed list, and a [Result] has a code out of a closed list, counts and durations. So
// neither can hold content, a query, a tag, an id, a tenant or a secret, also after an error. Whose
// operation it is says the span of the host that is around it: what Start returns is the context in
// which the operation calls the store, the ranker and the sink.
//
// An operation that is part of another one, such as the rewrites of a consolidation, has a Result of
// its own. The Result of the whole has only what the whole did beside its parts, so that every count
// may be summed up over all operations.
//
// These have no operation of their own: walks that yield while the caller works (Scan, History,
// Documents, Export, Erasures, Tenants, Refs), look-ups of lineage (Trace), Token, Child, Join and
// Check, swaps of machinery such as leases, and what an engine does beside its passes, such as the
// dry run of a consolidation and reading an archive.
//
// A Tracer that panics changes nothing: the operation continues without it.
package telemetry

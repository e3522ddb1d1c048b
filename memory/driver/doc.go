// Package driver is what the author of a store implements, and the rules that all
// stores decide alike. A host does not need it: it works with package memory, whose
// Bank stands on a store.
//
// A store climbs three steps, each an interface that holds the one before:
//
//   - [Adapter]: four operations on entries. Reading, writing, expiry and isolation
//     need no more.
//   - [Transactor]: one conditional [Mutation] that happens whole or not at all.
//     Consolidation, distillation, forgetting, commitments and the outbox of events
//     are built on it.
//   - [Versioned]: memory can be read as it was. The views of runs are built on it.
//
// Beside them a store may offer [Searcher], [Scanner], [Scheduler], [Tenants], [Changes] and
// [Describer]. None of these interfaces ever grows: a new ability is a new interface.
//
// A Transactor that is an [events.RunLog] too keeps the log of the host's runs beside their
// memory: an event of a mutation that says so (Mutation.Log) has its sequence when the mutation
// commits and waits in no outbox, and the host's own events have theirs by Emit, in the same
// row of numbers. What is logged stays when its entries are forgotten, and goes with its
// tenant (DropTenant).
//
// A store has no clock, issues no ids, redacts nothing and knows no engine. It keeps
// entries and documents, and it decides by the functions of this package:
// [Mutation.Validate] and [Base.Check] whether a mutation can be committed,
// [Entry.Equal] whether a put says the same again, [Condemn] what a purge removes, and
// [NewMark] and [Version.Parse] how a version is written down. They are pure: a store
// looks up what it has, asks, and writes. What belongs to a list or a loop the Matches methods
// of the queries say, for stores that do not ask a database.
//
// The example examples/customstore writes a store step by step: four operations over a map,
// and then all three steps over a file.
//
// Package adaptertest proves that a store keeps all of it, by one call in a test of the
// store: each rule that these interfaces state has a case there, and what a store does
// not offer is reported. The limits of this package are checked up to the longest names,
// and with documents of a megabyte.
package driver

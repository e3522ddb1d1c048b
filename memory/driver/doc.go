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
// Beside them a store may offer [EventKeeper], [Scheduler], [Tenants], [Changes] and
// [Describer]. None of these interfaces ever grows: a new ability is a new interface.
//
// A store reads entries in one way: by [Query], live or at a version. It has one table of
// events: those of mutations wait there until they were delivered, or are kept as the log of
// their run.
//
// A store has no clock, issues no ids, redacts nothing and knows no engine. It keeps
// entries, documents and events, and it decides by the functions of this package:
// [Mutation.Validate] whether a mutation is well-formed, [Mutation.Needs] what to look up for
// it, [Stored.Plan] whether it can be committed and what it does to which row, [Plan.Journal]
// what the version that it makes has touched, [Stored.Purgeable] what a purge removes, and
// [Mark.Version] and [Version.Parse] how a version is written down. They are pure: a store
// looks up what it has, asks, and writes. The Matches methods of the queries filter for stores
// that do not ask a database.
//
// The example examples/customstore writes a store step by step: four operations over a map,
// and then all three steps over a file.
//
// Package adaptertest proves that a store keeps all of it, by one call in a test of the
// store: each rule that these interfaces state has a case there, and what a store does
// not offer is reported. The limits of this package are checked up to the longest names,
// and with documents of a megabyte.
package driver

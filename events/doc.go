// Package events holds the content-free events of the OpenWOP agent-memory
// layer: typed payloads, the run-event envelope around them, and the one-method
// [Sink] that a host gives them to.
//
// A host emits with [Emit], to a sink of its own or to a [Log], which is in memory. A [RunLog]
// numbers the events of a run, the host's own among them (see [HostPayload]), and is read page
// by page or by [Follow], as are the events that a bank of memory keeps. RunEvent's JSON form
// and [Decode] read events. The package uses the standard library only; the JSON Schemas are in
// the subpackage eventschema.
//
// # Guarantees
//
//   - E1: no payload type of the agent-memory layer has a field that could hold what
//     an entry says. There are identifiers, counts, enums and references; no tags.
//     Nothing else can be put into such a record or read out of JSON. A [HostPayload]
//     is the host's own, and no package here makes one.
//   - E2: [Emit] checks every record before a sink sees any of them.
//   - E3: a record's ID stays the same over redelivery. A [RunLog] assigns sequences
//     without gaps, drops a (runId, eventId) that the tenant's log has, and takes the
//     records of one call all together or not at all.
//   - E4: [Reemit] gives recorded payloads a new envelope and regenerates nothing.
//   - E5: every record has a run id; that of a background pass is its own.
//
// # Errors
//
// What breaks a rule is refused with an [InvalidError], which matches
// [ErrInvalid]. The text names the type, the field and the rule, never a value.
// Such an error is a fault of the host and goes out as internal_error.
//
// # Concurrency
//
// Payloads and records are plain values. Every sink of this package is safe for
// concurrent use.
package events

// Package events holds the content-free events of the OpenWOP agent-memory
// layer: typed payloads, the run-event envelope around them, and the one-method
// [Sink] that a host gives them to.
//
// # Guarantees
//
//   - E1: no payload type has a field that could hold what an entry says. There
//     are identifiers, counts, enums and references; tags only where a host asked
//     for them.
//   - E2: [Emit] checks every record before a sink sees any of them.
//   - E3: a record's ID stays the same over redelivery. The sinks of this package
//     assign sequences and drop a (runId, eventId) that they have already seen.
//   - E4: [Replay] gives recorded payloads a new envelope and regenerates nothing.
//
// # Errors
//
// A record that breaks a rule is refused with an error that matches
// [ErrInvalid]. The text names the type, the field and the rule, never a value.
//
// # Concurrency
//
// Payloads and records are plain values. Every sink of this package is safe for
// concurrent use.
package events

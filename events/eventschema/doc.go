// Package eventschema holds the JSON Schemas (draft 2020-12) of the events of the
// OpenWOP agent-memory layer, and checks JSON against them.
//
// Package events reads JSON in the same way and checks the same rules in hand-written code, without
// a schema library. Use this package where the schemas themselves are wanted: to check a
// foreign document against them, to publish them, or to prove that the two agree.
//
// # Guarantees
//
//   - [Validate] accepts exactly the documents that events.Decode accepts.
//   - A document is untrusted: it is limited in size and depth. A field twice, invalid
//     Unicode, and an integer literal beyond 2^53-1 are refused. A number is the
//     IEEE double that it denotes.
//   - No schema is ever loaded from a file or a network.
//
// # Errors
//
// A refused document gives an [events.InvalidError]: the path and the schema's
// keyword or another rule, never a value. A type that has no schema gives
// [events.ErrUnknownType].
//
// # Concurrency
//
// All functions are safe for concurrent use.
package eventschema

// Package inventory answers GET /v1/agents: which agents a host has installed, and
// which of them get less memory than their manifests ask for (RFC 0072, RFC 0074,
// RFC 0080 §C).
//
// [Project] is the answer as a pure function. [Handler] serves it.
//
//	mux.Handle("/v1/agents", h)
//	mux.Handle("/v1/agents/", h)
//
// # Guarantees
//
//   - A3: an entry has memoryDegraded iff degradedMemoryDimensions is not empty, and
//     those are what the agent's shape needs and its model lacks, unique and in the
//     order of the protocol's schema.
//   - Entries are sorted by the bytes of the agentId, total is their number, and a
//     missing label is the persona.
//   - An entry has no field that could hold a prompt, a handoff schema, a credential
//     or the tenant.
//   - An agent of another tenant cannot be told from one that does not exist.
//
// # Errors
//
// Project cannot fail. The handler answers with the protocol's error envelope:
// forbidden, not_found, capability_not_provided, validation_error for a method, and
// internal_error for a host that failed. Its messages are fixed texts. The statuses
// are those of the protocol's version that Handler.Wire speaks.
//
// # Concurrency
//
// All functions are safe for concurrent use.
package inventory

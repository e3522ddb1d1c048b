// Package agentmemory is the root of a module that gives the agents of a Go host memory. Tenants
// are isolated, registered secrets are redacted before storage, one call deletes all that is
// about a customer, and a replay sees what its run saw. It is the memory layer of the OpenWOP
// protocol, and works without that protocol too.
//
// This package holds no code. Begin with package memory, whose comment has a program of eight
// lines. In the repository, docs/concepts.md explains the words, docs/host-in-an-hour.md builds
// a host, and docs/store-in-an-afternoon.md a store.
//
// The host brings its models, its schedules and its storage.
//
// # Packages
//
//   - memory: the bank through which a host uses a store, with runs and background passes.
//   - memory/driver: what a store implements, and the rules that all stores decide alike.
//   - memory/inmem: a store in the process's own memory.
//   - memory/sqlite: a store in an SQLite file, the durable default of one machine; a
//     module of its own.
//   - memory/postgres: a store in PostgreSQL, for any number of machines; a module of
//     its own.
//   - memory/mysql: a store in MariaDB or MySQL; a module of its own.
//   - events: the content-free events and the sink that a host gives them to.
//   - events/eventschema: the schemas of those events, for a host that wants to
//     check them as JSON. It is a package of its own because it brings
//     dependencies; events does not.
//   - redact: takes registered secrets out of text.
//   - telemetry: what a host's memory does and how long it takes, in numbers and codes.
//   - recall: ranks the entries of a view for a question, by words and by meaning.
//   - distill: compaction, and distillation under a token budget into archives that
//     can be audited.
//   - capability: what a host's memory can do, read from its discovery document or
//     derived from what is really wired, and never more.
//   - host/wire: codes, statuses and error envelopes of both versions of the protocol,
//     for a host's handlers.
//   - host/workspace: a tenant's files with their versions, and the handler for them.
//   - host/proposal: artifacts that agents made, inert until they are activated.
//   - inventory: the answer to GET /v1/agents, with what each agent has to do
//     without.
//   - host/inspector: a page for people, and the read-only routes behind it, to mount in
//     any host.
//   - consolidate: reconciles an agent's standing memory: merges what says the same,
//     lets newer facts supersede older ones.
//   - commitment: turns intentions in memory into standing commitments, and fires
//     each once.
//   - adaptertest: the kit by which a store proves, law by law, that it may hold
//     agents' memory.
//   - examples/customstore: two stores and their proofs, as a tutorial.
//   - examples/quickstart: eight screens to read, and their files to copy from.
//   - examples/host: a whole host to copy; examples/tokenizer: an exact tokenizer for
//     distill. These three are modules of their own.
//   - bridges/mcp, bridges/anthropic, bridges/adk, bridges/eino, bridges/langchaingo: memory for
//     clients of the Model Context Protocol, for Anthropic's memory tool, and for agents of adk-go,
//     eino and langchaingo; bridges/models: language models for the engines, and facts out of
//     conversations; bridges/dates: dates in free text and cron; bridges/otel: OpenTelemetry;
//     cmd/agentmemory: the command line. Each is a module of its own.
//
// # Dependencies
//
// A program that imports memory, events, telemetry and redact links the standard library
// only. A package imports from the floors below its own and never the other way;
// a test in internal/testkit/house holds the plan and fails on a package that has
// no place in it.
package agentmemory

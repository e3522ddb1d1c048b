// Command recall measures retrieval: which entries of a memory come first for a question. It does not
// measure whether anybody could answer the question with them.
//
//	go run -C bench/recall . -data FILE
//
// FILE has the form of package dataset. Without -data it is the set of this repository,
// testdata/notes.jsonl. Each question is asked
//
//   - of package recall over the in-memory store, SQLite and PostgreSQL, of live memory and through the
//     view of a run, after forgetting and consolidation (see store.aged). All of these must
//     give the same list, or the program ends with an error;
//   - of bleve/v2 over the same entries, with its English analyzer, on an index in memory;
//   - as it is written, with its words in another order, and with stop words added.
//
// PostgreSQL is a private server that the program starts, or the one that AGENTMEMORY_POSTGRES_DSN
// names, where the program uses a tenant of its own and drops it at the end. On a machine with
// neither it is left out, and the report says so.
package main

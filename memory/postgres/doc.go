// Package postgres keeps memory in PostgreSQL, for hosts that outgrow one machine: the
// entries ([DB.Memory]), the commitments ([DB.Commitments]), the archives
// ([DB.Archives]) and the workspace files ([DB.Workspace]) in one database, which any
// number of processes share. It needs a server of version 12 or later whose database
// is encoded in UTF-8.
//
//	pool, err := pgxpool.New(ctx, "postgres://agents@db/agents")
//	db, err := postgres.Open(ctx, pool, postgres.Options{})
//	bank, err := memory.NewBank(db.Memory(), memory.Config{})
//
// The pool, its size and its settings are the caller's. [Open] makes the tables in the
// schema agentmemory, or brings them up to date; it needs the right to create only if
// there is something to do. Nothing but pgx's cache of prepared statements depends on the
// state of a session; behind a proxy that pools transactions use
// pgx.QueryExecModeCacheDescribe. There is no LISTEN: hosts poll [memory.Bank.Relay] and
// [Workspace.Flush].
//
// # Guarantees
//
// Versions are exact (M7). Every transaction that changes entries takes the one row
// that counts the tenant's versions before, and holds it until it ends. So mutations of a
// tenant follow each other, and version n is visible to a statement if and only if all
// up to n are. That is why READ COMMITTED is enough: what a mutation's conditions rest
// on is read by statements that begin after it has the row, and each sees what was
// committed before; nobody else can change it until the mutation has ended. Delete is a
// single statement, for which the server checks its row again when it has it. Tenants do
// not wait for each other. A mutation that only adds is one round trip, any other two.
//
// An entry has the versions from which and before which it lived, so taking a version
// reads one row, and a read at a version is a filter that later commits, or one under
// way, do not change. Reads at a version look at the tenant's row last: the horizon only
// grows, so nothing that was read can have been purged.
//
// Order and time are those of the in-memory store, to the millisecond and the byte:
// names are BYTEA, instants integers, and the time of a call comes with the call. Only
// the claims of the outbox use the server's clock.
//
// The outbox hides the runs that a relay has taken from other DBs for five seconds, by a
// claim of the run's oldest event that skips what others are just taking (SKIP LOCKED).
// A query for one run hides nothing.
//
// A restored backup gives out versions a second time. Call [DB.NewIncarnation] before
// hosts use it: all versions and tokens from before are refused then, as
// [memory.ErrSnapshotUnavailable], by processes that are running too.
//
// # Row security
//
// With [Options].RowSecurity every transaction names its tenant in the setting
// agentmemory.tenant, and policies on all tables hide what belongs to others, from
// their owner too (CTI-1). A statement that forgot its tenant would find nothing.
// Superusers and roles with BYPASSRLS are not held by policies: let hosts connect as
// neither. Turn it on before hosts start. Relays, schedulers and the workspace's events
// read their tables for all tenants; entries, cells and files are always one tenant's.
//
// # Erasure
//
// Erasing empties the row of an entry, text, tags, subjects, sources and run, and
// removes its labels. As always in PostgreSQL the old row stays in the file until the
// table is vacuumed, and its bytes until a later row takes their place. VACUUM (FULL) of
// agentmemory.entries and agentmemory.subjects writes new files without them. There are
// no column statistics with samples of them. What an erasure cannot reach are the
// write-ahead log and its archive, replicas that lag, and backups: bound how long those
// are kept.
//
// # Tables
//
// tenants has a row for each tenant: its version and its horizon. entries has all
// records, by (tenant, ref, id), with partial indexes on those that live in the order
// of a list, on the retired ones by the version at which they were, on successors and
// on expiries. former has the earlier lives of restored entries, scars the versions
// that are not intact, subjects the labels, cells, outbox, commitments, archives, files
// and file_events what they say. Every primary key but that of meta leads with the
// tenant, so that a cluster can be sharded by it. A name of more than 400 bytes stands
// in keys by a SHA-256 digest, because a row of an index holds no more than 2,704 bytes.
//
// An entry takes some 250 bytes beside its text, indexes included. A list costs what it
// returns; at a version also what was retired since. A search reads the scope from its
// new end and filters; there is no index of words.
//
// Back up the database as any other. A dump or a base backup is consistent.
//
// # Errors
//
// Errors are the classes of package memory and ctx.Err(), [ErrNewerSchema] and
// [ErrOutcomeUnknown]. Their texts are fixed; what the server said is behind Unwrap.
// [memory.ErrValidation] is what the tables cannot hold: text with U+0000 or that is no
// UTF-8, a tenant above 256 bytes, a ref above 1024, an id above 1500.
//
// Serialisation failures and deadlocks are tried again, within about a second, and lost
// connections too where doing a thing twice is doing it once: reads, Put, Undelivered,
// Delivered, Purge, archives. Apply, Delete, Swap and WriteFile are tried again only if
// nothing was sent; otherwise a lost connection is [ErrOutcomeUnknown].
//
// When the context of a change ends, the server is asked to give up and its answer is
// waited for, at most five seconds; if none comes, the outcome is unknown. A Purge just
// ends, between two refs or with the one it is at.
//
// # Concurrency
//
// All methods are safe for concurrent use, in any number of processes. The bodies of
// loops may call the store: no connection is held while they run.
package postgres

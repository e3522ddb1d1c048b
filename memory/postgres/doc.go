// Package postgres keeps memory in PostgreSQL, for hosts that outgrow one machine:
// entries, documents and waiting events in one database, which any number of processes
// share. It needs a server of version 12 or later whose database is encoded in UTF-8.
//
//	pool, err := pgxpool.New(ctx, "postgres://agents@db/agents")
//	db, err := postgres.Open(ctx, pool, postgres.Options{})
//	bank, err := memory.New(db.Memory(), memory.Config{})
//
// The pool, its size and its settings are the caller's. [Open] makes the tables in the
// schema agentmemory, or brings them up to date; it needs the right to create only if
// there is something to do. Nothing but pgx's cache of prepared statements depends on the
// state of a session; a proxy that pools transactions needs [Options].Pooler. There is no
// LISTEN: hosts call memory.Bank.Keep.
//
// # Guarantees
//
// Versions are exact (M7). Every transaction that changes entries locks the row of the
// tenant before, and holds it until it ends. So mutations of a
// tenant follow each other, and version n is visible to a statement if and only if all
// up to n are. That is why READ COMMITTED is enough: what a mutation's conditions rest
// on is read by statements that begin after it has the row, and each sees what was
// committed before; no other transaction can change it until the mutation has ended. Tenants do
// not wait for each other. A mutation that only adds is one round trip, any
// other two; large values of documents are written before the row is taken.
//
// Mutations of one tenant that wait for each other in this process share a transaction. Each is
// judged by what those before it leave, gets its own version, and is answered after the commit. If
// one cannot be carried out, all are undone and each is tried alone. A call whose context
// ends while it waits is left out; one that shares a transaction waits for its commit, at most as
// long as other changes do.
//
// A mutation that changes machinery only does not take that row. It locks its documents
// in the order of their names; one that changes a single document is one statement.
//
// An entry has the versions from which and before which it lived, so taking a version
// reads one row, and a read at a version is a filter that later commits, or one under
// way, do not change. Each version has a row with its random mark until [Store.Purge]
// passes it. Reads at a version look at that row and the horizon last: the horizon only
// grows, so nothing that was read can have been purged. After a restore from a backup, or
// a failover to a standby that had not received everything, versions of the lost history
// are refused as [driver.ErrSnapshotUnavailable], though their numbers are given out again.
//
// Order and time are those of the in-memory store, to the millisecond and the byte:
// names are BYTEA, instants integers, and the time of a call comes with the call. Only
// the claims of runs use the server's clock.
//
// A loop over what waits hides the runs that a relay has taken from other DBs for five seconds, by a
// claim of the run's oldest event, which is a conditional update.
// A query for one run hides nothing, and counting claims nothing.
//
// A kept event has its sequence in the mutation's transaction (E3). Who keeps an event of a run
// holds an advisory lock of that run until its transaction ends.
//
// # Clusters
//
// On the coordinator of a Citus cluster [Open] spreads the tables over the nodes, each row by
// its tenant. All of the above holds there. README.md has what was tested, and the limits.
//
// # Row security
//
// With [Options].RowSecurity every transaction names its tenant in the setting
// agentmemory.tenant, and policies on all tables hide what belongs to others, from
// their owner too (CTI-1). A statement that forgot its tenant would find nothing.
// Superusers and roles with BYPASSRLS are not held by policies: let hosts connect as
// neither. Turn it on before hosts start. Relays read the events of all tenants,
// and schedulers and [Store.Scopes] the machinery and the names of tenants; all else is
// always one tenant's, so that no role needs more for them.
//
// # Erasure
//
// Erasing empties the row of an entry, text, tags, subjects, sources and run, and
// removes its labels and the documents made of it. As always in PostgreSQL the old row
// stays in the file until the table is vacuumed, and its bytes until a later row takes
// their place; README.md says what writes new files without them. There are no column
// statistics with samples of them. What an erasure cannot reach are the write-ahead log
// and its archive, replicas that lag, and backups: bound how long those are kept.
//
// # Errors
//
// Errors are the classes of package driver, ctx.Err() and [ErrNewerSchema]. Their texts
// are fixed; what the server said is behind Unwrap. [driver.ErrValidation] is also what
// the tables cannot hold: text with U+0000 or that is no UTF-8, and events whose run or id
// is above 1,024 bytes.
//
// Serialisation failures and deadlocks are tried again, within about a second, as are
// refusals of a server that has too many clients, and lost connections too where doing a thing twice is doing it once: reads, Put, Undelivered,
// Delivered, Purge. Apply and Delete are tried again only if no connection could be had;
// otherwise a lost connection is [ErrOutcomeUnknown].
//
// When the context of a change ends, the server is asked to give up and its answer is
// waited for, at most five seconds. If none comes, or if it says that the change was made,
// the outcome is unknown: a server may have stopped waiting for a synchronous standby. A Purge
// just ends, between two refs or with the one it is at.
//
// # Concurrency
//
// All methods are safe for concurrent use, in any number of processes. The bodies of
// loops may call the store: no connection is held while they run.
package postgres

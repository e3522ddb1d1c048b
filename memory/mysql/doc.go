// Package mysql keeps memory in MariaDB or MySQL: entries, documents and waiting events in one
// database, which any number of processes share. It needs MariaDB 10.6 or MySQL 8.0, or later;
// README.md says which were tried.
//
//	db, err := mysql.Open(ctx, "agents:secret@tcp(db:3306)/agents", mysql.Options{})
//	bank, err := memory.New(db.Memory(), memory.Config{})
//
// [Open] makes the tables, or brings them up to date; it needs the right to create only if there is
// something to do.
//
// # Guarantees
//
// Versions are exact (M7). Every transaction that changes entries locks the row of the tenant before,
// and holds it until it ends. So mutations of a tenant follow each other, and version n is visible to a
// statement if and only if all up to n are. Transactions are READ COMMITTED: what a mutation's
// conditions rest on is read by statements that begin after it has its locks, and each sees what was
// committed before. Tenants do not wait for each other.
//
// Mutations of one tenant that wait for each other in this process share a transaction. Each is judged
// by what those before it leave, gets its own version, and is answered after the commit. If one cannot
// be carried out, all are undone and each is tried alone. A call whose context ends while it waits is
// left out; one that shares a transaction waits for its commit.
//
// What changes documents locks the row that counts the tenant's revisions, which outlives every
// document and the tenant's memory. A mutation that changes machinery only takes that row alone.
//
// An entry has the versions from which and before which it lived, so taking a version reads one row,
// and a read at a version is a filter that later commits do not change. Reads at a version look at the
// mark of the version and the horizon last. After a restore from a backup, or a failover to a replica
// that had not received everything, versions of the lost history are refused as
// [driver.ErrSnapshotUnavailable], though their numbers are given out again.
//
// Order and time are those of the in-memory store, to the millisecond and the byte: names are
// VARBINARY, instants integers, and the time of a call comes with the call. Only the claims of runs use
// the server's clock.
//
// A loop over what waits hides the runs that a relay has taken from other DBs for five seconds. A query
// for one run hides nothing, and counting claims nothing. A kept event has its sequence in the
// mutation's transaction, which holds the row of its run (E3).
//
// # Erasure
//
// Erasing empties the row of an entry, text, tags, subjects, sources and run, and removes its labels
// and the documents made of it. README.md says what stays in the undo, redo and binary logs and in gaps
// of pages, for how long, and what bounds it.
//
// # Errors
//
// Errors are the classes of package driver, ctx.Err() and [ErrNewerSchema]. Their texts are fixed; what
// the server said is behind Unwrap. [driver.ErrValidation] is also what a server is refused with that
// cannot hold what a store has to.
//
// Deadlocks and waits for a lock that took too long are tried again, within about a second beside the
// waits, and lost connections where doing a thing twice is doing it once: reads, Put, kept events,
// Delivered, Purge. Apply and Delete are tried again only if nothing can have been committed; otherwise
// a lost connection is [ErrOutcomeUnknown]. When the context of a change ends, its commit is waited for,
// at most five seconds.
//
// # Concurrency
//
// All methods are safe for concurrent use, in any number of processes. The bodies of loops may call the
// store: no connection is held while they run.
package mysql

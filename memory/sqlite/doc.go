// Package sqlite keeps memory in one SQLite file: the durable default of a single machine.
// It needs no C compiler and no server, and any number of processes of the machine may have
// the file open.
//
//	db, err := sqlite.Open(ctx, "/var/lib/host/memory.db", sqlite.Options{})
//	bank, err := memory.New(db.Memory(), memory.Config{…})
//
// The file must be on a local disk: SQLite's locks do not hold on network file systems.
// README.md beside this file has the schema, sizing, backup, and how an erasure reaches
// the disk.
//
// # Guarantees
//
//   - [Store] is everything that package driver knows: a [driver.Versioned],
//     [driver.EventKeeper], [driver.Scheduler], [driver.Tenants], [driver.Changes] and durable [driver.Describer]. adaptertest proves it, with one process and with two.
//   - An acknowledged write is on the disk: it survives kill -9 and, unless
//     [Options.Relaxed] is set, the loss of power, as far as the disk keeps its word
//     about a sync. A mutation is there as a whole or not at all (M8).
//   - Versions are exact (M7): a call that changes more than machinery takes the tenant's row
//     first, in a transaction that has the database's only write lock, so that the order of
//     versions is the order of commits. Taking a version reads two rows and copies
//     nothing; what commits later does not move it. Each has a random mark, so that a file
//     that was restored from a backup refuses versions that were given out since.
//   - What is stored of an entry, and the value of a document, has a checksum that each read
//     compares: a bit that was flipped on the disk is an error.
//   - A swap of one document of machinery is one conditional statement and makes no
//     version (K2). What is due is found by an index (K9).
//   - Names are compared byte for byte (M1) and are parameters of statements. What is
//     asked of a scope names its tenant and ref, what is asked of a tenant the tenant,
//     and what an entry says the key of its text, which was found by them. Only what
//     is asked of all tenants names none: what is due, the events that wait, which tenants
//     there are, and [Open].
//   - What is erased (M10) is overwritten in the pages of the file when the mutation
//     commits, with the documents made of it, and the log is emptied after it: if a reader
//     is in the way or the process is killed, by the next write of any process or the next
//     [Open]. An erasure costs what it erases, and not more in a larger file. Nothing else
//     has a copy of a text.
//   - Events commit with the mutation (E3). Those that wait do so in commit order, and nothing
//     is hidden from a second relay. Those that are kept have their sequences in the mutation's
//     transaction.
//
// # Errors
//
// Errors are the classes of package driver and ctx.Err(). What SQLite said is a
// [driver.ErrInternal] whose text is made of constants and whose cause is behind errors.Unwrap
// (M2). Such an error of a write says that nothing was changed, unless it matches
// [ErrOutcomeUnknown] too. A call that has waited some 30 seconds for another process
// gives up. [Open] has errors of its own: [ErrNewerSchema], which writes return too once a
// newer program has migrated the database, [ErrForeignFile] and [ErrLinkedFile].
//
// # Concurrency
//
// All methods of all types are safe for concurrent use. SQLite has one writer at a time,
// also of several tenants: writes of this process queue, and wait for those of others. The
// mutations that wait are committed together, up to 64 of them and 4 MiB, each whole or refused by
// itself with a version of its own, and all are answered after the commit: if it fails each is
// judged again alone, and if its outcome is unknown it is unknown to all of them.
// Readers never wait for writers, nor writers for readers, but for the emptying of the
// log after an erasure. The context is looked at while a call queues, between the rows of
// a read, and between the statements of a mutation that is committed alone, until its commit
// begins: one that ends it leaves nothing of it. A mutation that is committed with others waits for
// the commit.
//
// Iterators read 256 rows at a time and hold no connection while the caller's
// code runs, so the body of a loop may use the store.
package sqlite

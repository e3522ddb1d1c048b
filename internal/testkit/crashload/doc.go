// Package crashload proves that a store keeps its word when its process or its database
// dies. It knows no database.
//
// A load works on the store: puts, deletions, erasures, batches, consolidations,
// distillations, commitments that are armed and fire, files, and the relay of events.
// A journal has each step: the intention before the operation begins, the outcome
// after the store has acknowledged it. The same is written down of every mutation of the
// store. After the death [Log.Verify] compares that with what is
// there.
//
// The kill test of a store is its opener, a line in TestMain, and [Rounds]:
//
//	func open(ctx context.Context) (driver.Adapter, func() error, error) {
//		db, err := mystore.Open(ctx, os.Getenv("MYSTORE_FILE"))
//		if err != nil {
//			return nil, nil, err
//		}
//		return db.Memory(), db.Close, nil
//	}
//
//	func TestMain(m *testing.M) {
//		crashload.Child(open) // does not return in the process that is to be killed
//		os.Exit(m.Run())
//	}
//
//	func TestKill(t *testing.T) {
//		dir := t.TempDir()
//		t.Setenv("MYSTORE_FILE", filepath.Join(dir, "db"))
//		rounds := crashload.Rounds{Dir: dir, Seed: 1, N: 50, Open: open}
//		require.NoError(t, rounds.Run(t.Context()))
//	}
//
// The child is the test's own binary, started again with [EnvDir] in its environment. For
// the death of a server in the midst of the load, which then goes on, set Rounds.Strike.
// The load's clock is a hundred times as fast as a wall clock, so that leases end and
// commitments fall due within a round: the instants that a store is told lie ahead of its
// own.
//
// [LogRounds] do the same with a log of run events alone, a file or that of a store.
//
// # Guarantees
//
// Verify finds each of these:
//
//   - An acknowledged write that is not there, or is not what was written. It may have
//     been deleted or forgotten by an operation of the journal, or have given way to an
//     entry that is there.
//   - Half of a batch: some of its entries and not others, entries without the merges,
//     the documents or the event that go with them, or an effect of what was refused.
//   - A swap of a document that was acknowledged and is lost, or that two callers won; a
//     revision that does not ascend or is used again; a document that was never written, or
//     that is due and would not be found.
//   - Content whose entry is erased, or that is gone though its entry is not; and anything
//     of a subject, in an entry or a document, after it was forgotten.
//   - A firing under two runs, two firings for one instant, a claim twice under one fence,
//     and a commitment that waits and never falls due.
//   - An event that is lost, that comes under two ids, or that tells of what is not
//     there; a version of a file that has not one. The same event twice under its id is
//     none of these.
//   - An archive that an entry names and that does not load, and a version of a ref that
//     shows something else than before.
//
// What was not acknowledged may be there or not, but whole.
//
// The files of the log are written without fsync: they outlive processes, and a database
// server, but not the machine.
//
// # Errors
//
// What a store did wrong is a [*Broken], which names operations by their number in
// journal.jsonl and mutations.jsonl of the log's directory, and holds no content.
//
// # Concurrency
//
// A load has some ten goroutines over two tenants. One [Log] of a directory is open at a
// time, and Verify needs the store to itself.
package crashload

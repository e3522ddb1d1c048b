// Package crashload proves that stores keep their word when their process or their
// database dies. It knows no database.
//
// A load works on a memory store, a commitment store, an archive store and a workspace
// at once: puts, deletions, erasures, batches, consolidations, distillations,
// commitments that are armed and fire, files, and the relay of events. Whatever it does
// is in a journal: the intention before the operation begins, the outcome after the
// store has acknowledged it. After the death of any of them [Log.Verify] compares the
// journal with what is there.
//
// The kill test of a store is its opener, a line in TestMain, and [Rounds]:
//
//	func open(ctx context.Context, log *crashload.Log) (crashload.Stores, error) {
//		db, err := mystore.Open(ctx, os.Getenv("MYSTORE_FILE"))
//		if err != nil {
//			return crashload.Stores{}, err
//		}
//		return crashload.Stores{
//			Memory: db.Memory(), Commitments: db.Commitments(), Archives: db.Archives(),
//			Workspace: db.Workspace(log), Close: db.Close,
//		}, nil
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
// For the death of a server in the midst of the load, which then goes on:
//
//	rounds.Strike = func(ctx context.Context, round int) error {
//		if err := cluster.Kill(); err != nil { // see package pgcluster
//			return err
//		}
//		return cluster.Restart(ctx)
//	}
//
// The load's clock is a hundred times as fast as a wall clock, so that leases end and
// commitments fall due within a round: the instants that a store is told lie ahead of its
// own.
//
// The child is the test's own binary, started again with [EnvDir] in its environment.
//
// # Guarantees
//
// Verify finds each of these:
//
//   - An acknowledged write that is not there, or is not what was written. It may have
//     been deleted or forgotten by an operation of the journal, or have given way to an
//     entry that is there.
//   - Half of a batch: some of its entries and not others, entries without the merges,
//     the count or the event that go with them, or an effect of what was refused.
//   - A swap of a commitment that was acknowledged and is lost, or that two callers won;
//     a firing under two runs, two firings for one instant, a claim twice under one
//     fence, and a commitment that waits and never falls due.
//   - An event that is lost, that comes under two ids, or that tells of what is not
//     there. The same event twice under its id is none of these.
//   - An archive that a live entry names and that does not load, or that the index does
//     not have, and a version of a ref that shows something else than before.
//   - A version of a file that is not there, or has not one event.
//
// What nobody acknowledged may be there or not, but whole.
//
// The files of the log are written without fsync: they outlive processes, and a database
// server, but not the machine.
//
// # Errors
//
// What a store did wrong is a [*Broken], which names operations by their number in
// journal.jsonl and swaps.jsonl of the log's directory, and holds no content.
//
// # Concurrency
//
// A load has some ten goroutines over two tenants. One [Log] of a directory is open at a
// time, and Verify needs the stores to itself.
package crashload

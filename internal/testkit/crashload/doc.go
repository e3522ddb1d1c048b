// Package crashload proves that a store keeps its word when its process or its database
// dies. It knows no database.
//
// A load performs operations on the store: puts, deletions, and mutations that put, retire,
// restore and erase entries, swap documents, announce events and keep others. Lanes do that
// side by side, each on entries and documents of its own; they meet in a document that counts,
// in the runs whose events are kept, and in the versions of their tenant. What a lane does
// follows from a seed and from what the store has answered before, so that a log of the answers
// is enough: after the death [Log.Verify] performs the same operations on the store in memory,
// and compares what these come to with all that is there.
//
// The kill test of a store is its opener, a line in TestMain, and [Rounds]:
//
//	func open(ctx context.Context) (crashload.Store, func() error, error) {
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
//
// # Guarantees
//
// Verify finds each of these:
//
//   - An operation that was acknowledged and is lost, in whole or in part, now or at a later
//     death: an entry, what ended, restored or erased one, a document, an event.
//   - Half of an operation whose outcome is unknown. It may have taken place or not, but whole.
//   - An effect of what was refused, or of no operation; an acknowledgement of what has to be
//     refused.
//   - A swap of a document that two callers won; a revision that does not ascend or is used
//     twice; a document that is due and would not be found; content that is there after its entry
//     was erased.
//   - An event that is lost or comes as another one. The same event twice is none of these.
//   - A kept event that is lost, comes twice, or has another sequence than before: the
//     sequences of a run ascend from 0 without gaps, those of a lane in its order, those of a
//     mutation in a row.
//   - A version of a ref that shows something else than when it was read, but for what was
//     erased since.
//
// What an engine makes of such a store, if its process dies at any call, is proven by the tests
// of that engine.
//
// The files of the log are written without fsync: they outlive processes, and a database
// server, but not the machine.
//
// # Errors
//
// What a store did wrong is a [*Broken], which names lanes and ids, and holds no content.
//
// # Concurrency
//
// A load has some ten goroutines over two tenants. One [Log] of a directory is open at a
// time, and Verify needs the store to itself.
package crashload

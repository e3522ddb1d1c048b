// Package pgcluster gives tests a PostgreSQL server of their own, which they may
// kill. It knows no driver.
//
// [ForTests] is what a test calls. It uses the server that AGENTMEMORY_POSTGRES_DSN
// names, or starts a private cluster from the binaries of the machine:
//
//	func TestSomething(t *testing.T) {
//		cluster, err := pgcluster.ForTests(t.Context())
//		if errors.Is(err, pgcluster.ErrNoServer) {
//			t.Skip(err)
//		}
//		require.NoError(t, err)
//		defer cluster.Close()
//		pool, err := pgxpool.New(t.Context(), cluster.DSN())
//		…
//	}
//
// Where AGENTMEMORY_REQUIRE_POSTGRES is 1 the error for a missing server is not
// [ErrNoServer], so that the same lines fail instead of skipping.
//
// A test that kills the server has to own it:
//
//	if !cluster.Owned() {
//		t.Skip("the server of AGENTMEMORY_POSTGRES_DSN is not ours to kill")
//	}
//	err = cluster.Kill()         // or cluster.StopImmediate()
//	err = cluster.Restart(ctx)   // the same data, recovered, under the same DSN
//
// A cluster of one's own can be copied, by [Cluster.Backup] and [Cluster.Standby], and have
// a PgBouncer before it, by [Cluster.Pooler].
//
// # Guarantees
//
//   - A private cluster listens on a socket in its own directory only, which no other
//     user can enter, and trusts who can. Its locale is C, its encoding UTF-8, and
//     fsync is on, so that what survives a kill would have survived a power cut as
//     far as the disk is honest.
//   - It runs as the user of the test or, since PostgreSQL refuses root, as postgres
//     if that is root.
//   - Close leaves no process and no file behind. If the test process dies instead,
//     its cluster stops and its directory goes.
//   - Kill ends all processes of the server at once on Linux. Elsewhere its children notice
//     the end of the first and follow.
//
// It works on Unix systems. On others no server is ever found.
//
// # Errors
//
// Errors of a server that does not start end with the last lines of its log.
//
// # Concurrency
//
// Only DSN, Program and Log may be called while another method runs.
package pgcluster

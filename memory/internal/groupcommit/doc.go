// Package groupcommit commits together what waits for the same writer of a database in one
// process: SQLite's one writer, or the counter of a tenant in PostgreSQL.
//
// # Guarantees
//
//   - A lone caller pays a lock and nothing else: no timer, no goroutine, no wait for company.
//   - The caller that gets the writer takes all that wait, in the order in which they came: at
//     most [MaxCalls] and [MaxBytes], a larger one alone. Then it hands the writer on to the
//     first that waits.
//   - A shared transaction runs under the context of none of its callers. A caller whose context
//     ends before it is taken is left out; later, it waits for the commit.
//   - Every answer is given after the commit, refusals too: what a call was judged by is
//     committed. If the transaction failed, all are judged anew, each in a transaction of its own.
//     If its outcome is unknown, it is unknown to all of them, and to no other.
package groupcommit

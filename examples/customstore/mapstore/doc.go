// Package mapstore is the first page of a tutorial: the four operations of [driver.Adapter]
// over a map, and the test by which they prove themselves. Package boltstore beside it goes
// on, with a file in place of the map, up to the third step.
//
// Copy it, put your database where the map is, and run the test after every change.
// The kit says what is still wrong, law by law, with the steps that show it.
//
// What is easily got wrong, and where it is done here:
//
//   - The key is the whole scope and the whole id, compared byte for byte: [Store]
//     has a map for each scope.
//   - An id stays used. Delete leaves the entry in place and marks it, so that the
//     same entry put again is a success that changes nothing, and another one under
//     the id is a conflict.
//   - There is no clock. Whether an entry is live is judged at the instant that the
//     call carries; nothing is swept.
//   - Whether a put says the same again is for [driver.Entry.Equal] to say, and what
//     belongs to a list for [driver.Query.Matches], as in every store. The limit comes
//     last.
//   - An error says nothing of an entry: it is [driver.ErrNotFound],
//     [driver.ErrConflict] or what the context says.
//
// # Guarantees
//
// Those of [driver.Adapter], M1 to M5 and M8 in so far as they concern single
// entries. It offers neither mutations nor versions, so a host gets jobs and live
// reads from it, and no runs.
//
// # Errors
//
// [driver.ErrNotFound], [driver.ErrConflict] and the context's error.
//
// # Concurrency
//
// All methods are safe for concurrent use.
package mapstore

// Package boltstore keeps agents' memory in one file of bbolt, a database of ordered keys.
// It is the text of a tutorial: read the files in this order, or type them in. The code of
// each page needs nothing of a later one, so the test can be run at the end of each step.
//
// Step 1, the four operations of [driver.Adapter]:
//
//  1. store.go: what is where in the file, transactions, and loops that hold none open
//  2. entries.go: what is kept of an entry, and of a tenant's versions
//  3. adapter.go: the four operations
//
// Now store_test.go, without what its Require lists. The report at the end of go test -v says
// "step adapter", and of everything that is not offered, why.
//
// Step 2, whole mutations, for [driver.Transactor]:
//
//  4. documents.go: small values beside the entries, which change by compare-and-swap
//  5. apply.go: one mutation, of which [driver.Stored.Plan] says what to do, and the events that it queues
//
// The report says "step transactor". What the store shall never lose goes into Require.
//
// Step 3, memory as it was, for [driver.Versioned]:
//
//  6. versions.go: what a version shows, what has changed, and what is removed when none can show it
//
// The report says "step versioned".
//
// What a store does not do is as important. It has no clock: instants come with the calls.
// It issues no ids, redacts nothing, and judges no mutation. Where a rule had to be guessed
// there is a function in package driver that decides it for all stores.
//
// # Guarantees
//
// Those of [driver.Versioned], [driver.Scheduler], [driver.Changes] and [driver.Tenants], as
// certificate.txt says. A write has reached the
// disk when its call returns. What is erased is in no answer any more, but its bytes stay in
// free pages of the file until bbolt uses them again; the command bbolt compact makes a file
// without them.
//
// # Errors
//
// The classes of package driver and the context's error. What bbolt says is behind
// [driver.ErrInternal], by errors.Unwrap.
//
// # Concurrency
//
// All methods are safe for concurrent use. Reads run side by side and see one state each;
// writes come one after the other, those of all tenants. One process at a time can have the
// file open.
package boltstore

// Package inmem keeps memory in the process: for tests, for scratch memory, and
// for hosts that persist elsewhere. It offers everything that package driver knows of, but is
// volatile.
//
// Entries are in Go maps by id. What has an order is in an ordered list: the live entries of a
// scope, the retired ones, the documents under everything by which they are found, what is due, and
// the events that wait.
//
// # Guarantees
//
//   - Tenants have nothing in common but the store: no lock is held over two of
//     them, apart from those that find a tenant, what is due, and events.
//   - A mutation is checked as a whole before any of it is applied, and readers
//     see all of it or nothing (M8).
//   - Taking a version copies nothing. A read at an old version costs what the
//     entries it returns cost, plus a glance at each entry that
//     has come or gone since.
//   - Erasing drops the last reference that the store has to a text (M10).
//   - The order of entries is kept at insertion (M5), so entries of any age can
//     come in any order.
//   - Versions carry the incarnation of the store as their mark: no other store, and
//     no later one in the same process, reads them. A history in memory cannot be lost
//     and written anew, so one mark for all versions of a tenant is enough.
//
// # Errors
//
// Errors are the classes of package driver and ctx.Err().
//
// # Concurrency
//
// All methods are safe for concurrent use. Each tenant has one lock, which
// readers share. No lock is held while the caller's code runs, so the body of a loop may write
// to the store. Purge holds a tenant's lock while it works on one scope.
//
// Slices of an entry or an event that is given to the store belong to the store
// from then on, and returned entries share them: neither a caller nor the store may change them. The
// values of documents are copied.
package inmem

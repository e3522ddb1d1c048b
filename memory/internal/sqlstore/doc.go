// Package sqlstore is what the stores on SQL databases do alike: how they read, and how
// those of servers judge mutations that share a transaction. A store gives it a [Dialect], its statements
// and what runs them, and embeds the [Store] that it gets for it.
//
// # Guarantees
//
// Whether a version can be read is checked behind what was read of it, so that what was read was
// whole (M7). An event that cannot be read holds up its own run only (E3).
//
// # Errors
//
// The classes of package driver, and the errors of the dialect.
//
// # Concurrency
//
// All methods are safe for concurrent use. No connection is held while the body of a loop runs.
package sqlstore

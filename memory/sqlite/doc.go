// Package sqlite keeps memory in an SQLite database.
//
// # Guarantees
//
// # Errors
//
// # Concurrency
package sqlite

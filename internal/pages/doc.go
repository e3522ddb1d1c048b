// Package pages reads a long list page by page.
//
// # Guarantees
//
// A loop over a list holds nothing open while its body runs.
//
// # Errors
//
// Those of the function that reads a page, after the values that it returned beside them.
//
// # Concurrency
//
// Each loop reads for itself.
package pages

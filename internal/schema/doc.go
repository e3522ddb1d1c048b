// Package schema checks values that package jsonguard has read against embedded JSON Schemas. It is
// the only package that knows the schema library, and it keeps that library's weak spots away from
// the packages that have schemas.
//
// # Guarantees
//
//   - No schema is ever loaded from a file or a network.
//   - Input on which the library panics is refused.
//
// # Errors
//
// Texts are fixed phrases. A [Violation] has names that the schema has, never a value or a field
// name of the document. That holds for schemas which look only into fields that they name.
//
// # Concurrency
//
// All functions are safe for concurrent use.
package schema

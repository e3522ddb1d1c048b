// Package jsonguard reads JSON that a stranger wrote, more strictly than encoding/json does: as RFC
// 8785 has it.
//
// # Guarantees
//
//   - A document is limited in size and depth. It is UTF-8 and has no lone surrogate, no field
//     twice, no integer literal beyond 2^53-1 and no number that is not an IEEE double.
//   - The names of fields are compared as they are, in their case.
//   - Texts of errors are fixed phrases: they hold no part of the document.
package jsonguard

// Command quickstart is a host in miniature: it reads a support agent's notes from
// JSON Lines into memory and shows, on that input, what the library guarantees.
//
// Usage:
//
//	quickstart [-in FILE] [-events FILE]
//
// Without -in it reads the notes that are bundled with it; - is standard input. A
// line needs content, and may have tags, subjects, createdAt and expiresAt. A line
// that cannot be used is reported with its number, and nothing else is lost. The
// store is in memory: when the program ends, everything is gone but the events that
// -events wrote.
package main

// Package forgetting proves that a store forgets a subject without a trace (M10). A [Host] tells the
// store everything that it can hold about a subject, in words that occur nowhere else, so that a test
// finds each of them in tables, files and events.
package forgetting

// Package facts compares what texts say: their canonical form, and whether one text says no more and nothing else
// than others (C8).
package facts

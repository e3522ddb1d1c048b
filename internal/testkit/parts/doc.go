// Package parts proves, for everything that a host plugs in, that a panic, a hang or a late answer
// of it harms nothing else.
package parts

// Package identifier has the one rule for what an identifier looks like, which the bank
// applies to what a host gives and the driver's rules to what reaches a store.
package identifier

import "unicode/utf8"

// Valid reports whether s is not empty, valid UTF-8, free of control bytes and at most
// limit bytes long.
func Valid(s string, limit int) bool {
	if s == "" || len(s) > limit || !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

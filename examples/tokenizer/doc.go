// Command tokenizer distills the lines of standard input with an exact tokenizer in
// the place of the built-in estimate, and prints the summary and what both count.
//
// Usage:
//
//	tokenizer [-budget TOKENS] < FILE
package main

package distill

// Tokenizer counts tokens as the host's model does. It is deterministic and safe
// for concurrent use.
type Tokenizer interface {
	// Name identifies the tokenizer and its version. The host advertises it
	// (RFC 0062 §A), and an archive made under another name is another archive.
	Name() string
	// Count is the number of tokens of text, which is valid UTF-8.
	Count(text string) int
}

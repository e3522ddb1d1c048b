package redact

import (
	"bytes"

	"github.com/openwop/agentmemory/internal/ordered"
)

// substrings finds a text within any of a changing set of texts. It keeps all their suffixes in
// order: one of them begins with the text, if any does.
type substrings struct{ suffixes ordered.List[[]byte] }

func newSubstrings() substrings {
	return substrings{ordered.List[[]byte]{Compare: bytes.Compare}}
}

// add adds a text, which belongs to s from then on.
func (s *substrings) add(text []byte) {
	for i := range text {
		s.suffixes.Insert(text[i:])
	}
}

// remove takes away a text that was added.
func (s *substrings) remove(text []byte) {
	for i := range text {
		s.suffixes.Remove(text[i:])
	}
}

// holds reports whether one of the texts holds text.
func (s *substrings) holds(text []byte) bool {
	for suffix := range s.suffixes.From(text) {
		return bytes.HasPrefix(suffix, text)
	}
	return false
}

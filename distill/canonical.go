package distill

import (
	"bytes"
	"encoding/json"

	"github.com/gowebpki/jcs"
)

// canonical is the canonical JSON (RFC 8785) of what this package encodes: strings,
// booleans, numbers up to 2^53-1, which are the ones that the form does not round, and
// objects whose names come in order. Without a backslash it has only one form, so that
// the canonicaliser, which takes its time over ten thousand sources, is not asked.
func canonical(v any) []byte {
	data, err := json.Marshal(v)
	if err == nil && bytes.IndexByte(data, '\\') >= 0 {
		data, err = jcs.Transform(data)
	}
	if err != nil {
		panic("distill: a value that is no JSON") // none of this package is one
	}
	return data
}

// escaped is the inside of the canonical JSON string of s.
func escaped(s string) string {
	data := canonical(s)
	return string(data[1 : len(data)-1])
}

// listed is list, but [] in JSON where a nil one would be null.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

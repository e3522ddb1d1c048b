package eventschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"github.com/openwop/agentmemory/events"
)

// maxDepth is events.Decode's limit for nesting.
const maxDepth = 100

// canonical decodes the canonical form (RFC 8785) of a document that is small,
// shallow and has no integer that the canonical form would round. The canonicaliser
// refuses repeated fields, lone surrogates and numbers that are no double. Errors
// are fixed phrases.
func canonical(raw []byte) (any, error) {
	if len(raw) > events.MaxDocBytes {
		return nil, errors.New("is longer than 4 MiB")
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, errors.New("is not JSON in UTF-8")
	}
	if err := checkTokens(raw); err != nil {
		return nil, err
	}
	plain, err := jcs.Transform(raw)
	if err != nil {
		return nil, errors.New("has no canonical form (RFC 8785)")
	}
	return decode(plain)
}

func checkTokens(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	for depth := 0; ; {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New("is not JSON")
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			if depth > maxDepth {
				return errors.New("nests too deep")
			}
		case json.Number:
			if strings.ContainsAny(token.String(), ".eE") {
				continue
			}
			n, err := strconv.ParseInt(token.String(), 10, 64)
			if err != nil || n > events.MaxInteger || n < -events.MaxInteger {
				return errors.New("has an integer beyond 2^53-1")
			}
		}
	}
}

// decode keeps numbers as they are written, for the validator to compare exactly.
func decode(plain []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("is not JSON")
	}
	return doc, nil
}

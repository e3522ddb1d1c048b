package jsonguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

const (
	maxDepth = 100
	// maxInteger is the largest integer that the canonical form does not round.
	maxInteger = 1<<53 - 1
)

// Decode returns the value of a document of at most maxBytes, read from its
// canonical form (RFC 8785): nil, bool, [json.Number], string, []any or
// map[string]any. The canonicaliser refuses repeated fields, lone surrogates and
// numbers that are no double. Errors are fixed phrases that follow on the name of
// the document.
func Decode(raw []byte, maxBytes int) (any, error) {
	if len(raw) > maxBytes {
		return nil, fmt.Errorf("is longer than %d bytes", maxBytes)
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, errors.New("is not JSON in UTF-8")
	}
	if err := checkTokens(raw); err != nil {
		return nil, err
	}
	plain, err := jcs.Transform(raw)
	if err != nil {
		return nil, errors.New("has a field twice, a lone surrogate or a number that is no double")
	}
	// Numbers stay as they are written, for the validator to compare exactly.
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("is not JSON")
	}
	return doc, nil
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
			if err != nil || n > maxInteger || n < -maxInteger {
				return errors.New("has an integer beyond 2^53-1")
			}
		}
	}
}

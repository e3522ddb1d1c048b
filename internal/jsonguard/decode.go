package jsonguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"
)

const (
	maxDepth = 100 // of nested arrays and objects
	// maxInteger is the largest integer up to which a double rounds none.
	maxInteger = 1<<53 - 1
)

// Decode returns the value of a document of at most maxBytes: nil, bool, float64, string, []any
// or map[string]any. The texts of errors follow on the name of the document.
func Decode(raw []byte, maxBytes int) (any, error) {
	if len(raw) > maxBytes {
		return nil, fmt.Errorf("is longer than %d bytes", maxBytes)
	}
	var value any
	err := json.Unmarshal(raw, &value)
	if errors.As(err, new(*json.UnmarshalTypeError)) {
		return nil, errors.New("has a number that is no double")
	}
	if err != nil || !utf8.Valid(raw) {
		return nil, errors.New("is not JSON in UTF-8")
	}
	names, err := checkText(raw)
	switch {
	case err != nil:
		return nil, err
	case hasLoneSurrogate(raw):
		return nil, errors.New("has a lone surrogate")
	case names != countNames(value):
		return nil, errors.New("has a field twice")
	}
	return value, nil
}

// checkText checks what the value of well-formed JSON does not show any more, and counts the names
// of fields.
func checkText(raw []byte) (names int, err error) {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			i += stringEnd(raw[i:])
		case ':':
			names++
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, errors.New("nests too deep")
			}
		case '}', ']':
			depth--
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			end := numberEnd(raw[i:])
			if !isExact(raw[i : i+end]) {
				return 0, errors.New("has an integer beyond 2^53-1")
			}
			i += end - 1
		}
	}
	return names, nil
}

// stringEnd returns the place of the quote that ends the string at the start of text.
func stringEnd(text []byte) int {
	i := 1
	for ; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

// numberEnd returns the length of the number at the start of text.
func numberEnd(text []byte) int {
	if n := bytes.IndexAny(text, ",]} \t\r\n"); n >= 0 {
		return n
	}
	return len(text)
}

// isExact reports whether a number is no integer literal, or none that a double rounds.
func isExact(number []byte) bool {
	if bytes.ContainsAny(number, ".eE") {
		return true
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	return err == nil && -maxInteger <= n && n <= maxInteger
}

// escapes are all but those of one half of a surrogate pair alone, and half is one of those.
var (
	escapes = regexp.MustCompile(`\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)
	half    = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// hasLoneSurrogate reports whether JSON has a \u escape for one half of a surrogate pair only,
// which encoding/json turns into U+FFFD.
func hasLoneSurrogate(raw []byte) bool {
	return half.Match(raw) && half.Match(escapes.ReplaceAll(raw, []byte(" ")))
}

// countNames counts the names of all fields in a value.
func countNames(value any) (n int) {
	switch value := value.(type) {
	case map[string]any:
		n = len(value)
		for _, field := range value {
			n += countNames(field)
		}
	case []any:
		for _, item := range value {
			n += countNames(item)
		}
	}
	return n
}

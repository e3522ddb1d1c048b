package jsonguard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
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
	if err == nil && names != countNames(value) {
		err = errors.New("has a field twice")
	}
	if err != nil {
		return nil, err
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
			end := stringEnd(raw[i:])
			if hasLoneSurrogate(raw[i : i+end]) {
				return 0, errors.New("has a lone surrogate")
			}
			i += end
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

// hasLoneSurrogate reports whether a string has a \u escape for one half of a surrogate pair only,
// which encoding/json turns into U+FFFD.
func hasLoneSurrogate(text []byte) bool {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		r := escape(text[i:])
		if !utf16.IsSurrogate(r) {
			i++ // the escaped character, which may be a backslash
			continue
		}
		if utf16.DecodeRune(r, escape(text[i+6:])) == utf8.RuneError {
			return true
		}
		i += 11
	}
	return false
}

// escape returns the code unit of the \u escape that text begins with, or -1.
func escape(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
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

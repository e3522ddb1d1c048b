package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
)

var (
	errNotJSON    = errors.New("not JSON")
	errNotObject  = errors.New("not an object")
	errUnknown    = errors.New("unknown field")
	errRepeated   = errors.New("repeated field")
	errTrailing   = errors.New("something after the object")
	errSurrogates = errors.New("an escaped surrogate without its other half")
)

// readObject decodes one JSON object that has no other fields than a line may
// have. It is stricter than json.Unmarshal, which would let the last of two
// equal fields win, take "Content" for "content" and put U+FFFD in place of half
// a surrogate pair.
func readObject(text []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	first, err := dec.Token()
	if err != nil {
		return nil, errNotJSON
	}
	if first != json.Delim('{') {
		return nil, notObject(text)
	}
	fields := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errNotJSON
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, errNotJSON
		}
		switch name {
		case "content", "tags", "subjects", "createdAt", "expiresAt":
		default:
			return nil, errUnknown
		}
		if _, repeated := fields[name]; repeated {
			return nil, errRepeated
		}
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, errNotJSON
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errTrailing
	}
	if hasLoneSurrogate(text) {
		return nil, errSurrogates
	}
	return fields, nil
}

// notObject tells JSON of another kind from what is no JSON at all.
func notObject(text []byte) error {
	if json.Valid(text) {
		return errNotObject
	}
	return errNotJSON
}

// hasLoneSurrogate looks for \uD800 to \uDFFF escapes that are not a pair, in
// text that is known to be JSON: a backslash stands in strings only, and four
// digits follow \u.
func hasLoneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(text[i:])
		if !ok || !utf16.IsSurrogate(unit) {
			i++ // over the escaped byte, which may be a backslash
			continue
		}
		low, _ := escapedUnit(text[i+6:])
		if utf16.DecodeRune(unit, low) == '\ufffd' {
			return true
		}
		i += 11
	}
	return false
}

// escapedUnit is the code unit of the \uXXXX that text begins with.
func escapedUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

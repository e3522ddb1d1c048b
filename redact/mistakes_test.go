package redact

import (
	"errors"
	"strings"
	"testing"
)

// What a host's author does wrong is named, with what to do; no text of the host is in it.
func TestR6_MistakesAreNamed(t *testing.T) {
	const value = "s3cr3t-value-42"
	register := func(id, value string) error { return New(Config{}).Register(id, []byte(value)) }
	redacted := func(r *SecretRegistry) error { _, err := r.Redact(value); return err }
	closed := New(Config{})
	closed.Close()
	strict := New(Config{Policy: Reject})
	if err := strict.Register("k", []byte(value)); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"a closed registry": {redacted(closed), ErrClosed,
			"redact: the secret registry is closed: give each run a registry of its own, and write before the run ends"},
		"a nil registry": {redacted(nil), ErrClosed,
			"redact: the secret registry is nil or a zero value: make it by redact.New"},
		"a zero registry": {redacted(new(SecretRegistry)), ErrClosed,
			"redact: the secret registry is nil or a zero value: make it by redact.New"},
		"a registry that rejects": {redacted(strict), ErrSecretFound,
			"redact: the text holds a secret, and the registry's policy is Reject"},
		"a short value": {register("k", "s3cr3t"), ErrTooShort,
			"redact: the value has fewer than 8 characters, and cannot be redacted: use a longer secret"},
		"a file for a value": {register("k", strings.Repeat(value, 10_000)), ErrTooLong,
			"redact: the value has more than 65,536 bytes, and cannot be redacted"},
		"no id": {register("", value), ErrID,
			"redact: the secret id is empty, longer than 64 bytes, begins with shape. or has a character other than A-Z a-z 0-9 . _ : / -"},
		"an id of two words": {register("api key", value), ErrID,
			"redact: the secret id is empty, longer than 64 bytes, begins with shape. or has a character other than A-Z a-z 0-9 . _ : / -"},
		"a value like a marker": {register("k", "REDACTED"), ErrMarkerText,
			"redact: a secret occurs in marker text, so that no text is free of it: choose another id, or use RegisterOptional"},
	} {
		if !errors.Is(m.err, m.class) || m.err.Error() != m.says {
			t.Errorf("%s: %v", name, m.err)
		}
		if strings.Contains(m.err.Error(), value) {
			t.Errorf("%s: the error holds the secret", name)
		}
	}
}

package redact

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// coded is what a package that does not know this one looks for.
type coded interface{ Code() string }

func codeOf(err error) string {
	var c coded
	if errors.As(fmt.Errorf("host: %w", err), &c) {
		return c.Code()
	}
	return ""
}

func TestErrors_HaveTheProtocolsCodes(t *testing.T) {
	for err, code := range map[*Error]string{
		ErrClosed: "secret_leakage", ErrMarkerText: "secret_leakage", ErrSecretFound: "secret_leakage",
		ErrTooShort: "validation_error", ErrTooLong: "validation_error", ErrID: "validation_error",
	} {
		if got := codeOf(err); got != code {
			t.Errorf("%v: code %q, want %q", err, got, code)
		}
	}
}

// Every refusal carries its code, whichever way it comes out, and holds nothing of
// the text.
func TestErrors_CodesOfRefusals(t *testing.T) {
	const secret = "hunter2hunter2"
	rejecting, _ := registered(t, Config{Policy: Reject}, []pair{{"a", secret}})
	closed := New(Config{})
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*SecretRegistry{"rejecting": rejecting, "closed": closed} {
		_, plain := r.Redact(secret)
		_, derived := r.RedactDerived(secret)
		_, appended := r.Append(nil, []byte(secret))
		w := r.NewWriter(io.Discard)
		_, written := io.WriteString(w, secret)
		for way, err := range map[string]error{
			"Redact": plain, "RedactDerived": derived, "Append": appended, "Write": errors.Join(written, w.Close()),
		} {
			if codeOf(err) != "secret_leakage" || strings.Contains(err.Error(), secret) {
				t.Errorf("%s, %s: %v, code %q", name, way, err, codeOf(err))
			}
		}
	}
	if err := rejecting.Register("b", []byte("short")); codeOf(err) != "validation_error" {
		t.Errorf("Register: %v, code %q", err, codeOf(err))
	}
}

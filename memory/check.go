package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/identifier"
	"github.com/openwop/agentmemory/memory/driver"
)

// Limits of the protocol and of this package.
const (
	// DefaultMaxEntryBytes bounds the redacted content of an entry, unless a
	// [Config] says otherwise.
	DefaultMaxEntryBytes = 65536
	// DefaultListLimit is the length of a list whose caller named none.
	DefaultListLimit = 100
	// MaxListLimit bounds every list, also if its caller asks for more.
	MaxListLimit = 1000
	// DefaultHorizon is how long a suspended run may wait, unless a [Config]
	// says otherwise.
	DefaultHorizon = 7 * 24 * time.Hour
	// DefaultLedgerRetention is how long erasures are remembered, unless a [Config]
	// says otherwise.
	DefaultLedgerRetention = 400 * 24 * time.Hour
	// DefaultMaxUndelivered bounds the events of a tenant that wait for the sink, unless a
	// [Config] says otherwise.
	DefaultMaxUndelivered = 10_000

	maxRefChars   = 256
	maxTagChars   = 256
	maxRunIDBytes = 128

	// What a draft may carry; what a derived entry takes over from its sources does not
	// count.
	maxLabels     = 256      // tags and subjects together
	maxLabelBytes = 16 << 10 // of their text
)

func validID(id string) bool { return identifier.Valid(id, driver.MaxIDBytes) }

// checkName refuses an identifier that is not [identifier.Valid]; the error calls it what.
func checkName(what, name string, limit int) error {
	switch {
	case identifier.Valid(name, limit):
		return nil
	case name == "":
		return fail(ErrValidation, what+" is empty")
	case len(name) > limit:
		return fail(ErrValidation, fmt.Sprintf("%s is longer than %d bytes", what, limit))
	}
	return fail(ErrValidation, what+" is not UTF-8 or has control characters")
}

func checkTenant(tenant string) error {
	if tenant == "" {
		return fail(ErrValidation, "the tenant is empty: take it from the caller's authentication")
	}
	return checkName("the tenant", tenant, driver.MaxTenantBytes)
}

// checkRef refuses what is no memoryRef: it has 1 to 256 characters and nothing that looks like
// path traversal.
func checkRef(ref string) error {
	if err := checkName("the memoryRef", ref, driver.MaxRefBytes); err != nil {
		return err
	}
	if strings.Contains(ref, "..") {
		return fail(ErrValidation, `the memoryRef has ".."`)
	}
	return checkChars("the memoryRef", ref)
}

// checkSubject refuses what is no subject label.
func checkSubject(subject string) error {
	if err := checkName("a subject", subject, driver.MaxLabelBytes); err != nil {
		return err
	}
	return checkChars("a subject", subject)
}

func checkChars(what, name string) error {
	if utf8.RuneCountInString(name) > maxRefChars {
		return fail(ErrValidation, fmt.Sprintf("%s is longer than %d characters", what, maxRefChars))
	}
	return nil
}

// validText accepts text that every store can hold.
func validText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// validInstant accepts what RFC 3339 can write; the zero time is not an instant.
func validInstant(t time.Time) bool {
	if t.IsZero() {
		return false
	}
	y := t.UTC().Year()
	return y >= 1 && y <= 9999
}

// Instants are whole milliseconds, in UTC. One that tells when something was, or that ends
// something, is rounded down: a clock's, CreatedAt, ExpiresAt, an event's. One before which
// something may not be is rounded up: a bound of a search, a due instant. So nothing lives too
// long, and nothing comes too early.

// millis rounds an instant down.
func millis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// millisUp rounds an instant up; zero stays zero.
func millisUp(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return millis(t.Add(time.Millisecond - time.Nanosecond))
}

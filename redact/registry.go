package redact

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Limits of what can be registered.
const (
	MinValue = 8       // code points of a value (RFC 0004's floor)
	MaxValue = 1 << 16 // bytes of a value
	MaxID    = 64      // bytes of an id
)

// Policy says what happens to a text that holds a secret.
type Policy uint8

const (
	// Rewrite replaces each secret by its marker. It is the default, and the only policy under
	// which an entry is stored with its marker.
	Rewrite Policy = iota
	// Reject refuses the text with [ErrSecretFound], code secret_leakage.
	Reject
)

// Config is how a registry redacts. The zero value is the usual choice.
type Config struct {
	Policy Policy
	// PlainOnly leaves encoded forms of values alone (R7).
	PlainOnly bool
	// Shapes makes all redactions also replace what has the shape of a secret, as
	// [SecretRegistry.RedactDerived] always does (R5): secrets that were not registered are caught
	// if their form is well known. A writer then writes nothing before Close.
	Shapes bool
}

// SecretRegistry holds the secrets of one run or pass and redacts text. Use [New]; the zero value
// and nil behave as a closed registry.
type SecretRegistry struct {
	// Behind a pointer of its own, so that no print of a registry, or of a struct that holds one by
	// value, reaches a secret.
	s *state
}

// state is the registry proper. A redaction holds mu for reading, so that nothing that it reads
// is wiped under it.
type state struct {
	cfg Config

	mu       sync.RWMutex
	broken   error // ErrClosed or ErrMarkerText
	set      secretSet
	compiled sync.Once // since set changed: matcher, which is nil before
	matcher  *matcher
	free     atomic.Pointer[scratch] // memory for the next scan, or nil
}

// New returns an open registry without secrets.
func New(cfg Config) *SecretRegistry {
	return &SecretRegistry{&state{cfg: cfg, set: newSecretSet(!cfg.PlainOnly)}}
}

// closed is the state of a registry that was never made.
var closed = &state{cfg: Config{Policy: Reject}, broken: errZero}

func (r *SecretRegistry) state() *state {
	if r == nil || r.s == nil {
		return closed
	}
	return r.s
}

// Register adds a value to be replaced by the marker of id, for every redaction that begins after
// it returned. It copies value; the caller may wipe its own. One line end at the end of value is
// left out: it is the file's from which the value was read.
//
// Register secrets of users, tenants, workspaces and runs, and none of the platform (SR-1). One id
// may have several values, as during a rotation; the same id and value again is no error and
// changes nothing. Where several ids have the same value the marker names the first of them in byte
// order.
//
// A value must have at least [MinValue] code points and at most [MaxValue] bytes, an id at most
// [MaxID] bytes from [A-Za-z0-9._:/-], and may not begin with "shape.", as the ids of shapes do. On [ErrTooShort], [ErrTooLong] and [ErrID] nothing happened:
// the value is not covered, and a host decides whether it starts the run at all. On [ErrMarkerText]
// (the value, or one registered before, occurs in marker text) the registry refuses every text from
// now on (R1).
func (r *SecretRegistry) Register(id string, value []byte) error {
	return r.state().register(id, value, false)
}

// RegisterOptional is [SecretRegistry.Register] for a value that the host can do without. If the
// value occurs in marker text, it alone is refused, with [ErrMarkerText], and the registry stays open;
// a text may then hold it. An optional value is also given up, without an error, if a later id
// brings the conflict about. [SecretRegistry.Uncovered] names the ids of both. A value that is
// registered both ways is not optional.
func (r *SecretRegistry) RegisterOptional(id string, value []byte) error {
	return r.state().register(id, value, true)
}

func (s *state) register(id string, value []byte, optional bool) error {
	if n := len(value); n > 0 && value[n-1] == '\n' {
		value = bytes.TrimSuffix(value[:n-1], []byte("\r"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken != nil:
		return s.broken
	case !validID(id) || strings.HasPrefix(id, shapePrefix):
		return ErrID
	case len(value) > MaxValue:
		return ErrTooLong
	case utf8.RuneCount(value) < MinValue:
		return ErrTooShort
	}
	changed, err := s.set.add(id, value, optional)
	if changed {
		s.retire()
	}
	if err != nil && !optional {
		s.fail(err)
	}
	return err
}

// Uncovered returns, in byte order, the ids with an optional value that was refused or given up. An
// id stays on this list until Unregister, also if the value is registered again and then covered.
func (r *SecretRegistry) Uncovered() []string {
	s := r.state()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.set.refused))
}

// Unregister forgets all values of id. Redactions that begin after it returned let them pass. An
// unknown id is no error. It does not mend a registry that refuses text.
func (r *SecretRegistry) Unregister(id string) {
	s := r.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.set.remove(id)
		s.retire()
	}
}

// Close waits for redactions that are under way and wipes the registry's copies of all values.
// Every later call returns [ErrClosed]. Closing again does nothing. The error is always nil.
func (r *SecretRegistry) Close() error {
	if s := r.state(); s != closed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(ErrClosed)
	}
	return nil
}

// Inline reports true: every method returns promptly, so that package memory calls a registry in
// place.
func (r *SecretRegistry) Inline() bool { return true }

// fail makes every later call return err. The caller holds mu.
func (s *state) fail(err error) {
	s.broken = err
	s.retire()
	s.set.wipe()
}

// retire drops the matcher. The caller holds mu.
func (s *state) retire() {
	if s.matcher != nil {
		s.matcher.wipe()
		s.matcher, s.compiled = nil, sync.Once{}
	}
}

// acquire returns a matcher for the secrets of this moment and memory for a scan. Until the caller
// releases it, the registry does not change.
func (s *state) acquire() (*matcher, *scratch, error) {
	s.mu.RLock()
	if err := s.broken; err != nil {
		s.mu.RUnlock()
		return nil, nil, err
	}
	s.compiled.Do(func() { s.matcher = s.set.compile() })
	if kept := s.free.Swap(nil); kept != nil {
		return s.matcher, kept, nil
	}
	return s.matcher, new(scratch), nil
}

// release ends what acquire began.
func (s *state) release(scratch *scratch) {
	clear(scratch.copied)
	clear(scratch.joined)
	s.free.Store(scratch)
	s.mu.RUnlock()
}

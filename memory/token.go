package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// Token names what a run saw at one position of its log: the tenant and the run, each
// by a digest, the version that its view stands on, its own writes up to there, and
// the instant. It is opaque, printable, at most 1 KB long, and safe to keep in a run's log.
// The own writes of a run that wrote much are kept in the store, see [Run.Token].
//
// A token is not signed: a host keeps its tokens where no other party writes. A forged
// one can show what its tenant's memory was at another version, but
// nothing of another tenant.
type Token string

// snapshot is what a token says.
type snapshot struct {
	tenant string // known to the reader; the token has its digest
	run    string // its digest
	base   driver.Version
	at     time.Time
	opened time.Time // when the run's view was
	own    ownMarks  // until [Bank.loadOwn] nil if listed is set
	listed string    // the key of the document that has own; empty if the token has it
}

// ownMarks are the own writes of a run, by ref.
type ownMarks map[string][]ownMark

// ownMark is an entry that a run wrote, or hides from itself: what it replaced, and an own write
// that it deleted.
type ownMark struct {
	ID        string `json:"id"`
	Inherited bool   `json:"in,omitempty"`
	Hidden    bool   `json:"hid,omitempty"`
}

// digestOf is what a token says in place of a name.
func digestOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

const (
	tokenFormat   = 1
	tokenSumBytes = 8 // enough to tell a damaged token from a whole one
	// maxOwnBytes is how long the own writes of a token may be before it names a document of them.
	maxOwnBytes = 512
)

// tokenBody is a token as JSON. With a checksum behind it, and in base64, it is what a host is given: it
// never begins with "-", as a flag of a command line does.
type tokenBody struct {
	Format int            `json:"v"`
	Tenant string         `json:"tenant"`
	Run    string         `json:"run"`
	Base   driver.Version `json:"base"`
	At     int64          `json:"at"` // in milliseconds
	Opened int64          `json:"opened"`
	Own    ownMarks       `json:"own,omitempty"`
	Listed string         `json:"listed,omitempty"`
}

func (s *snapshot) token() Token {
	body := tokenBody{tokenFormat, digestOf(s.tenant), s.run, s.base, s.at.UnixMilli(), s.opened.UnixMilli(), s.own, s.listed}
	if s.listed != "" {
		body.Own = nil
	}
	text, _ := json.Marshal(body) // strings and numbers always are JSON
	sum := sha256.Sum256(text)
	return Token(base64.RawURLEncoding.EncodeToString(append(text, sum[:tokenSumBytes]...)))
}

// snapshot reads a token that must belong to the tenant.
func (t Token) snapshot(tenant string) (*snapshot, error) {
	raw, err := base64.RawURLEncoding.DecodeString(string(t))
	if err != nil || len(raw) <= tokenSumBytes {
		return nil, errToken
	}
	text, want := raw[:len(raw)-tokenSumBytes], raw[len(raw)-tokenSumBytes:]
	var body tokenBody
	if sum := sha256.Sum256(text); !bytes.Equal(sum[:tokenSumBytes], want) || json.Unmarshal(text, &body) != nil {
		return nil, errToken
	}
	if body.Format != tokenFormat || body.Base == "" { // without a version a store would show live memory
		return nil, errToken
	}
	if body.Tenant != digestOf(tenant) {
		return nil, fail(ErrSnapshotUnavailable, "the token is of another tenant: use it under the one that took it")
	}
	s := &snapshot{
		tenant: tenant, run: body.Run, base: body.Base, own: body.Own, listed: body.Listed,
		at: time.UnixMilli(body.At).UTC(), opened: time.UnixMilli(body.Opened).UTC(),
	}
	if s.listed == "" && s.own == nil {
		s.own = ownMarks{}
	}
	return s, nil
}

var errToken = fail(ErrSnapshotUnavailable, "the token is not one of this package, or was cut or changed")

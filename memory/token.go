package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// Token names what a run saw at one position of its log: the store, the tenant,
// the run, the version that its view stands on, its own writes up to there, and
// the instant. It is opaque, printable and safe to keep in a run's log; it grows
// by about a hundred bytes for each own write.
type Token string

// snapshot is what a token says.
type snapshot struct {
	Tenant string               `json:"t"`
	RunID  string               `json:"r"`
	Base   Version              `json:"b"`
	Millis int64                `json:"i"`
	Own    map[string][]ownMark `json:"o,omitempty"` // by ref, oldest first
}

// ownMark is an entry that a run wrote, at the version that its write made.
type ownMark struct {
	ID        string  `json:"i"`
	Version   Version `json:"v"`
	Inherited bool    `json:"h,omitempty"`
}

// tokenSumBytes is enough to tell a damaged token from a whole one. It is no
// signature: a host keeps its tokens where nobody else writes.
const tokenSumBytes = 8

func (s *snapshot) token() Token {
	body, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers only
	}
	sum := sha256.Sum256(body)
	return Token(base64.RawURLEncoding.EncodeToString(append(sum[:tokenSumBytes], body...)))
}

// snapshot reads a token that must belong to the tenant.
func (t Token) snapshot(tenant string) (*snapshot, error) {
	raw, err := base64.RawURLEncoding.DecodeString(string(t))
	if err != nil || len(raw) < tokenSumBytes {
		return nil, fail(ErrSnapshotUnavailable, "malformed token")
	}
	body := raw[tokenSumBytes:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:tokenSumBytes], raw[:tokenSumBytes]) {
		return nil, fail(ErrSnapshotUnavailable, "malformed token")
	}
	s := new(snapshot)
	if err := json.Unmarshal(body, s); err != nil {
		return nil, fail(ErrSnapshotUnavailable, "malformed token")
	}
	if s.Tenant != tenant {
		return nil, fail(ErrSnapshotUnavailable, "the token belongs to another tenant")
	}
	return s, nil
}

func (s *snapshot) instant() time.Time { return time.UnixMilli(s.Millis).UTC() }

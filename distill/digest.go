package distill

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// Digest is a SHA-256 sum: an archive's address, or the key of the distillation
// that an archive answers. Its text form is "sha256:" and 64 lower-case hex digits.
type Digest [sha256.Size]byte

const digestHead = "sha256:"

// DigestOf is the address of archive bytes.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// ParseDigest reads the text form, and no other.
func ParseDigest(s string) (d Digest, err error) {
	sum, _ := hex.DecodeString(strings.TrimPrefix(s, digestHead))
	if copy(d[:], sum); len(sum) != len(d) || d.String() != s {
		return Digest{}, invalid("the digest is not sha256: and 64 lower-case hex digits")
	}
	return d, nil
}

// String returns the text form.
func (d Digest) String() string { return digestHead + hex.EncodeToString(d[:]) }

// IsZero reports whether d is no digest at all.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns the text form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDigest(string(text))
	return err
}

// sourceDigest is the digest by which an archive names what a source said: SHA-256
// of the canonical JSON of {content, createdAt, tags}, redacted as it was when the
// archive was made. An auditor who holds the entry can compute it again.
func sourceDigest(e memory.Entry) Digest {
	return sha256.Sum256(canonical(&struct {
		Content   string   `json:"content"`
		CreatedAt string   `json:"createdAt"`
		Tags      []string `json:"tags"`
	}{e.Content, e.CreatedAt.UTC().Format(wireTime), listed(e.Tags)}))
}

const wireTime = "2006-01-02T15:04:05.000Z"

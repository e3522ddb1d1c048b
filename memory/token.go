package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"slices"
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
	run    nameDigest
	base   driver.Version
	at     time.Time
	opened time.Time            // when the run's view was
	own    map[string][]ownMark // by ref; until [Bank.loadOwn] nil if listed is set
	listed string               // the key of the document that has own; empty if the token has it
}

// ownMark is an entry that a run wrote, or hides from itself: what it replaced, and an own write
// that it deleted.
type ownMark struct {
	id                string
	inherited, hidden bool
}

// nameDigest stands for a name in a token.
type nameDigest [12]byte

func digestOf(name string) (d nameDigest) {
	sum := sha256.Sum256([]byte(name))
	copy(d[:], sum[:])
	return d
}

const (
	tokenFormat   = 1
	tokenSumBytes = 8 // enough to tell a damaged token from a whole one
	// maxOwnBytes is how long the own writes of a token may be before it names a document of them.
	maxOwnBytes = 512
)

func (s *snapshot) token() Token {
	tenant := digestOf(s.tenant)
	list := s.ownBytes()
	b := []byte{tokenFormat}
	b = append(b, tenant[:]...)
	b = append(b, s.run[:]...)
	b = binary.AppendVarint(b, s.at.UnixMilli())
	b = binary.AppendVarint(b, s.at.UnixMilli()-s.opened.UnixMilli())
	b = appendName(b, string(s.base))
	b = appendName(b, s.listed)
	if s.listed == "" {
		b = append(b, list...)
	}
	sum := sha256.Sum256(b)
	return Token(base64.RawURLEncoding.EncodeToString(append(sum[:tokenSumBytes], b...)))
}

// ownBytes are the own writes as a token has them, or the document that it names.
func (s *snapshot) ownBytes() (b []byte) {
	for _, ref := range slices.Sorted(maps.Keys(s.own)) {
		b = appendName(b, ref)
		b = binary.AppendUvarint(b, uint64(len(s.own[ref])))
		for _, m := range s.own[ref] {
			b = appendMark(b, m)
		}
	}
	return b
}

// snapshot reads a token that must belong to the tenant.
func (t Token) snapshot(tenant string) (*snapshot, error) {
	raw, err := base64.RawURLEncoding.DecodeString(string(t))
	if err != nil || len(raw) <= tokenSumBytes {
		return nil, errToken
	}
	body := raw[tokenSumBytes:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:tokenSumBytes], raw[:tokenSumBytes]) || body[0] != tokenFormat {
		return nil, errToken
	}
	r := tokenReader{rest: body[1:]}
	owner := r.digest()
	s := &snapshot{tenant: tenant, run: r.digest(), at: time.UnixMilli(r.varint()).UTC()}
	s.opened = s.at.Add(-time.Duration(r.varint()) * time.Millisecond)
	s.base = driver.Version(r.name())
	if s.listed = r.name(); s.listed == "" {
		s.own = r.own()
	}
	if r.bad || s.base == "" { // without a version a store would show live memory
		return nil, errToken
	}
	if owner != digestOf(tenant) {
		return nil, fail(ErrSnapshotUnavailable, "the token is of another tenant")
	}
	return s, nil
}

var errToken = fail(ErrSnapshotUnavailable, "the token is not one of this package, or was cut or changed")

func appendName(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// An id that a bank issued takes 17 bytes in a token: its number is written in binary.
const (
	markInherited = 1 << iota
	markIssued
	markHidden
)

func appendMark(b []byte, m ownMark) []byte {
	var flags byte
	if m.inherited {
		flags |= markInherited
	}
	if m.hidden {
		flags |= markHidden
	}
	if high, low, ok := parseID(entryPrefix, m.id); ok {
		b = append(b, flags|markIssued)
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, high), low)
	}
	return appendName(append(b, flags), m.id)
}

// tokenReader takes a token apart. After a mistake it is bad, and gives zero values.
type tokenReader struct {
	rest []byte
	bad  bool
}

func (r *tokenReader) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.rest)) {
		r.bad = true
		return nil
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *tokenReader) digest() (d nameDigest) {
	copy(d[:], r.bytes(uint64(len(d))))
	return d
}

func (r *tokenReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	r.bytes(uint64(max(size, 0)))
	r.bad = r.bad || size <= 0
	return n
}

func (r *tokenReader) varint() int64 {
	n, size := binary.Varint(r.rest)
	r.bytes(uint64(max(size, 0)))
	r.bad = r.bad || size <= 0
	return n
}

func (r *tokenReader) name() string { return string(r.bytes(r.uvarint())) }

// own reads the own writes, which come last.
func (r *tokenReader) own() map[string][]ownMark {
	own := map[string][]ownMark{}
	for len(r.rest) > 0 && !r.bad {
		ref := r.name()
		for n := r.uvarint(); n > 0 && !r.bad; n-- {
			own[ref] = append(own[ref], r.mark())
		}
	}
	return own
}

func (r *tokenReader) mark() ownMark {
	flags := r.bytes(1)
	if r.bad {
		return ownMark{}
	}
	m := ownMark{inherited: flags[0]&markInherited != 0, hidden: flags[0]&markHidden != 0}
	if flags[0]&markIssued == 0 {
		m.id = r.name()
	} else if number := r.bytes(16); !r.bad {
		m.id = formatID(entryPrefix, binary.BigEndian.Uint64(number), binary.BigEndian.Uint64(number[8:]))
	}
	return m
}

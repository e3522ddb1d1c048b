package driver

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Mark is a random value, as crypto/rand has it, that a store gives each version and keeps beside
// its number until the horizon passes it. A history that was lost and written anew has other
// marks under the same numbers, so that its versions can be told apart.
type Mark [10]byte

// FirstMark is the mark of version 0, the state before a tenant's first mutation, which
// no mutation made. Incarnation is a random name that a store takes when it is made.
func FirstMark(incarnation, tenant string) (m Mark) {
	sum := sha256.Sum256([]byte(incarnation + "\x00" + tenant))
	copy(m[:], sum[:])
	return m
}

// Version is the version of the number n whose mark is m.
func (m Mark) Version(n uint64) Version {
	var buf [40]byte
	b := append(strconv.AppendUint(buf[:0], n, 10), '.')
	return Version(base64.RawURLEncoding.AppendEncode(b, m[:]))
}

// Parse returns the number and the mark of a version that [Mark.Version] made. Anything
// else is [ErrSnapshotUnavailable]; whether the mark is the one that the store has for that
// number is for the store to say.
func (v Version) Parse() (n uint64, m Mark, err error) {
	digits, mark, _ := strings.Cut(string(v), ".")
	n, err = strconv.ParseUint(digits, 10, 63)
	if err == nil && len(mark) == base64.RawURLEncoding.EncodedLen(len(m)) {
		_, err = base64.RawURLEncoding.Decode(m[:], []byte(mark))
	}
	if err != nil || m.Version(n) != v {
		return 0, Mark{}, ErrSnapshotUnavailable
	}
	return n, m, nil
}

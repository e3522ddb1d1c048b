package storerules

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// Mark is what all versions of one tenant in one incarnation of a store begin with.
// It names neither.
type Mark string

// MarkOf returns the mark of a tenant. All incarnations of a kind of store have names
// of one length.
func MarkOf(incarnation, tenant string) Mark {
	sum := sha256.Sum256([]byte(incarnation + tenant))
	return Mark(base64.RawURLEncoding.EncodeToString(sum[:12]) + ".")
}

// Version writes down the n-th version.
func (m Mark) Version(n uint64) memory.Version {
	var buf [48]byte
	return memory.Version(strconv.AppendUint(append(buf[:0], m...), n, 10))
}

// Number reads a version, or returns [memory.ErrSnapshotUnavailable] for one of
// another tenant or incarnation and for what is no version.
func (m Mark) Number(v memory.Version) (uint64, error) {
	digits, ok := strings.CutPrefix(string(v), string(m))
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || m.Version(n) != v {
		return 0, memory.ErrSnapshotUnavailable
	}
	return n, nil
}

package postgres

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// isNoText reports whether PostgreSQL cannot hold a text.
func isNoText(s string) bool { return !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 }

// name is a string that is kept as BYTEA.
type name = sqlstore.Name

func idKeys(list []string) [][]byte {
	if len(list) == 0 {
		return nil
	}
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// textList is a list of texts or names, read as array_send writes it, which takes a
// fraction of what a driver does for an array.
type textList []string

// ScanBytes implements pgtype.BytesScanner; NULL is nil.
func (l *textList) ScanBytes(v []byte) error {
	*l = nil
	const head = 20 // dimensions, a flag, the type, the length and the first index
	if len(v) < head {
		return nil
	}
	out := make(textList, 0, min(int(binary.BigEndian.Uint32(v[12:])), len(v)/4))
	for v = v[head:]; len(v) >= 4; {
		n := int(int32(binary.BigEndian.Uint32(v)))
		if v = v[4:]; n < 0 || n > len(v) {
			return errArray
		}
		out = append(out, string(v[:n]))
		v = v[n:]
	}
	*l = out
	return nil
}

var errArray = errors.New("postgres: malformed array")

// never is the instant and the version after all others.
const never = sqlstore.Never

package boltstore

import (
	"encoding/binary"
	"strings"
	"time"
)

// A key is a list of strings, such as a tenant, a ref and an id. Each ends with the bytes
// 0 and 1, and a zero byte in it is followed by 255. So two lists never have the same key,
// whatever bytes are in them; keys stand in the order of their lists; and the key of a
// scope is the prefix of the keys of all that is in the scope, and of nothing else.
//
// A separator such as "/" would join the scope "a/b", "c" with the scope "a", "b/c". That
// is the first thing for which the kit looks (CTI-1).
func key(parts ...string) []byte {
	var k []byte
	for _, p := range parts {
		k = append(k, strings.ReplaceAll(p, "\x00", "\x00\xff")...)
		k = append(k, 0, 1)
	}
	return k
}

// above returns the least key behind all keys that begin with a key.
func above(k []byte) []byte {
	return append(k[:len(k)-1:len(k)-1], 2)
}

// with returns the key k with a number and a text behind it, in their order. It may be
// followed by nothing else.
func with(k []byte, n uint64, text string) []byte {
	k = binary.BigEndian.AppendUint64(k[:len(k):len(k)], n)
	return append(k, text...)
}

// millis is an instant as a number of a key. Years before 1970 have negative milliseconds:
// the first bit puts them before the others.
func millis(at time.Time) uint64 { return uint64(at.UnixMilli()) ^ 1<<63 }

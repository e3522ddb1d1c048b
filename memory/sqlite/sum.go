package sqlite

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// Each entry and each value of a document is stored with a CRC-32C, which is compared when
// it is read, so that a bit that was flipped on the disk is an error and not another text.
// It stands in a column that has other things too: a column of its own would make a read
// a fifth dearer.

const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summed returns a value as it is stored. It is never NULL, which is what no document has.
func summed(value []byte) []byte {
	b := make([]byte, sumBytes, sumBytes+len(value))
	binary.BigEndian.PutUint32(b, crc32.Checksum(value, castagnoli))
	return append(b, value...)
}

// unsummed returns a value that was stored, unless it is damaged.
func unsummed(stored []byte) (value []byte, ok bool) {
	if len(stored) < sumBytes {
		return nil, false
	}
	value = stored[sumBytes:]
	return value, binary.BigEndian.Uint32(stored) == crc32.Checksum(value, castagnoli)
}

// headOf returns what is stored of an entry beside its content: the sum, and each with its
// length its run and its packed tags, subjects and sources.
func headOf(id string, created, expires int64, fields [4][]byte, content string) []byte {
	head := make([]byte, sumBytes, 64)
	for _, f := range fields {
		head = append(binary.AppendUvarint(head, uint64(len(f))), f...)
	}
	binary.BigEndian.PutUint32(head, new(summer).sum(head[sumBytes:], id, created, expires, content))
	return head
}

// readHead sets the fields of an entry that its head has.
func readHead(e *driver.Entry, head []byte) bool {
	if len(head) < sumBytes {
		return false
	}
	var fields [4][]byte
	rest := head[sumBytes:]
	for i := range fields {
		var ok bool
		if fields[i], rest, ok = sqlstore.Cut(rest); !ok {
			return false
		}
	}
	var ok [3]bool
	e.RunID = string(fields[0])
	e.Tags, ok[0] = sqlstore.Unpack(fields[1])
	e.Subjects, ok[1] = sqlstore.Unpack(fields[2])
	e.Sources, ok[2] = sqlstore.Unpack(fields[3])
	return ok == [3]bool{true, true, true}
}

// summer computes the checksums of entries. A hash takes bytes only, and a copy of all of
// a text would cost more than the sum.
type summer struct{ buffer [256]byte }

func (s *summer) sum(fields []byte, id string, created, expires int64, content string) uint32 {
	b := binary.BigEndian.AppendUint64(s.buffer[:0], uint64(created))
	b = binary.BigEndian.AppendUint64(b, uint64(expires))
	sum := crc32.Update(crc32.Checksum(fields, castagnoli), castagnoli, b)
	for _, text := range []string{id, content} {
		for len(text) > 0 {
			n := copy(s.buffer[:], text)
			sum = crc32.Update(sum, castagnoli, s.buffer[:n])
			text = text[n:]
		}
	}
	return sum
}

package redact

import (
	"math/bits"
	"unsafe"
)

// Forms, and the text between forms that are near each other, mostly have 16 to
// 64 bytes. Such pieces are compared and copied in four steps of 16 bytes, which
// overlap if they have to: a branch on a length that changes from one piece to the
// next would often be mispredicted, and cost more than all the rest.
const (
	minShort = 16
	maxShort = 64
)

func isShort(n int) bool { return uint(n-minShort) <= maxShort-minShort }

// innerSteps returns where the second and the third of the steps for n bytes begin:
// min(16, n-16) and max(0, n-32), without a branch. The others begin at 0 and n-16.
func innerSteps(n int) (int, int) {
	n -= 32
	negative := n >> (bits.UintSize - 1)
	return 16 + n&negative, n &^ negative
}

// differ16 is not 0 if the 16 bytes at i differ.
func differ16(x, y unsafe.Pointer, i int) uint64 {
	return (word64(x, i) ^ word64(y, i)) | (word64(x, i+8) ^ word64(y, i+8))
}

func copy16(to, from unsafe.Pointer, i int) {
	*(*[16]byte)(unsafe.Add(to, i)) = *(*[16]byte)(unsafe.Add(from, i))
}

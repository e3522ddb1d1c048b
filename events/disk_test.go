package events

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
)

// disk is a file whose writes can be made to fail, and which knows what a crash
// may leave of it.
type disk struct {
	data    []byte
	durable int // so much is there after a crash for sure

	keep      int // if not negative, the next write keeps so many bytes and fails
	failSync  bool
	failTrunc bool
	syncs     int
}

var errDisk = errors.New("disk failure")

func newDisk(data []byte) *disk {
	return &disk{data: bytes.Clone(data), durable: len(data), keep: -1}
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(d.data)) {
		return 0, io.EOF
	}
	n := copy(p, d.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.keep >= 0 {
		d.data = append(d.data[:off], p[:min(d.keep, len(p))]...)
		return min(d.keep, len(p)), errDisk
	}
	d.data = append(d.data[:off], p...)
	return len(p), nil
}

func (d *disk) Truncate(size int64) error {
	if d.failTrunc {
		return errDisk
	}
	d.data = d.data[:size]
	d.durable = min(d.durable, int(size))
	return nil
}

func (d *disk) Sync() error {
	if d.failSync {
		return errDisk
	}
	d.syncs++
	d.durable = len(d.data)
	return nil
}

func (d *disk) Close() error { return nil }

// crashed is a disk after a crash: something between what is durable and what was
// written, with zeros in place of the rest if the file had its new length already.
func (d *disk) crashed(rng *rand.Rand) *disk {
	n := d.durable + rng.IntN(len(d.data)-d.durable+1)
	data := bytes.Clone(d.data[:n])
	if rng.IntN(4) == 0 {
		data = append(data, make([]byte, len(d.data)-n)...)
	}
	return newDisk(data)
}

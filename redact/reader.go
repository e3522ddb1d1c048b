package redact

import (
	"bytes"
	"cmp"
	"io"
)

// NewReader returns a reader that yields what Redact would make of everything in
// src, whatever the pieces (R4). It reads ahead, and holds back fewer bytes than
// the longest form of the longest value has until src ends.
//
// If src or the registry fails, the reader yields what was decided before, then
// that error; what it held back is dropped. Under [Reject] that is
// [ErrSecretFound].
func (r *SecretRegistry) NewReader(src io.Reader) io.Reader {
	s := &readerState{src: src, piece: new([chunk]byte), ready: new(bytes.Buffer)}
	s.stream = newStream(r.state(), s.ready)
	return &reader{s}
}

// reader keeps its text behind pointers, where no print of it reaches.
type reader struct{ s *readerState }

// readerState writes the source to a stream, and what comes out is ready to be read.
type readerState struct {
	stream *stream
	ready  *bytes.Buffer
	src    io.Reader
	piece  *[chunk]byte
}

// maxEmptyReads is how often src may return nothing, as in package bufio.
const maxEmptyReads = 100

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	s := r.s
	for empty := 0; len(p) > 0 && s.ready.Len() == 0 && s.stream.err == nil; empty++ {
		n, err := s.src.Read(s.piece[:])
		if n < 0 || n > len(s.piece) { // a broken src
			n, err = 0, io.ErrNoProgress
		}
		if n > 0 {
			empty = 0
		} else if empty == maxEmptyReads {
			err = cmp.Or(err, io.ErrNoProgress)
		}
		s.stream.push(s.piece[:n], err == io.EOF)
		clear(s.piece[:n])
		if s.stream.err == nil && err != nil {
			s.stream.drop(err)
		}
	}
	if n, _ := s.ready.Read(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, s.stream.err
}

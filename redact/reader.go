package redact

import "io"

// NewReader returns a reader that yields what Redact would make of everything in
// src, whatever the pieces (R4). It reads ahead, and holds back fewer bytes than
// the longest form of the longest value has until src ends.
//
// If src or the registry fails, the reader yields what was decided before, then
// that error; what it held back is dropped. Under [Reject] that is
// [ErrSecretFound].
func (r *SecretRegistry) NewReader(src io.Reader) io.Reader {
	return &reader{&readerState{stream: stream{r: r}, src: src}}
}

// reader keeps its text behind a pointer, where no print of it reaches.
type reader struct{ s *readerState }

type readerState struct {
	stream
	src  io.Reader
	out  []byte // not read yet
	last error  // of src; nil as long as there may be more
}

// maxEmptyReads is how often src may return nothing, as in package bufio.
const maxEmptyReads = 100

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	s := r.s
	for empty := 0; len(p) > 0 && len(s.out) == 0 && s.err == nil; {
		if s.last != nil {
			s.drop(s.last)
			break
		}
		if n := s.fill(); n > 0 || s.last != nil {
			empty = 0
		} else if empty++; empty == maxEmptyReads {
			s.drop(io.ErrNoProgress)
		}
	}
	if len(s.out) > 0 {
		n := copy(p, s.out)
		s.out = s.out[n:]
		return n, nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	return 0, s.err
}

// fill reads from src once and decides what can be.
func (s *readerState) fill() int {
	in := s.room(chunk)
	n, err := s.src.Read((*in)[len(*in):][:chunk])
	if n < 0 || n > chunk {
		n, err = 0, io.ErrNoProgress // a broken src
	}
	*in = (*in)[:len(*in)+n]
	s.last = err
	out, err := s.decide(s.last == io.EOF)
	if err != nil {
		s.drop(err)
		return n
	}
	s.out = out
	return n
}

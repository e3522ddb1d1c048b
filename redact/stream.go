package redact

import (
	"io"
	"slices"
	"sync"
)

// chunk is how much of a stream is looked at in one go.
const chunk = 32 << 10

// NewWriter returns a writer that writes to w what Redact would make of everything written to it,
// in pieces of any size (R4). It holds back fewer bytes than the longest form of the longest value
// has, but everything with [Config.Shapes]; Close writes these, and does not close w. A secret that is registered meanwhile counts for
// the bytes that were not written yet.
//
// After an error, of w or of the registry, the writer has dropped what it held back: nothing of it
// is ever written, and every later call returns that error. Under [Reject] the error is
// [ErrSecretFound], and what stood before the secret may have been written.
func (r *SecretRegistry) NewWriter(w io.Writer) io.WriteCloser {
	return &writer{&stream{buffers: bufferPool.Get().(*buffers), registry: r.state(), w: w}}
}

// writer keeps its text behind pointers, where no print of it reaches.
type writer struct{ s *stream }

type stream struct {
	*buffers // nil at the end
	registry *state
	w        io.Writer
	covered  int   // of in: bytes that a marker written before has replaced
	err      error // why the stream has ended
	closed   bool
}

// buffers have what is held back, and what is ready to be written.
type buffers struct{ in, out []byte }

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// Write implements [io.Writer]. On an error it reports that nothing of p was written, although a
// part may have been.
func (w *writer) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, chunk) {
		if w.s.push(piece, false); w.s.err != nil {
			return 0, w.s.err
		}
	}
	return len(p), w.s.err
}

// Close writes what was held back. Writing to a closed writer is an error, and closing it again is
// none.
func (w *writer) Close() error {
	s := w.s
	if s.closed {
		return nil
	}
	if s.push(nil, true); s.err != nil {
		return s.err
	}
	s.closed = true
	s.drop(io.ErrClosedPipe)
	return nil
}

// push adds a piece to the stream and writes what is decided by then: all of it at the end.
func (s *stream) push(piece []byte, end bool) {
	if s.err != nil {
		return
	}
	s.buffer(piece)
	var n int
	err := s.decide(end)
	if err == nil && len(s.out) > 0 {
		if n, err = s.w.Write(s.out); err == nil && n < len(s.out) {
			err = io.ErrShortWrite
		}
	}
	if err != nil {
		s.drop(err)
	}
}

// buffer adds a piece to what is held back, and wipes the old memory if that has to move.
func (s *stream) buffer(piece []byte) {
	if n := len(s.in) + len(piece); n > cap(s.in) {
		old := s.in
		s.in = append(make([]byte, 0, 2*n), old...)
		clear(old)
	}
	s.in = append(s.in, piece...)
}

// decide moves to out what a form can no longer begin with: a form is decided once as many bytes
// are there as the longest has. A shape may be of any length, so it is decided at the end.
func (s *stream) decide(end bool) (err error) {
	if s.registry.cfg.Shapes && end {
		s.out, err = s.registry.append(s.out[:0], s.in)
		return err
	}
	if s.registry.cfg.Shapes {
		return scanWith(s.registry, nil, 0, true, Rewrite, func(*matcher, []hit, int) {}) // fails if it is closed
	}
	return scanWith(s.registry, s.in, s.covered, !end, s.registry.cfg.Policy, func(m *matcher, cuts []hit, decided int) {
		s.out = rewrite(s.out[:0], s.in, s.covered, decided, cuts, m.markers)
		if len(cuts) > 0 {
			s.covered = cuts[len(cuts)-1].end
		}
		s.covered = max(0, s.covered-decided)
		s.in = s.in[:copy(s.in, s.in[decided:])]
	})
}

// drop ends the stream: what was held back is wiped.
func (s *stream) drop(err error) {
	clear(s.in[:cap(s.in)])
	clear(s.out[:cap(s.out)])
	s.in, s.out = s.in[:0], s.out[:0]
	bufferPool.Put(s.buffers)
	s.buffers, s.err = nil, err
}

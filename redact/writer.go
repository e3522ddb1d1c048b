package redact

import "io"

// NewWriter returns a writer that writes to w what Redact would make of
// everything written to it, whatever the pieces (R4). It holds back fewer bytes
// than the longest form of the longest value has; Close writes these, and does
// not close w. A secret that is registered meanwhile counts for the bytes that
// were not written yet.
//
// After an error, of w or of the registry, the writer has dropped what it held
// back: nothing of it is ever written, and every later call returns that error.
// Under [Reject] the error is [ErrSecretFound], and what stood before the secret
// may have been written.
func (r *SecretRegistry) NewWriter(w io.Writer) io.WriteCloser {
	return &writer{&writerState{stream: stream{r: r}, w: w}}
}

// writer keeps its text behind a pointer, where no print of it reaches.
type writer struct{ s *writerState }

type writerState struct {
	stream
	w      io.Writer
	closed bool
}

// Write implements [io.Writer]. On an error it reports that nothing of p was
// written, although a part may have been.
func (w *writer) Write(p []byte) (int, error) {
	s := w.s
	n := len(p)
	for s.err == nil {
		piece := p[:min(len(p), chunk)]
		in := s.room(len(piece))
		*in = append(*in, piece...)
		s.flush(false)
		if p = p[len(piece):]; len(p) == 0 {
			break
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return n, nil
}

// Close writes what was held back. Writing to a closed writer is an error, and
// closing it again is none.
func (w *writer) Close() error {
	s := w.s
	if s.closed {
		return nil
	}
	s.closed = true
	if s.err == nil {
		s.flush(true)
	}
	if s.err != nil {
		return s.err
	}
	s.drop(io.ErrClosedPipe)
	return nil
}

func (s *writerState) flush(end bool) {
	out, err := s.decide(end)
	if err == nil && len(out) > 0 {
		var n int
		if n, err = s.w.Write(out); err == nil && n < len(out) {
			err = io.ErrShortWrite
		}
	}
	if err != nil {
		s.drop(err)
	}
}

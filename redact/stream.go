package redact

import "sync"

// chunk is how much of a stream is looked at in one go.
const chunk = 32 << 10

// stream redacts text that comes piece by piece. What a form begins is decided
// once as many bytes are there as the longest form has; until then the text is
// held back.
type stream struct {
	r       *SecretRegistry
	buffers *buffers
	head    int // of what is held back, in buffers.in
	covered int // from head on: bytes that a marker written before stands for
	err     error
}

type buffers struct{ in, out []byte }

var bufferPool = sync.Pool{New: func() any { return &buffers{in: make([]byte, 0, 2*chunk)} }}

// room returns the buffer of incoming text with space for n more bytes.
func (s *stream) room(n int) *[]byte {
	if s.buffers == nil {
		s.buffers = bufferPool.Get().(*buffers)
	}
	b := s.buffers
	if cap(b.in)-len(b.in) < n {
		held := b.in[s.head:]
		if cap(b.in) < len(held)+n {
			grown := make([]byte, len(held), 2*(len(held)+n))
			copy(grown, held)
			clear(b.in)
			b.in = grown
		} else {
			b.in = b.in[:copy(b.in[:cap(b.in)], held)]
		}
		s.head = 0
	}
	return &b.in
}

// decide returns what can be written by now, all of it at the end of the stream.
// The result is valid until the next call of room or drop.
func (s *stream) decide(end bool) ([]byte, error) {
	m, err := s.r.acquire()
	if err != nil {
		return nil, err
	}
	defer m.release()
	if s.buffers == nil {
		return nil, nil
	}
	b := s.buffers
	text := b.in[s.head:]
	n := len(text)
	if !end {
		n = min(max(0, n-max(0, m.longest-1)), m.undecided(text))
	}
	var sc scan[[]byte]
	sc.init(m, text, n, s.covered)
	if s.r.s.cfg.Policy == Reject {
		if _, found := sc.next(); found {
			return nil, ErrSecretFound
		}
	}
	b.out = sc.rewrite(b.out[:0])
	s.head += n
	s.covered = max(0, sc.covered-n)
	rest := text[min(sc.covered, n):n]
	if len(b.out) == 0 {
		return rest, nil
	}
	b.out = append(b.out, rest...)
	return b.out, nil
}

// drop ends the stream: what was held back is wiped.
func (s *stream) drop(err error) {
	s.err = err
	if b := s.buffers; b != nil {
		s.buffers = nil
		clear(b.in[:cap(b.in)])
		clear(b.out[:cap(b.out)])
		b.in, b.out = b.in[:0], b.out[:0]
		bufferPool.Put(b)
	}
}

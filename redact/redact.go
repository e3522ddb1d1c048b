package redact

import "unsafe"

// Redact returns text with every form of every registered value replaced by its
// marker; text itself if there is none. Under [Reject] it returns
// [ErrSecretFound] instead. Any error means that nothing may be stored.
func (r *SecretRegistry) Redact(text string) (string, error) {
	m, err := r.acquire()
	if err != nil {
		return "", err
	}
	defer m.release()
	in := bytesOf(text)
	s := newScan(m, in)
	c, found := s.next()
	if !found {
		return text, nil
	}
	if r.s.cfg.Policy == Reject {
		return "", ErrSecretFound
	}
	out := make([]byte, 0, len(in)+len(in)/8+64)
	return stringOf(s.rewrite(out, c)), nil
}

// Append appends the redacted form of text to dst and returns the extended
// slice. It allocates only if dst has to grow. The spare capacity of dst may not
// overlap text. On an error it returns dst as it was.
func (r *SecretRegistry) Append(dst, text []byte) ([]byte, error) {
	m, err := r.acquire()
	if err != nil {
		return dst, err
	}
	defer m.release()
	s := newScan(m, text)
	c, found := s.next()
	if !found {
		return append(dst, text...), nil
	}
	if r.s.cfg.Policy == Reject {
		return dst, ErrSecretFound
	}
	return s.rewrite(dst, c), nil
}

// Finding is one marker that [SecretRegistry.Redact] would write. It does not
// hold the value.
type Finding struct {
	ID string
	// Start and End are the bytes of the text that the marker stands for.
	Start, End int
}

// Find returns what Redact would replace, in the order of the text and whatever
// the policy; nil if there is nothing.
func (r *SecretRegistry) Find(text string) ([]Finding, error) {
	m, err := r.acquire()
	if err != nil {
		return nil, err
	}
	defer m.release()
	in := bytesOf(text)
	s := newScan(m, in)
	var found []Finding
	for c, ok := s.next(); ok; c, ok = s.next() {
		found = append(found, Finding{m.idOf(c.by), c.from, c.to})
	}
	return found, nil
}

// rewrite appends the text with c and all later cuts replaced.
func (s *scan) rewrite(dst []byte, c cut) []byte {
	done := 0
	for ok := true; ok; c, ok = s.next() {
		dst = append(dst, s.text[done:c.from]...)
		dst = append(dst, s.m.markerOf(c.by)...)
		done = c.to
	}
	return append(dst, s.text[done:]...)
}

// bytesOf is text without a copy. It must not be written to.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// stringOf is b without a copy. b must not be written to any more.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

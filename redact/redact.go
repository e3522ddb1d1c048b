package redact

import "unsafe"

// Redact returns text with every form of every registered value replaced by its
// marker; text itself if there is none. Under [Reject] it returns
// [ErrSecretFound] instead. Any error means that nothing may be stored.
func (r *SecretRegistry) Redact(text string) (string, error) { return r.redact(text, r.policy()) }

// policy is that of the registry; one that was never made refuses every text anyway.
func (r *SecretRegistry) policy() Policy {
	if r == nil || r.s == nil {
		return Reject
	}
	return r.s.cfg.Policy
}

func (r *SecretRegistry) redact(text string, policy Policy) (string, error) {
	m, err := r.acquire()
	if err != nil {
		return "", err
	}
	defer m.release()
	in := bytesOf(text)
	s := newScan(m, in)
	if !s.more() {
		return text, nil
	}
	if policy == Reject {
		s.close()
		return "", ErrSecretFound
	}
	out := make([]byte, 0, len(in)+len(in)/8+64)
	return stringOf(append(s.rewrite(out), in[s.covered:]...)), nil
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
	if !s.more() {
		return append(dst, text...), nil
	}
	if r.s.cfg.Policy == Reject {
		s.close()
		return dst, ErrSecretFound
	}
	return append(s.rewrite(dst), text[s.covered:]...), nil
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
		found = append(found, Finding{m.idOf(&c.by), c.from, c.to})
	}
	return found, nil
}

// rewrite appends the text from covered on with all cuts replaced, as far as the
// last of them.
func (s *scan) rewrite(dst []byte) []byte {
	text, arena := unsafe.Pointer(unsafe.SliceData(s.text)), unsafe.Pointer(unsafe.SliceData(s.m.arena))
	covered := s.covered
	for s.head < s.tail || s.find() {
		batch := s.queue[s.head:s.tail]
		for i := range batch {
			f := &batch[i]
			gap, mark := f.start-covered, int(f.mark)
			end := len(dst) + gap + mark
			// Few markers are longer than 32 bytes.
			if gap < 0 || !isShort(mark) || mark > 32 || end > cap(dst) {
				dst, covered = s.rewriteOne(dst, covered, f)
				continue
			}
			to, from := unsafe.Add(unsafe.Pointer(unsafe.SliceData(dst)), len(dst)), unsafe.Add(text, covered)
			if isShort(gap) {
				second, third := innerSteps(gap)
				copy16(to, from, 0)
				copy16(to, from, second)
				copy16(to, from, third)
				copy16(to, from, gap-16)
			} else {
				copy(dst[len(dst):end], s.text[covered:f.start])
			}
			to, from = unsafe.Add(to, gap), unsafe.Add(arena, f.from+int(f.len))
			copy16(to, from, 0)
			copy16(to, from, mark-16)
			dst, covered = dst[:end], f.end()
		}
		s.head = s.tail
	}
	s.covered = covered
	return dst
}

// rewriteOne is rewrite for one form, wherever it begins and whatever its length.
func (s *scan) rewriteOne(dst []byte, covered int, f *found) ([]byte, int) {
	end := f.end()
	if end <= covered {
		return dst, covered
	}
	dst = append(dst, s.text[covered:max(f.start, covered)]...)
	return append(dst, s.m.markerOf(&f.place)...), end
}

// bytesOf is text without a copy. It must not be written to.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// stringOf is b without a copy. b must not be written to any more.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

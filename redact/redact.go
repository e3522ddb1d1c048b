package redact

// Redact returns text with every form of every registered value replaced by its
// marker; text itself if there is none. Under [Reject] it returns
// [ErrSecretFound] instead. Any error means that nothing may be stored.
func (r *SecretRegistry) Redact(text string) (string, error) {
	s := r.state()
	return s.redact(text, s.cfg.Policy)
}

func (s *state) redact(text string, policy Policy) (string, error) {
	m, scratch, err := s.acquire()
	if err != nil {
		return "", err
	}
	defer s.release(scratch)
	cuts, _ := scan(m, text, 0, false, scratch)
	switch {
	case len(cuts) == 0:
		return text, nil
	case policy == Reject:
		return "", ErrSecretFound
	}
	return string(rewrite(nil, text, 0, len(text), cuts, m.markers)), nil
}

// Append appends the redacted form of text to dst and returns the extended
// slice. It allocates only if dst has to grow. The spare capacity of dst may not
// overlap text. On an error it returns dst as it was.
func (r *SecretRegistry) Append(dst, text []byte) ([]byte, error) {
	s := r.state()
	m, scratch, err := s.acquire()
	if err != nil {
		return dst, err
	}
	defer s.release(scratch)
	cuts, _ := scan(m, text, 0, false, scratch)
	if len(cuts) > 0 && s.cfg.Policy == Reject {
		return dst, ErrSecretFound
	}
	return rewrite(dst, text, 0, len(text), cuts, m.markers), nil
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
	s := r.state()
	m, scratch, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release(scratch)
	var found []Finding
	cuts, _ := scan(m, text, 0, false, scratch)
	for _, c := range cuts {
		found = append(found, Finding{m.ids[c.marker], c.start, c.end})
	}
	return found, nil
}

package redact

// Redact returns text with every form of every registered value replaced by its marker; text itself
// if there is none. Under [Reject] it returns [ErrSecretFound] instead. Any error means that
// nothing may be stored.
func (r *SecretRegistry) Redact(text string) (string, error) {
	s := r.state()
	return s.redact(text, s.cfg.Policy)
}

func (s *state) redact(text string, policy Policy) (out string, err error) {
	err = scanWith(s, []byte(text), 0, false, policy, func(m *matcher, cuts []hit, _ int) {
		if out = text; len(cuts) > 0 {
			out = string(rewrite(nil, []byte(text), 0, len(text), cuts, m.markers))
		}
	})
	return out, err
}

// scanWith scans text and calls use with the cuts. The registry does not change until use returns.
func scanWith(s *state, text []byte, covered int, more bool, policy Policy,
	use func(m *matcher, cuts []hit, decided int)) error {
	m, scratch, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release(scratch)
	cuts, decided := scan(m, text, covered, more, scratch)
	if len(cuts) > 0 && policy == Reject {
		return ErrSecretFound
	}
	use(m, cuts, decided)
	return nil
}

// Append appends the redacted form of text to dst and returns the extended slice. It allocates only
// if dst has to grow. The spare capacity of dst may not overlap text. On an error it returns dst as
// it was.
func (r *SecretRegistry) Append(dst, text []byte) ([]byte, error) {
	s := r.state()
	err := scanWith(s, text, 0, false, s.cfg.Policy, func(m *matcher, cuts []hit, _ int) {
		dst = rewrite(dst, text, 0, len(text), cuts, m.markers)
	})
	return dst, err
}

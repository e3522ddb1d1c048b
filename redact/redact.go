package redact

// Redact returns text with every form of every registered value replaced by its marker; text itself
// if there is none. With [Config.Shapes] it also replaces what [SecretRegistry.RedactDerived] does.
// Under [Reject] it returns [ErrSecretFound] instead. Any error means that nothing may be stored.
func (r *SecretRegistry) Redact(text string) (string, error) {
	s := r.state()
	return s.redact(text, s.cfg.Policy, s.cfg.Shapes)
}

// RedactDerived redacts a text that was made from others: merged, compacted, distilled. It also
// replaces leak forms and what has the shape of a well-known secret, see shapes.txt; the marker
// names the shape, or in a leak form the id if it is a registered one. In a connection string only
// the password is replaced.
func (r *SecretRegistry) RedactDerived(text string) (string, error) {
	s := r.state()
	return s.redact(text, s.cfg.Policy, true)
}

// Remove is [SecretRegistry.RedactDerived] under every policy: under [Reject] too it returns the
// text without what it found. It is for text that is stored already and has to be cleaned.
func (r *SecretRegistry) Remove(text string) (string, error) {
	return r.state().redact(text, Rewrite, true)
}

func (s *state) redact(text string, policy Policy, byShape bool) (out string, err error) {
	err = scanWith(s, []byte(text), 0, false, policy, func(m *matcher, cuts []hit, _ int) {
		if out = text; len(cuts) > 0 {
			out = string(rewrite(nil, []byte(text), 0, len(text), cuts, m.markers))
		}
	})
	// A marker can be a boundary where there was none: look again. Every round replaces some text
	// that is not a marker, so there is a last one.
	for changed := byShape; changed && err == nil; {
		if out, changed = replaceShapes(out, s.hasID); changed && policy == Reject {
			return "", ErrSecretFound
		}
	}
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

// Append appends what Redact makes of text to dst and returns the extended slice. Without
// [Config.Shapes] it allocates only if dst has to grow. The spare capacity of dst may not overlap
// text. On an error it returns dst as it was.
func (r *SecretRegistry) Append(dst, text []byte) ([]byte, error) {
	return r.state().append(dst, text)
}

func (s *state) append(dst, text []byte) ([]byte, error) {
	if s.cfg.Shapes {
		out, err := s.redact(string(text), s.cfg.Policy, true)
		return append(dst, out...), err
	}
	err := scanWith(s, text, 0, false, s.cfg.Policy, func(m *matcher, cuts []hit, _ int) {
		dst = rewrite(dst, text, 0, len(text), cuts, m.markers)
	})
	return dst, err
}

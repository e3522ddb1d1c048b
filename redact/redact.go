package redact

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
	m, s, err := r.acquire()
	if err != nil {
		return "", err
	}
	defer r.release(s)
	cuts, _ := scan(m, text, 0, false, s)
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
	m, s, err := r.acquire()
	if err != nil {
		return dst, err
	}
	defer r.release(s)
	cuts, _ := scan(m, text, 0, false, s)
	if len(cuts) > 0 && r.s.cfg.Policy == Reject {
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
	m, s, err := r.acquire()
	if err != nil {
		return nil, err
	}
	defer r.release(s)
	var found []Finding
	cuts, _ := scan(m, text, 0, false, s)
	for _, c := range cuts {
		found = append(found, Finding{m.ids[c.marker], c.start, c.end})
	}
	return found, nil
}

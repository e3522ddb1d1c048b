package redact

import (
	"slices"
	"strings"
)

// Shape is a kind of secret that is recognised by its form alone (R5).
type Shape struct {
	ID        string // what the marker names
	Name      string
	Reference string // where its issuer describes it
}

// Shapes lists what [SecretRegistry.RedactDerived] looks for beside the
// registered values.
func Shapes() []Shape {
	list := make([]Shape, len(shapes))
	for i := range shapes {
		list[i] = shapes[i].Shape
	}
	return list
}

// RedactDerived is [SecretRegistry.Redact] for a text that was made from others:
// merged, compacted, distilled. It also replaces leak forms and whatever has the
// shape of a well-known secret, see [Shapes]; the marker names the shape, or in a
// leak form the id if it is a registered one. In a connection string only the
// password is replaced.
func (r *SecretRegistry) RedactDerived(text string) (string, error) {
	s := r.state()
	return s.redactDerived(text, s.cfg.Policy)
}

// Remove is [SecretRegistry.RedactDerived] whatever the policy: under [Reject] too it
// returns the text without what it found. It is for text that is stored already and has
// to be cleaned.
func (r *SecretRegistry) Remove(text string) (string, error) {
	return r.state().redactDerived(text, Rewrite)
}

func (s *state) redactDerived(text string, policy Policy) (string, error) {
	text, err := s.redact(text, policy)
	if err != nil {
		return "", err
	}
	_, scratch, err := s.acquire()
	if err != nil {
		return "", err
	}
	defer s.release(scratch)
	// A marker can be a boundary where there was none: look again. Every round
	// replaces some text that is not a marker, so there is a last one.
	for {
		out, changed := replaceShapes(text, s.set.hasID, s.cfg.Entropy)
		switch {
		case !changed:
			return text, nil
		case policy == Reject:
			return "", ErrSecretFound
		}
		text = out
	}
}

// shape is a row of the table.
type shape struct {
	Shape
	anchors []string // texts, one of which every occurrence has
	bounded bool     // no letter or digit stands before the anchor
	match   matchFunc
}

// A matchFunc returns what to replace for the anchor at text[i:], or to == 0. rest is
// where the anchor ends.
type matchFunc func(text string, i, rest int) (from, to int)

// anchorsAt has the anchors by their first byte, and pairs the first two bytes of every
// anchor and of markers, which lets most of a text pass quickly.
var anchorsAt, pairs = func() (at [256][]anchor, pairs [1 << 16]bool) {
	pairs[pairAt(markerHead, 0)] = true
	for i := range shapes {
		for _, a := range shapes[i].anchors {
			at[a[0]] = append(at[a[0]], anchor{a, &shapes[i]})
			pairs[pairAt(a, 0)] = true
		}
	}
	return at, pairs
}()

func pairAt(text string, i int) uint16 { return uint16(text[i])<<8 | uint16(text[i+1]) }

type anchor struct {
	text  string
	shape *shape
}

// shapeIDs are the ids of markers that any registry can write.
var shapeIDs = func() (ids []string) {
	for i := range shapes {
		ids = append(ids, shapes[i].ID)
	}
	slices.Sort(ids)
	return slices.Compact(append(ids, entropyID))
}()

// replaceShapes makes one pass over text. Markers are left as they are.
func replaceShapes(text string, known func(id string) bool, entropy bool) (string, bool) {
	var out []byte
	done := 0
	for i := 0; i+1 < len(text); {
		if !pairs[pairAt(text, i)] && !entropy {
			i++
			continue
		}
		if n := leadsWithMarker(text[i:]); n > 0 {
			i += n
			continue
		}
		id, from, to := shapeAt(text, i, done, known)
		if to == 0 && entropy {
			id, from, to = entropyAt(text, i, done)
		}
		if to == 0 {
			i++
			continue
		}
		out = append(append(out, text[done:max(done, from)]...), marker(id)...)
		done, i = to, to
	}
	if done == 0 {
		return text, false
	}
	return string(append(out, text[done:]...)), true
}

// shapeAt returns the replacement whose anchor is at text[i:], or to == 0. What
// stands before text[done:] was replaced.
func shapeAt(text string, i, done int, known func(id string) bool) (id string, from, to int) {
	for _, a := range anchorsAt[text[i]] {
		if !strings.HasPrefix(text[i:], a.text) || a.shape.bounded && !boundary(text, i, done) {
			continue
		}
		if from, to = a.shape.match(text, i, i+len(a.text)); to == 0 {
			continue
		}
		id = a.shape.ID
		if label := strings.TrimRight(text[i+len(a.text):to], "]>"); id == leakID && known(label) {
			id = label
		}
		return id, from, to
	}
	return "", 0, 0
}

var (
	alnum     = classOf(letters + digits)
	word      = classOf(letters + digits + "_-")
	hexDigits = classOf(digits + "abcdefABCDEF")
)

// boundary reports whether a token may begin at text[i:]. The letter of an
// escape, as in \n or %20, is not part of a word.
func boundary(text string, i, done int) bool {
	if i == done || !alnum.has(text[i-1]) {
		return true
	}
	return i >= done+2 && text[i-2] == '\\' && strings.IndexByte("nrtbf", text[i-1]) >= 0 ||
		i >= done+3 && text[i-3] == '%' && hexDigits.has(text[i-2]) && hexDigits.has(text[i-1])
}

package redact

import (
	_ "embed"
	"slices"
	"strings"
)

// RedactDerived is [SecretRegistry.Redact] for a text that was made from others: merged, compacted,
// distilled. It also replaces leak forms and whatever has the shape of a well-known secret, see
// shapes.txt; the marker names the shape, or in a leak form the id if it is a registered one. In a
// connection string only the password is replaced.
func (r *SecretRegistry) RedactDerived(text string) (string, error) {
	s := r.state()
	return s.redactDerived(text, s.cfg.Policy)
}

// Remove is [SecretRegistry.RedactDerived] whatever the policy: under [Reject] too it returns the
// text without what it found. It is for text that is stored already and has to be cleaned.
func (r *SecretRegistry) Remove(text string) (string, error) {
	return r.state().redactDerived(text, Rewrite)
}

func (s *state) redactDerived(text string, policy Policy) (string, error) {
	text, err := s.redact(text, policy)
	// A marker can be a boundary where there was none: look again. Every round replaces some text
	// that is not a marker, so there is a last one.
	for changed := true; changed && err == nil; {
		if text, changed = replaceShapes(text, s.hasID); changed && policy == Reject {
			return "", ErrSecretFound
		}
	}
	return text, err
}

func (s *state) hasID(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.byID[id] != nil
}

// shape is a kind of secret that is recognised by its form alone (R5), and how it is found.
type shape struct {
	id      string   // what the marker names
	anchors []string // texts, one of which every occurrence has
	bounded bool     // no letter or digit stands before the anchor
	match   matchFunc
}

// A matchFunc returns what to replace for the anchor at text[i:], or to == 0. rest is where the
// anchor ends.
type matchFunc func(text string, i, rest int) (from, to int)

// shapes are the kinds that have a function of their own, and those of shapes.txt.
var shapes = append([]shape{
	// Private-key blocks: RFC 7468 §10, RFC 9580 §6.2.
	{"pem-key", []string{"-----BEGIN "}, false, pemKey},
	// JSON Web Tokens: RFC 7519, RFC 7515 §3.1.
	{"jwt", []string{"eyJ"}, true, jwt},
	// Passwords and tokens in URLs: RFC 3986 §3.2.1.
	{"urlpass", []string{"://"}, false, urlPassword},
	// Passwords in connection strings: postgresql.org/docs/current/libpq-connect.html.
	{"dsnpass", []string{"password=", "Password=", "PASSWORD=", "passwd=", "Passwd=", "pwd=", "Pwd=", "PWD="}, true, dsnPassword},
	// Basic credentials in headers: RFC 7617 §2.
	{"basic", []string{"Basic ", "basic ", "BASIC "}, true, basic},
}, readShapes(shapeTable)...)

//go:embed shapes.txt
var shapeTable string

// readShapes reads a table as shapes.txt describes it.
func readShapes(table string) (list []shape) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if line[0] != ' ' {
			list = append(list, shape{id: fields[0]})
			continue
		}
		s := &list[len(list)-1]
		if s.match == nil {
			s.bounded = fields[0] == "word" || fields[0] == "digit"
			s.match, fields = token(fields[0], fields[1]), fields[2:]
		}
		s.anchors = append(s.anchors, fields...)
	}
	return list
}

// anchorsAt has the anchors by their first byte, and pairs the first two bytes of every anchor and
// of markers, which lets most of a text pass quickly.
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

type anchor struct {
	text  string
	shape *shape
}

func pairAt(text string, i int) uint16 { return uint16(text[i])<<8 | uint16(text[i+1]) }

// shapeIDs are the ids of markers that any registry can write.
var shapeIDs = func() []string {
	var ids []string
	for i := range shapes {
		ids = append(ids, shapes[i].id)
	}
	return slices.Compact(ids)
}()

// replaceShapes makes one pass over text. Markers are left as they are.
func replaceShapes(text string, known func(id string) bool) (string, bool) {
	var out []byte
	done := 0
	for i := 0; i+1 < len(text); {
		if !pairs[pairAt(text, i)] {
			i++
			continue
		}
		if n := leadsWithMarker(text[i:]); n > 0 {
			i += n
			continue
		}
		id, from, to := shapeAt(text, i, done, known)
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

// shapeAt returns the replacement whose anchor is at text[i:], or to == 0. What stands before
// text[done:] was replaced.
func shapeAt(text string, i, done int, known func(id string) bool) (id string, from, to int) {
	for _, a := range anchorsAt[text[i]] {
		if !strings.HasPrefix(text[i:], a.text) || a.shape.bounded && !boundary(text, i, done) {
			continue
		}
		if from, to = a.shape.match(text, i, i+len(a.text)); to == 0 {
			continue
		}
		label := strings.TrimRight(text[i+len(a.text):to], "]>")
		if a.shape.id == "leak" && known(label) {
			return label, from, to
		}
		return a.shape.id, from, to
	}
	return "", 0, 0
}

var (
	alnum     = classOf(letters + digits)
	hexDigits = classOf(digits + "abcdefABCDEF")
)

// boundary reports whether a token may begin at text[i:]. The letter of an escape, as in \n or %20,
// is not part of a word.
func boundary(text string, i, done int) bool {
	if i == done || !alnum.has(text[i-1]) {
		return true
	}
	return i >= done+2 && text[i-2] == '\\' && strings.IndexByte("nrtbf", text[i-1]) >= 0 ||
		i >= done+3 && text[i-3] == '%' && hexDigits.has(text[i-2]) && hexDigits.has(text[i-1])
}

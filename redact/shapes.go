package redact

import (
	_ "embed"
	"strings"
)

func (s *state) hasID(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set.byID[id] != nil
}

// shape is a kind of secret that is recognised by its form alone (R5), and how it is found.
type shape struct {
	id      string    // what the marker names
	anchors []string  // texts, one of which every occurrence has
	within  byteClass // bytes of which none stands before the anchor
	match   matchFunc
}

// A matchFunc returns what to replace for the anchor at text[i:], or to == 0. rest is where the
// anchor ends.
type matchFunc func(text string, i, rest int) (from, to int)

// shapes are the kinds that have a function of their own, and those of shapes.txt.
var shapes = append([]shape{
	// Passwords in URLs: RFC 3986 §3.2.1.
	{"urlpass", []string{"://"}, byteClass{}, urlPassword},
	// Passwords in connection strings: postgresql.org/docs/current/libpq-connect.html.
	{"dsnpass", []string{"password=", "Password=", "PASSWORD=", "passwd=", "Passwd=", "pwd=", "Pwd=", "PWD="}, alnum, dsnPassword},
	// Basic credentials in headers: RFC 7617 §2.
	{"basic", []string{"Basic ", "basic ", "BASIC "}, alnum, basic},
}, readShapes(shapeTable)...)

//go:embed shapes.txt
var shapeTable string

// readShapes reads a table as shapes.txt describes it.
func readShapes(table string) (list []shape) {
	id := ""
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case line[0] != ' ':
			id = fields[0]
		default:
			how, expr, anchors := fields[0], fields[1], fields[2:]
			list = append(list, shape{id, anchors, bounds[strings.TrimSuffix(how, "!")], token(how, expr)})
		}
	}
	return list
}

// anchors has the anchors by their first two bytes: anchors[pairs[p]] begin with the pair p. Most
// pairs have none, which lets most of a text pass quickly. The pair of markers has a list too.
var anchors, pairs = func() (lists [][]anchor, pairs [1 << 16]uint16) {
	lists, pairs[pairAt(markerHead, 0)] = make([][]anchor, 2), 1
	for i := range shapes {
		for _, text := range shapes[i].anchors {
			list := &pairs[pairAt(text, 0)]
			if *list == 0 {
				*list, lists = uint16(len(lists)), append(lists, nil)
			}
			lists[*list] = append(lists[*list], anchor{text, &shapes[i]})
		}
	}
	return lists, pairs
}()

type anchor struct {
	text  string
	shape *shape
}

func pairAt(text string, i int) uint16 { return uint16(text[i])<<8 | uint16(text[i+1]) }

// replaceShapes makes one pass over text. Markers are left as they are.
func replaceShapes(text string, known func(id string) bool) (string, bool) {
	var out []byte
	done := 0
	for i := 0; i+1 < len(text); {
		if pairs[pairAt(text, i)] == 0 {
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
	for _, a := range anchors[pairs[pairAt(text, i)]] {
		if !strings.HasPrefix(text[i:], a.text) || !boundary(text, i, done, &a.shape.within) {
			continue
		}
		if from, to = a.shape.match(text, i, i+len(a.text)); to == 0 {
			continue
		}
		label := strings.TrimRight(text[i+len(a.text):to], "]>")
		if a.shape.id == "leak" && known(label) {
			return label, from, to
		}
		if from > i { // what follows a name may have a shape of its own, which tells more
			if inner, at, end := shapeAt(text, from, done, known); at == from && end >= to {
				return inner, at, end
			}
		}
		return shapePrefix + a.shape.id, from, to
	}
	return "", 0, 0
}

var (
	alnum     = classOf(letters + digits)
	hexDigits = classOf(digits + "abcdefABCDEF")
)

// bounds are the bytes that may not stand before a token, by the words of shapes.txt.
var bounds = map[string]byteClass{"word": alnum, "start": classOf(letters + digits + "-_")}

// boundary reports whether a token may begin at text[i:], which none of the bytes of within precedes.
// The letter of an escape, as in \n or %20, is not part of a word.
func boundary(text string, i, done int, within *byteClass) bool {
	if i == done || !within.has(text[i-1]) {
		return true
	}
	return i >= done+2 && text[i-2] == '\\' && strings.IndexByte("nrtbf", text[i-1]) >= 0 ||
		i >= done+3 && text[i-3] == '%' && hexDigits.has(text[i-2]) && hexDigits.has(text[i-1])
}

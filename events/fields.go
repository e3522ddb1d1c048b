package events

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// fields goes through the fields of a payload or an envelope, each once. It checks them and, if
// there is a document, fills them in from that before. It keeps the first broken rule, and
// allocates only for its error, so that a valid event costs nothing on its way to a sink.
type fields struct {
	typ   Type
	doc   map[string]any // nil if there is nothing to read
	path  string         // of the object
	taken int            // of the fields in doc
	size  int            // of all texts, see MaxPayloadText

	broken InvalidError // without its type; it has a rule if one is broken
}

func (f *fields) fail(name, rule string) { f.failAt(f.path+"/"+name, rule) }

func (f *fields) failAt(path, rule string) {
	if f.broken.Rule == "" {
		f.broken.Path, f.broken.Rule = path, rule
	}
}

func (f *fields) err() error {
	if f.broken.Rule == "" {
		return nil
	}
	return &InvalidError{Type: f.typ, Path: f.broken.Path, Rule: f.broken.Rule}
}

const (
	ruleEmpty  = "is missing or empty"
	ruleUTF8   = "is not valid UTF-8"
	ruleString = "is not a string"
	ruleID     = "has a wrong length or is not UTF-8"
	ruleRange  = "is out of range"
)

// presence says when a text may be missing or empty.
type presence int

const (
	required presence = iota // it is there, and not empty
	optional                 // it is not empty if it is in a document
	lax                      // it may be empty
	nullable                 // it may be empty, and null in a document
)

// take returns a field of the document, and false if there is none.
func (f *fields) take(name string) (any, bool) {
	v, ok := f.doc[name]
	if ok {
		f.taken++
	}
	return v, ok
}

// close fails if the document has a field that was not taken. It does not say the name.
func (f *fields) close() {
	if f.taken != len(f.doc) {
		f.failAt(f.path, "has a field that its schema does not allow")
	}
}

// read fills in a text from the document.
func (f *fields) read(name string, s *string, p presence) {
	v, ok := f.take(name)
	if !ok || p == nullable && v == nil {
		return
	}
	if *s, ok = v.(string); !ok {
		f.fail(name, ruleString)
	} else if p == optional && *s == "" {
		f.fail(name, "is empty")
	}
}

func (f *fields) text(name string, s *string, p presence) {
	f.read(name, s, p)
	if p == required && *s == "" {
		f.fail(name, ruleEmpty)
	}
	if !utf8.ValidString(*s) {
		f.fail(name, ruleUTF8)
	}
	f.size += len(*s) + 3
}

// enum takes a text that is one of some values.
func enum[E ~string](f *fields, name string, e *E, p presence, values ...E) {
	s := string(*e)
	f.read(name, &s, p)
	*e = E(s)
	if !slices.Contains(values, *e) && (*e != "" || p == required) {
		f.fail(name, "is none of the values that the protocol names")
	}
}

// texts takes a list, whose items have at least that many bytes.
func (f *fields) texts(name string, list *[]string, least int) {
	if v, ok := f.take(name); ok {
		items, ok := v.([]any)
		if !ok {
			f.fail(name, "is not an array")
		}
		for i, v := range items {
			s, ok := v.(string)
			if !ok {
				f.fail(item(name, i), ruleString)
			}
			*list = append(*list, s)
		}
	}
	for i, s := range *list {
		if len(s) < least {
			f.fail(item(name, i), ruleEmpty)
		}
		if !utf8.ValidString(s) {
			f.fail(item(name, i), ruleUTF8)
		}
		f.size += len(s) + 3
	}
}

// integer takes an integer, which a document has.
func (f *fields) integer(name string, n *int64, least int64) {
	if f.doc != nil {
		v, _ := f.take(name)
		x, ok := v.(float64)
		if !ok || x != math.Trunc(x) || math.Abs(x) > MaxInteger {
			f.fail(name, "is not an integer of at most 2^53-1")
			return
		}
		*n = int64(x)
	}
	if *n < least || *n > MaxInteger {
		f.fail(name, ruleRange)
	}
}

// boolean takes true or false, if a document has it.
func (f *fields) boolean(name string, b **bool) {
	if v, ok := f.take(name); ok {
		value, ok := v.(bool)
		if !ok {
			f.fail(name, "is not a boolean")
		}
		*b = &value
	}
}

// item is the path of an item of a list.
func item(name string, i int) string { return name + "/" + strconv.Itoa(i) }

// bounded checks an identifier of a record.
func (f *fields) bounded(name, s string, least int) {
	if len(s) < least || len(s) > maxIDBytes || !utf8.ValidString(s) {
		f.fail(name, ruleID)
	}
}

func (f *fields) timestamp(name string, t time.Time) {
	u := t.UTC()
	if t.IsZero() || u.Year() < 1 || u.Year() > 9999 || u.Nanosecond()%int(time.Millisecond) != 0 {
		f.fail(name, "is zero, beyond years 1 to 9999, or not in whole milliseconds")
	}
}

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// form is a text by which a value is found.
type form struct {
	kind kind
	text []byte
}

// kind says how a text is read when the form is looked for in it.
type kind uint8

const (
	exactForm  kind = iota // as it is
	hexForm                // with A-F folded to a-f
	base64Form             // without line breaks
)

// formsOf returns the forms of a value, each once. The value itself comes first.
func formsOf(value []byte, encoded bool) []form {
	w := formWriter{text: make([]byte, 0, longestCode*len(value))}
	defer func() { clear(w.text[:cap(w.text)]) }()
	w.write(value...)
	w.end(exactForm)
	if encoded {
		if !plain.hasAll(value) {
			for _, hex := range []string{"0123456789abcdef", "0123456789ABCDEF"} {
				w.percent(value, hex)
				w.json(value, hex)
			}
			w.html(value)
		}
		w.base64(value)
		w.text = hex.AppendEncode(w.text, value) // by which every mixture of cases is found
		w.end(hexForm)
	}
	return w.forms
}

// plain are the bytes that no encoder but base64 and hex changes.
var plain = classOf(letters + digits + "-._")

// longestCode is how many bytes an encoder makes of one byte at most, as in &#x3D;.
const longestCode = 6

// formWriter collects forms. The buffer of the one that is being written never grows, so that no
// copy of it is left behind.
type formWriter struct {
	forms []form
	text  []byte
}

func (w *formWriter) write(b ...byte) { w.text = append(w.text, b...) }

// end takes what was written as a form, unless there is one like it.
func (w *formWriter) end(k kind) {
	if !slices.ContainsFunc(w.forms, func(f form) bool { return f.kind == k && bytes.Equal(f.text, w.text) }) {
		w.forms = append(w.forms, form{k, bytes.Clone(w.text)})
	}
	w.text = w.text[:0]
}

// The encoders that people use differ in which characters they leave as they are. Each row of the
// tables below is one that is in wide use; what they make of a value often is the same.

// percentEncoders write bytes as %xx, but those of keep; and where plus is set, a space as +.
var percentEncoders = []struct {
	keep byteClass
	plus bool
}{
	{classOf(unreserved), false},                      // RFC 3986; PHP's rawurlencode
	{classOf(unreserved), true},                       // Go's url.QueryEscape, Python's quote_plus
	{classOf(unreserved + "!'()*"), false},            // JavaScript's encodeURIComponent
	{classOf(unreserved + "!'()*;/?:@&=+$,#"), false}, // JavaScript's encodeURI
	{classOf(unreserved + "$&+=:@"), false},           // Go's url.PathEscape
	{classOf(unreserved + "$&+,;="), false},           // Go's url.UserPassword
	{classOf(unreserved + "$&+,;=:@/"), false},        // a path in Go's url.URL
	{classOf(unreserved + "/"), false},                // Python's urllib.parse.quote
	{classOf(letters + digits + "*-._"), true},        // HTML forms, Java's URLEncoder
	{classOf(letters + digits + "-._"), true},         // PHP's urlencode
	{classOf(letters + digits + "-_.!*()"), true},     // .NET's HttpUtility.UrlEncode
	{classOf(letters + digits + "-_.!*'()"), true},    // older .NET and browsers
}

const unreserved = letters + digits + "-._~" // RFC 3986 §2.3

// percent adds the percent-encoded forms.
func (w *formWriter) percent(v []byte, hex string) {
	for i := range percentEncoders {
		e := &percentEncoders[i]
		for _, b := range v {
			switch {
			case e.keep.has(b):
				w.write(b)
			case e.plus && b == ' ':
				w.write('+')
			default:
				w.write('%', hex[b>>4], hex[b&15])
			}
		}
		w.end(exactForm)
	}
}

// jsonEncoders write the inside of a JSON string.
var jsonEncoders = []struct {
	escaped string // characters written as \uxxxx beside those that have to be
	from    rune   // and all from this one on, if not 0
	solidus bool   // / is written as \/
}{
	{"", 0, false},                        // RFC 8259, JavaScript, Jackson
	{"", 0, true},                         // PHP, JSON_UNESCAPED_UNICODE
	{"", 0x80, true},                      // PHP
	{lineEnds, 0, false},                  // Go, SetEscapeHTML(false)
	{"<>&" + lineEnds, 0, false},          // Go, Rails
	{"", 0x7f, false},                     // Python
	{"", 0x80, false},                     // Ruby, Perl, Jackson and others, ASCII only
	{"<>&'", 0x7f, false},                 // Django, Jinja
	{"<>&'", 0, false},                    // the same, not ASCII only
	{"<>&'=" + lineEnds, 0, false},        // Gson
	{"<>&'\"\u0085" + lineEnds, 0, false}, // Newtonsoft, EscapeHtml
	{"<>&'+\"`", 0x7f, false},             // System.Text.Json
	{"<>/" + lineEnds, 0, false},          // serialize-javascript
	{"<>&'\"", 0, true},                   // PHP, JSON_HEX_…, ASCII values
	{"<>&'+/=", 0x7f, false},              // all that the others escape
	{"<>&'+/=", 0, false},                 // the same, not ASCII only
}

const lineEnds = "\u2028\u2029"

// json adds the forms inside a JSON string.
func (w *formWriter) json(v []byte, hex string) {
	for _, e := range jsonEncoders {
		if e.from > 0 && !utf8.Valid(v) {
			continue
		}
		for i, size := 0, 0; i < len(v); i += size {
			var r rune
			r, size = utf8.DecodeRune(v[i:])
			short := strings.IndexRune("\"\\\b\f\n\r\t/", r)
			switch {
			case e.from > 0 && r >= e.from || r != utf8.RuneError && strings.ContainsRune(e.escaped, r):
				w.jsonHex(r, hex)
			case short >= 0 && (r != '/' || e.solidus):
				w.write('\\', `"\bfnrt/`[short])
			case r < ' ':
				w.jsonHex(r, hex)
			default:
				w.write(v[i : i+size]...)
			}
		}
		w.end(exactForm)
	}
}

func (w *formWriter) jsonHex(r rune, hex string) {
	if r > 0xffff {
		r -= 0x10000
		w.jsonHex(0xd800+r>>10, hex)
		r = 0xdc00 + r&0x3ff
	}
	w.write('\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// htmlEncoders have the character references that are written for the bytes of htmlChars, in that
// order; where one is empty, the byte stays.
var htmlEncoders = [][len(htmlChars)]string{
	{"&amp;", "", "", "&quot;"},                                            // browsers, in attributes
	{"&amp;", "&lt;", "&gt;"},                                              // text
	{"&amp;", "&lt;", "", "&quot;"},                                        // XML attributes, as libxml2 writes them
	{"&amp;", "&lt;", "&gt;", "&quot;"},                                    // PHP before 8.1, browsers since 2025
	{"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"},                            // Go's html and encoding/xml, Jinja
	{"&amp;", "&lt;", "&gt;", "&#34;", "&#39;", "&#43;"},                   // Go's html/template
	{"&amp;", "&lt;", "&gt;", "&#34;", "&#39;", "&#43;", "&#96;", "&#61;"}, // the same, without quotes
	{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"},                           // Ruby, lodash
	{"&amp;", "&lt;", "&gt;", "&quot;", "&#039;"},                          // PHP
	{"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"},                          // Python, React
	{"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"},                          // XML
	{"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;", "", "&#x60;", "&#x3D;"},  // Handlebars
	{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "", "&#96;"},              // lodash before 4
}

const htmlChars = "&<>\"'+`="

// html adds the forms in HTML and XML text and attributes.
func (w *formWriter) html(v []byte) {
	for i := range htmlEncoders {
		for _, b := range v {
			if at := strings.IndexByte(htmlChars, b); at >= 0 && htmlEncoders[i][at] != "" {
				w.text = append(w.text, htmlEncoders[i][at]...)
			} else {
				w.write(b)
			}
		}
		w.end(exactForm)
	}
}

// base64 adds, for each place of the value within groups of three bytes, the characters that the
// value alone determines.
func (w *formWriter) base64(v []byte) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			plain := append(make([]byte, before, before+len(v)), v...)
			code := enc.AppendEncode(w.text, plain)
			w.text = append(w.text, code[(before*8+5)/6:len(plain)*8/6]...)
			w.end(base64Form)
			clear(plain)
		}
	}
}

// A byteClass is a set of bytes.
type byteClass [4]uint64

func classOf(chars string) (c byteClass) {
	for i := range len(chars) {
		c[chars[i]>>6] |= 1 << (chars[i] & 63)
	}
	return c
}

func (c *byteClass) has(b byte) bool { return c[b>>6]>>(b&63)&1 != 0 }

func (c *byteClass) hasAll(v []byte) bool {
	return !slices.ContainsFunc(v, func(b byte) bool { return !c.has(b) })
}

const (
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
)

package redact

import (
	"strings"
	"unicode/utf8"
)

// The encoders that people use differ in which characters they leave as they are. Each
// row of the tables below is one that is in wide use; what they make of a value often is
// the same, and is looked for once.

// percentEncoder is a way to write bytes as %xx.
type percentEncoder struct {
	keep byteClass // these stay
	plus bool      // a space becomes +
}

const unreserved = letters + digits + "-._~" // RFC 3986 §2.3

var percentEncoders = []percentEncoder{
	{keep: classOf(unreserved)},                                // RFC 3986; PHP's rawurlencode
	{keep: classOf(unreserved), plus: true},                    // Go's url.QueryEscape, Python's quote_plus
	{keep: classOf(unreserved + "!'()*")},                      // JavaScript's encodeURIComponent
	{keep: classOf(unreserved + "!'()*;/?:@&=+$,#")},           // JavaScript's encodeURI
	{keep: classOf(unreserved + "$&+=:@")},                     // Go's url.PathEscape
	{keep: classOf(unreserved + "$&+,;=")},                     // Go's url.UserPassword
	{keep: classOf(unreserved + "$&+,;=:@/")},                  // a path in Go's url.URL
	{keep: classOf(unreserved + "/")},                          // Python's urllib.parse.quote
	{keep: classOf(letters + digits + "*-._"), plus: true},     // HTML forms, Java's URLEncoder
	{keep: classOf(letters + digits + "-._"), plus: true},      // PHP's urlencode
	{keep: classOf(letters + digits + "-_.!*()"), plus: true},  // .NET's HttpUtility.UrlEncode
	{keep: classOf(letters + digits + "-_.!*'()"), plus: true}, // older .NET and browsers
}

// percent adds the percent-encoded forms, with hex digits of either case.
func (w *formWriter) percent(v []byte) {
	for i := range percentEncoders {
		e := &percentEncoders[i]
		for _, hex := range []string{upperHex, lowerHex} {
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
}

// jsonEncoder is a way to write the inside of a JSON string.
type jsonEncoder struct {
	escaped string // characters written as \uxxxx beside those that have to be
	from    rune   // and all from this one on, if not 0
	hex     string // digits
	solidus bool   // / is written as \/
}

const lineEnds = "\u2028\u2029"

var jsonEncoders = []jsonEncoder{
	{hex: lowerHex},                                     // RFC 8259, JavaScript
	{hex: upperHex},                                     // Jackson
	{hex: lowerHex, solidus: true},                      // PHP, JSON_UNESCAPED_UNICODE
	{hex: lowerHex, solidus: true, from: 0x80},          // PHP
	{hex: lowerHex, escaped: lineEnds},                  // Go, SetEscapeHTML(false)
	{hex: lowerHex, escaped: "<>&" + lineEnds},          // Go, Rails
	{hex: lowerHex, from: 0x7f},                         // Python
	{hex: lowerHex, from: 0x80},                         // Ruby, Perl and others, ASCII only
	{hex: upperHex, from: 0x80},                         // Jackson, ASCII only
	{hex: lowerHex, escaped: "<>&'", from: 0x7f},        // Django, Jinja
	{hex: lowerHex, escaped: "<>&'"},                    // the same, not ASCII only
	{hex: lowerHex, escaped: "<>&'=" + lineEnds},        // Gson
	{hex: lowerHex, escaped: "<>&'\"\u0085" + lineEnds}, // Newtonsoft, EscapeHtml
	{hex: upperHex, escaped: "<>&'+\"`", from: 0x7f},    // System.Text.Json
	{hex: upperHex, escaped: "<>/" + lineEnds},          // serialize-javascript
	{hex: upperHex, escaped: "<>&'\"", solidus: true},   // PHP, JSON_HEX_…, ASCII values
	{hex: lowerHex, escaped: "<>&'+/=", from: 0x7f},     // all that the others escape
	{hex: upperHex, escaped: "<>&'+/=", from: 0x7f},     // the same
	{hex: lowerHex, escaped: "<>&'+/="},                 // the same, not ASCII only
	{hex: upperHex, escaped: "<>&'+/="},                 // the same
	{hex: upperHex, escaped: "<>&" + lineEnds},          // as Go, upper case
	{hex: upperHex, escaped: "<>&'"},                    // as Django, upper case
	{hex: upperHex, escaped: "<>&'=" + lineEnds},        // as Gson, upper case
}

// json adds the forms inside a JSON string.
func (w *formWriter) json(v []byte) {
	for i := range jsonEncoders {
		if e := &jsonEncoders[i]; e.from == 0 || utf8.Valid(v) {
			w.jsonAs(v, e)
		}
	}
}

func (w *formWriter) jsonAs(v []byte, e *jsonEncoder) {
	for i := 0; i < len(v); {
		r, size := utf8.DecodeRune(v[i:])
		short := strings.IndexRune("\"\\\b\f\n\r\t/", r)
		switch {
		case e.from > 0 && r >= e.from || r != utf8.RuneError && strings.ContainsRune(e.escaped, r):
			w.jsonHex(r, e.hex)
		case short >= 0 && (r != '/' || e.solidus):
			w.write('\\', `"\bfnrt/`[short])
		case r < ' ':
			w.jsonHex(r, e.hex)
		default:
			w.write(v[i : i+size]...)
		}
		i += size
	}
	w.end(exactForm)
}

func (w *formWriter) jsonHex(r rune, hex string) {
	if r > 0xffff {
		r -= 0x10000
		w.jsonHex(0xd800+r>>10, hex)
		r = 0xdc00 + r&0x3ff
	}
	w.write('\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// htmlEncoders have the character references that are written for the bytes of htmlChars,
// in that order; where one is empty, the byte stays.
const htmlChars = "&<>\"'+`="

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

package redact

import (
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// leastEntropy is the least that a token has, in bits for each byte. Masks and made-up examples
// have less.
const leastEntropy = 2.5

// tokenWindow is where it shows whether a token is one, however long it goes on.
const tokenWindow = 512

// token matches a regular expression behind the anchor, or from a word before it, as shapes.txt
// says. Where the expression has a group, that alone is taken, and otherwise the anchor too. What
// has little entropy, or is a sample, is not taken.
func token(how, expr string) matchFunc {
	how, random := strings.CutSuffix(how, "!")
	before, _ := strconv.Atoi(how)
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(?:" + expr + ")") })
	return func(text string, i, rest int) (from, to int) {
		start := rest
		if before > 0 {
			if start = i - before; start < 0 || !boundary(text, start, 0, &alnum) {
				return 0, 0
			}
		}
		window := text[start:]
		if how != "start" { // whose anchors do not follow each other within a word
			window = window[:min(len(window), tokenWindow)]
		}
		m := re().FindStringSubmatchIndex(window)
		if m == nil {
			return 0, 0
		}
		found := window[m[len(m)-2]:m[len(m)-1]]
		if how != "leak" && entropy(found) < leastEntropy || random && len(turns.FindAllString(found, -1))*12 < len(found) ||
			sample.MatchString(found) {
			return 0, 0
		}
		if m[1] == tokenWindow { // which is no end of the text
			m = re().FindStringSubmatchIndex(text[start:])
		}
		switch len(m) {
		case 0:
			return 0, 0
		case 2:
			return i, start + m[1]
		}
		return start + m[2], start + m[3]
	}
}

// sample is a made-up access key id, behind its anchor, or a secret access key in Amazon's
// documentation, which others copy.
var sample = regexp.MustCompile(`^(?:[0-9A-Z]{9}EXAMPLE|[\w+/]{30}EXAMPLEKEY)$`)

// turns are the places of a token where letters and digits meet, or cases as in no word.
var turns = regexp.MustCompile(`[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]{2}|[A-Z][a-z][A-Z]`)

// entropy is that of the bytes of text, in bits for each.
func entropy(text string) (bits float64) {
	var count [256]float64
	for i := range len(text) {
		count[text[i]]++
	}
	for _, n := range count {
		if n > 0 {
			bits -= n / float64(len(text)) * math.Log2(n/float64(len(text)))
		}
	}
	return bits
}

const notInURL = `\x00-\x20"'<>\\\x60`

var (
	userInfo = regexp.MustCompile(`^[^` + notInURL + `/?#@:]*:([^` + notInURL + `@]*(?:@[^` + notInURL + `@/?#]*)*)@`)
	port     = regexp.MustCompile(`^[0-9]+$`)
	markers  = regexp.MustCompile(`\[REDACTED:[A-Za-z0-9._:/-]{1,64}\]`)
)

// urlPassword takes the password of scheme://user:password@host. Since people do not encode theirs,
// it ends at the last @ before the path, or if there is none, at the next one behind it.
func urlPassword(text string, _, rest int) (int, int) {
	url := text[rest:min(len(text), rest+256)]
	if !strings.Contains(url, "@") {
		return 0, 0
	}
	url = markers.ReplaceAllStringFunc(url, func(m string) string {
		return strings.Repeat("m", len(m)) // which has no mark of punctuation
	})
	m := userInfo.FindStringSubmatchIndex(url)
	if m == nil {
		return 0, 0
	}
	found := url[m[2]:m[3]]
	if slash := strings.IndexAny(found, "/?#"); slash >= 0 {
		before := found[:slash]
		if before == "" && found[0] == '/' || before != "" && placeholders.MatchString(before) ||
			port.MatchString(before) || strings.Contains(found, "://") {
			return 0, 0 // a path, or two URLs and a list between them
		}
	}
	return password(text, rest+m[2], rest+m[3])
}

var (
	// connection has the words of which one stands in every connection string.
	connection = regexp.MustCompile(`(?i)host=|server=|data source=|database=|dbname=|initial catalog=|driver=|` +
		`uid=|user id=|endpoint=|://`)
	dsnValue = regexp.MustCompile(`^(?:'[^'\n]*|"[^"\n]*|[^\x00-\x20;"'\x60&<>]*)`)
)

// dsnPassword takes the value of password= where the line is a connection string.
func dsnPassword(text string, i, rest int) (int, int) {
	before := text[max(0, i-256):i]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	behind, _, _ := strings.Cut(text[rest:min(len(text), rest+256)], "\n")
	if i > 0 && strings.IndexByte(" \t\n;&?\"'`({[,=", text[i-1]) < 0 || !connection.MatchString(before+" "+behind) {
		return 0, 0
	}
	to := rest + len(dsnValue.FindString(text[rest:]))
	if rest < to && (text[rest] == '\'' || text[rest] == '"') {
		rest++
	}
	return password(text, rest, to)
}

// password accepts text[from:to] as a password unless it is short as the a:b of documents, made of
// markers only, or plainly a placeholder.
func password(text string, from, to int) (int, int) {
	if p := text[from:to]; len(p) < 3 || placeholders.MatchString(p) || markers.ReplaceAllLiteralString(p, "") == "" {
		return 0, 0
	}
	return from, to
}

// placeholders are what documents write for a password: masks, words for it, variables of shells
// and templates, and verbs of formatting.
var placeholders = regexp.MustCompile(`^(?:[*.xX_•-]*|REDACTED|` +
	`(?i:my|your|the|db|user|some)?[-_]?(?i:password|passwd|pass|pwd|pw|secret|token|key|PAT)|` +
	`\$[A-Z_][A-Z0-9_]*|\$(?:password|passwd|pass|pwd|pw|secret|token)|` +
	`\$?\{[^{}]*\}|\$?\{\{[^{}]*\}\}|\$\([^()]*\)|\$\[[^\[\]]*\]|` +
	`%[a-zA-Z]|%\([a-z_]+\)s|%[A-Z_]+%|\[[^\[\]]*\])$`)

var (
	authorization = regexp.MustCompile(`(?i)authorization["'\\ \t:=]*$`)
	basicToken    = regexp.MustCompile(`^[\w+/-]*`)
	standard64    = strings.NewReplacer("-", "+", "_", "/")
)

// basic takes what follows "Basic " in an Authorization header, also in JSON, if it is the base64
// of a user and a password.
func basic(text string, i, rest int) (int, int) {
	if !authorization.MatchString(text[max(0, i-32):i]) {
		return 0, 0
	}
	code := basicToken.FindString(text[rest:])
	plain, err := base64.RawStdEncoding.DecodeString(standard64.Replace(code))
	if err != nil || !strings.Contains(string(plain), ":") || strings.ContainsFunc(string(plain), unicode.IsControl) {
		return 0, 0
	}
	return rest, rest + len(code)
}

package redact

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
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
		window := text[start:min(len(text), start+tokenWindow)]
		m := re().FindStringSubmatchIndex(window)
		if m == nil {
			return 0, 0
		}
		found := window[m[len(m)-2]:m[len(m)-1]]
		if how != "leak" && entropy(found) < leastEntropy || random && len(turns.FindAllString(found, -1))*12 < len(found) ||
			sample.MatchString(found) {
			return 0, 0
		}
		if m[1] == tokenWindow {
			m = re().FindStringSubmatchIndex(text[start:])
		}
		if len(m) == 2 {
			return i, start + m[1]
		}
		return start + m[2], start + m[3]
	}
}

// sample is what stands for an access key id, behind its anchor, and for a secret access key in
// Amazon's documentation, which others copy.
var sample = regexp.MustCompile(`^(?:[0-9A-Z]{9}EXAMPLE|[\w+/]{30}EXAMPLEKEY)$`)

// turns are the places of a token where letters and digits meet.
var turns = regexp.MustCompile(`[0-9][A-Za-z]|[A-Za-z][0-9]`)

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

const (
	maxPEM = 1 << 14
	// pemLine is a line of a key, and pemGap what stands between two, also in source code.
	pemLine = `[A-Za-z0-9+/=]{16,}`
	pemGap  = `(?:[ \t\r\n"',+]|\\[nrt]?|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]*)*`
)

var (
	pemLabel = regexp.MustCompile(`^[A-Za-z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	pemLines = regexp.MustCompile(`^(?:` + pemGap + pemLine + `)+` + pemGap + `[A-Za-z0-9+/=]*`)
	pemWord  = regexp.MustCompile(pemLine)
)

// pemKey takes a private-key block, or what there is of one that was cut off. Where no line of
// base64 follows, a text only speaks of such a block.
func pemKey(text string, i, rest int) (int, int) {
	label := pemLabel.FindString(text[rest:min(len(text), rest+64)])
	if label == "" {
		return 0, 0
	}
	rest += len(label)
	body := text[rest:min(len(text), rest+maxPEM)]
	size, closing := strings.Index(body, "-----END "+label), len("-----END "+label)
	if size < 0 {
		size, closing = len(pemLines.FindString(body)), 0
	}
	if !strings.ContainsAny(pemWord.FindString(body[:size]), letters[:26]) {
		return 0, 0
	}
	return i, rest + size + closing
}

// jwtRest is what follows the anchor: three parts, of which the first two begin as JSON objects do.
var jwtRest = regexp.MustCompile(`^[\w-]{7,}\.eyJ[\w-]{6,}\.[\w-]*`)

func jwt(text string, i, rest int) (int, int) {
	if n := len(jwtRest.FindString(text[rest:])); n > 0 {
		return i, rest + n
	}
	return 0, 0
}

const notInURL = `\x00-\x20"'<>\\\x60`

var (
	userInfo  = regexp.MustCompile(`^[^` + notInURL + `/?#@:]*:([^` + notInURL + `@]*(?:@[^` + notInURL + `@/?#]*)*)@`)
	userToken = regexp.MustCompile(`^([A-Za-z0-9._~%-]{20,})@`)
	port      = regexp.MustCompile(`^[0-9]+$`)
	markers   = regexp.MustCompile(`\[REDACTED:[A-Za-z0-9._:/-]{1,64}\]`)
)

// urlPassword takes the password of scheme://user:password@host. Since people do not encode theirs,
// it ends at the last @ before the path, or if there is none, at the next one behind it. A token in
// place of user and password is taken too.
func urlPassword(text string, _, rest int) (int, int) {
	url := text[rest:min(len(text), rest+256)]
	if !strings.Contains(url, "@") {
		return 0, 0
	}
	url = markers.ReplaceAllStringFunc(url, func(m string) string {
		return strings.Repeat("m", len(m)) // which has no mark of punctuation
	})
	if m := userToken.FindStringSubmatch(url); m != nil && entropy(m[1]) >= 3.2 && strings.ContainsAny(m[1], digits) {
		return rest, rest + len(m[1])
	}
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

// connection are words of which one stands in every connection string.
var connection = []string{"host=", "server=", "data source=", "database=", "dbname=", "initial catalog=", "driver=",
	"uid=", "user id=", "endpoint=", "://"}

// dsnPassword takes the value of password= where the line is a connection string.
func dsnPassword(text string, i, rest int) (int, int) {
	before := text[max(0, i-256):i]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	behind, _, _ := strings.Cut(text[rest:min(len(text), rest+256)], "\n")
	around := strings.ToLower(before + " " + behind)
	if i > 0 && strings.IndexByte(" \t\n;&?\"'`({[,=", text[i-1]) < 0 ||
		!slices.ContainsFunc(connection, func(word string) bool { return strings.Contains(around, word) }) {
		return 0, 0
	}
	isEnd := func(c rune) bool { return c <= ' ' || strings.ContainsRune(";\"'`&<>", c) }
	if rest < len(text) && (text[rest] == '\'' || text[rest] == '"') {
		quote := rune(text[rest])
		isEnd = func(c rune) bool { return c == quote || c == '\n' }
		rest++
	}
	if n := strings.IndexFunc(text[rest:], isEnd); n >= 0 {
		return password(text, rest, rest+n)
	}
	return password(text, rest, len(text))
}

// password accepts text[from:to] as a password unless it is short as the a:b of documents, made of
// markers only, or plainly stands for one.
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

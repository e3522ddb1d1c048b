package redact

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// bracketed takes a leak form up to its closing bracket, over one level of
// brackets in it, such as a marker. An open one goes to the end of the line.
func bracketed(text string, i, rest int) (int, int) {
	depth := 1
	for ; rest < len(text) && text[rest] != '\n'; rest++ {
		switch text[rest] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i, rest + 1
			}
		}
	}
	return i, rest
}

// angled is the same for <REDACTED:…>, which does not nest.
func angled(text string, i, rest int) (int, int) {
	for ; rest < len(text) && text[rest] != '\n'; rest++ {
		if text[rest] == '>' {
			return i, rest + 1
		}
	}
	return i, rest
}

var (
	pemLabel  = classOf(letters + digits + " ")
	pemBlank  = classOf(" \t\r\n\"'\\,+") // between lines, also in source code
	base64Std = classOf(letters + digits + "+/=")
)

const (
	maxPEM  = 1 << 14
	pemLine = 16 // a word that is shorter, other than the last, is no line of a key
)

// pemKey takes a private-key block, or what there is of one that was cut off. Where no
// line of base64 follows, a text only speaks of such a block.
func pemKey(text string, i, rest int) (int, int) {
	end := run(text, rest, &pemLabel)
	label := text[rest:end]
	if !strings.HasSuffix(label, "PRIVATE KEY") && !strings.HasSuffix(label, "PRIVATE KEY BLOCK") || !strings.HasPrefix(text[end:], "-----") {
		return 0, 0
	}
	end += len("-----")
	within := text[end:min(len(text), end+maxPEM)]
	closing := "-----END " + label + "-----"
	if n := strings.Index(within, closing); n >= 0 {
		for at := 0; at < n; at++ {
			next := run(within[:n], at, &base64Std)
			if next-at >= pemLine && strings.ContainsAny(within[at:next], letters[:26]) {
				return i, end + n + len(closing)
			}
			at = next
		}
		return 0, 0
	}
	for lines, at := 0, end; ; lines++ {
		from := pemGap(text, at)
		next := run(text, from, &base64Std)
		if lines == 0 && !strings.ContainsAny(text[from:next], letters[:26]) || next-from < pemLine {
			if lines == 0 {
				return 0, 0
			}
			return i, max(at, next)
		}
		at = next
	}
}

// pemGap skips blanks, escapes of line ends and headers such as "Proc-Type: 4,ENCRYPTED".
func pemGap(text string, i int) int {
	for {
		next := run(text, i, &pemBlank)
		if next > i && next < len(text) && text[next-1] == '\\' && strings.IndexByte("nrt", text[next]) >= 0 {
			next++
		}
		for _, name := range []string{"Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "} {
			if strings.HasPrefix(text[next:], name) {
				next += len(name)
				for next < len(text) && text[next] != '\n' && text[next] != '\\' {
					next++
				}
			}
		}
		if next == i {
			return i
		}
		i = next
	}
}

// jwt takes three parts, of which the first two begin as JSON objects do.
func jwt(text string, i, rest int) (int, int) {
	if i > 0 && (text[i-1] == '-' || text[i-1] == '_') {
		return 0, 0 // within a longer word, which was looked at from its start
	}
	head := run(text, rest, &word)
	if head-i < 10 || !strings.HasPrefix(text[head:], ".eyJ") {
		return 0, 0
	}
	body := run(text, head+1, &word)
	if body-head < 10 || body == len(text) || text[body] != '.' {
		return 0, 0
	}
	return i, run(text, body+1, &word)
}

// urlPassword takes the password of scheme://user:password@host. Since people do not
// encode theirs, it ends at the last @ before the path, or if there is none, at the next
// one behind it. A token in place of user and password is taken too.
func urlPassword(text string, _, rest int) (int, int) {
	end, at, colon, slash := rest, -1, -1, false
	for ; end < len(text) && end-rest < 256; end++ {
		c := text[end]
		if c == '[' {
			if n := leadsWithMarker(text[end:]); n > 0 {
				end += n - 1
				continue
			}
		}
		if c <= ' ' || strings.IndexByte("\"'<>`\\", c) >= 0 {
			break
		}
		if strings.IndexByte("/?#", c) >= 0 {
			if at >= 0 || colon < 0 || !slash && isPort(text[colon+1:end], c) {
				break // the path
			}
			slash = true
		}
		if c == '@' {
			at = end
		}
		if c == ':' && colon < 0 && at < 0 {
			colon = end
		}
	}
	switch {
	case at < 0:
		return 0, 0
	case colon >= 0:
		if slash && strings.Contains(text[colon:at], "://") {
			return 0, 0 // two URLs, and a list between them
		}
		return password(text, colon+1, at)
	case at-rest >= 20 && run(text, rest, &userInfo) == at && entropy(text[rest:at]) >= 3.2 && strings.ContainsAny(text[rest:at], digits):
		return rest, at
	}
	return 0, 0
}

// isPort reports whether what stands between a colon and the next of /?# in a URL is a
// port, and no start of a password.
func isPort(p string, next byte) bool {
	return p == "" && next == '/' || p != "" && (run(p, 0, &decimal) == len(p) || placeholder(p))
}

var (
	decimal  = classOf(digits)
	userInfo = classOf(letters + digits + "-._~%")
)

// connection are words of which one stands in every connection string.
var connection = []string{"host=", "server=", "data source=", "database=", "dbname=", "initial catalog=", "driver=",
	"uid=", "user id=", "endpoint=", "://"}

// dsnPassword takes the value of password= where the line is a connection string.
func dsnPassword(text string, i, rest int) (int, int) {
	if i > 0 && strings.IndexByte(" \t\n;&?\"'`({[,=", text[i-1]) < 0 {
		return 0, 0
	}
	line := strings.LastIndexByte(text[max(0, i-256):i], '\n') + 1 + max(0, i-256)
	around := strings.ToLower(text[line:min(len(text), rest+256)])
	if n := strings.IndexByte(around[i-line:], '\n'); n >= 0 {
		around = around[:i-line+n]
	}
	if !slices.ContainsFunc(connection, func(word string) bool { return strings.Contains(around, word) }) {
		return 0, 0
	}
	end := rest
	if end < len(text) && (text[end] == '\'' || text[end] == '"') {
		n := strings.IndexAny(text[end+1:], text[end:end+1]+"\n")
		if n < 0 {
			n = len(text) - end - 1
		}
		return password(text, end+1, end+1+n)
	}
	for end < len(text) && text[end] > ' ' && strings.IndexByte(";\"'`&<>", text[end]) < 0 {
		end++
	}
	return password(text, rest, end)
}

// password accepts text[from:to] as a password unless it is empty, made of
// markers only, or plainly stands for one.
func password(text string, from, to int) (int, int) {
	p := text[from:to]
	if len(p) < leastPassword || placeholder(p) {
		return 0, 0
	}
	for p != "" {
		n := leadsWithMarker(p)
		if n == 0 {
			return from, to
		}
		p = p[n:]
	}
	return 0, 0
}

const leastPassword = 3 // bytes; fewer are the a:b of documents

// placeholders are what documents write for a password: masks, words for it, variables
// of shells and templates, and verbs of formatting.
var placeholders = regexp.MustCompile(`^(?:[*.xX_•-]*|(?i:my|your|the|db|user|some)?[-_]?(?i:password|passwd|pass|pwd|pw|secret|token|key|PAT)|` +
	`\$[A-Z_][A-Z0-9_]*|\$(?:password|passwd|pass|pwd|pw|secret|token)|\$?\{[^{}]*\}|\$?\{\{[^{}]*\}\}|\$\([^()]*\)|\$\[[^\[\]]*\]|` +
	`%[a-zA-Z]|%\([a-z_]+\)s|%[A-Z_]+%|\[[^\[\]]*\])$`)

func placeholder(p string) bool { return placeholders.MatchString(p) && leadsWithMarker(p) == 0 }

var bearerClass = classOf(letters + digits + "-._~+/")

// bearer takes what follows "Bearer " if it has the length and the digits of a
// token.
func bearer(text string, _, rest int) (int, int) {
	end := run(text, rest, &bearerClass)
	if end-rest < 20 || !strings.ContainsAny(text[rest:end], digits) {
		return 0, 0
	}
	return rest, end
}

// basic takes what follows "Basic " in an Authorization header, also in JSON, if it is the
// base64 of a user and a password.
func basic(text string, i, rest int) (int, int) {
	name := strings.TrimRight(text[max(0, i-32):i], "\"'\\ \t:=")
	if len(name) < len("authorization") || !strings.EqualFold(name[len(name)-len("authorization"):], "authorization") {
		return 0, 0
	}
	end := run(text, rest, &base64Any)
	plain, err := base64.RawStdEncoding.DecodeString(text[rest:end])
	if err != nil {
		plain, err = base64.RawURLEncoding.DecodeString(text[rest:end])
	}
	if err != nil || !bytes.Contains(plain, []byte(":")) || bytes.ContainsFunc(plain, unicode.IsControl) {
		return 0, 0
	}
	return rest, end
}

// entropy is that of the bytes of text, in bits for each.
func entropy(text string) (bits float64) {
	var count [256]int
	for i := range len(text) {
		count[text[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(text))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// leastEntropy is the least that a token has. Masks and made-up examples have less.
const leastEntropy = 2.5

// token matches an anchor with at least least bytes of class behind it, and
// takes all there are.
func token(class *byteClass, least int) func(string, int, int) (int, int) {
	return func(text string, i, rest int) (int, int) {
		// What is no token costs no more than this, however long it goes on.
		near := run(text[:min(len(text), rest+max(256, least))], rest, class)
		if near-rest < least || entropy(text[rest:near]) < leastEntropy {
			return 0, 0
		}
		return i, run(text, near, class)
	}
}

// exactly is token for one length only.
func exactly(class *byteClass, n int) func(string, int, int) (int, int) {
	return func(text string, i, rest int) (int, int) {
		end := run(text[:min(len(text), rest+n+1)], rest, class)
		if end != rest+n || entropy(text[rest:end]) < leastEntropy {
			return 0, 0
		}
		return i, end
	}
}

// maxPart is what a part may have; only the last one may go on.
const maxPart = 512

// parts matches an anchor with runs of the class behind it that have at least these
// lengths, joined by sep.
func parts(class *byteClass, sep byte, least ...int) func(string, int, int) (int, int) {
	return func(text string, i, rest int) (int, int) {
		at := rest
		for k, n := range least {
			if k > 0 {
				if at == len(text) || text[at] != sep {
					return 0, 0
				}
				at++
			}
			end := run(text[:min(len(text), at+maxPart)], at, class)
			if end-at < n {
				return 0, 0
			}
			at = end
		}
		if entropy(text[rest:at]) < leastEntropy {
			return 0, 0
		}
		return i, run(text, at, class)
	}
}

// behind leaves the anchor and takes the rest of what a matcher finds.
func behind(match func(string, int, int) (int, int)) func(string, int, int) (int, int) {
	return func(text string, i, rest int) (int, int) {
		if _, to := match(text, i, rest); to > 0 {
			return rest, to
		}
		return 0, 0
	}
}

// after takes n bytes of class before the anchor too.
func after(class *byteClass, n int, match func(string, int, int) (int, int)) func(string, int, int) (int, int) {
	return func(text string, i, rest int) (int, int) {
		from := i
		for from > 0 && i-from <= n+1 && class.has(text[from-1]) {
			from--
		}
		if from > 0 && text[from-1] == '\\' {
			from++ // the letter of an escape
		}
		if i-from != n {
			return 0, 0
		}
		if _, to := match(text, i, rest); to > 0 {
			return from, to
		}
		return 0, 0
	}
}

var assignment = classOf(" \t\"'\\:=>")

// assigned takes a run of at least n base64 bytes that a name is set to.
func assigned(n int) func(string, int, int) (int, int) {
	return func(text string, _, rest int) (int, int) {
		from := run(text[:min(len(text), rest+8)], rest, &assignment)
		if end := run(text, from, &base64Any); from > rest && end-from >= n && entropy(text[from:end]) >= 3 {
			return from, end
		}
		return 0, 0
	}
}

// bankID is what the ids of entries and events look like, which a bank issues.
var bankID = regexp.MustCompile(`^(mem|evt)_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// entropyAt takes a token that looks random: 24 to 128 bytes with upper-case,
// lower-case and digits, and at least four bits of entropy for each byte. Ids of a
// bank do, and are no secrets: archives name their sources by them.
func entropyAt(text string, i, done int) (string, int, int) {
	if !word.has(text[i]) || i > done && word.has(text[i-1]) {
		return "", 0, 0
	}
	end := run(text, i, &word)
	t := text[i:end]
	if len(t) < 24 || len(t) > 128 || !strings.ContainsAny(t, letters[:26]) || !strings.ContainsAny(t, letters[26:]) || !strings.ContainsAny(t, digits) {
		return "", 0, 0
	}
	if entropy(t) < 4 || bankID.MatchString(t) {
		return "", 0, 0
	}
	return entropyID, i, end
}

package redact

import (
	"math"
	"regexp"
	"strings"
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
	pemLabel = classOf(letters + digits + " ")
	pemBody  = classOf(letters + digits + "+/=\\ \r\n\t:,-")
)

const maxPEM = 1 << 14

// pemKey takes a private-key block, or what there is of one that was cut off.
func pemKey(text string, i, rest int) (int, int) {
	end := run(text, rest, &pemLabel)
	label := text[rest:end]
	if !strings.HasSuffix(label, "PRIVATE KEY") && !strings.HasSuffix(label, "PRIVATE KEY BLOCK") {
		return 0, 0
	}
	closing := "-----END " + label + "-----"
	if n := strings.Index(text[end:min(len(text), end+maxPEM)], closing); n >= 0 {
		return i, end + n + len(closing)
	}
	return i, run(text, end, &pemBody)
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

// urlPassword takes the password of scheme://user:password@host. The last @
// before the path ends it, since people do not encode theirs.
func urlPassword(text string, _, rest int) (int, int) {
	end, at, colon := rest, -1, -1
	for ; end < len(text); end++ {
		c := text[end]
		if c == '[' {
			if n := leadsWithMarker(text[end:]); n > 0 {
				end += n - 1
				continue
			}
		}
		if c <= ' ' || strings.IndexByte("/?#\"'<>`\\", c) >= 0 {
			break
		}
		if c == '@' {
			at = end
		}
		if c == ':' && colon < 0 {
			colon = end
		}
	}
	if colon < 0 || at < colon {
		return 0, 0
	}
	return password(text, colon+1, at)
}

// dsnPassword takes the value of password= where the line is a connection string.
func dsnPassword(text string, i, rest int) (int, int) {
	if i > 0 && strings.IndexByte(" \t\n;&?\"'`({[,=", text[i-1]) < 0 {
		return 0, 0
	}
	line := strings.LastIndexByte(text[max(0, i-512):i], '\n') + 1 + max(0, i-512)
	around := strings.ToLower(text[line:min(len(text), rest+512)])
	if n := strings.IndexByte(around[i-line:], '\n'); n >= 0 {
		around = around[:i-line+n]
	}
	if !strings.Contains(around, "host=") && !strings.Contains(around, "server=") && !strings.Contains(around, "data source=") {
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
	for end < len(text) && text[end] > ' ' && strings.IndexByte(";\"'`&", text[end]) < 0 {
		end++
	}
	return password(text, rest, end)
}

// password accepts text[from:to] as a password unless it is empty, made of
// markers only, or plainly stands for one.
func password(text string, from, to int) (int, int) {
	p := text[from:to]
	if strings.Trim(p, "*.xX") == "" || strings.HasPrefix(p, "$") || strings.HasPrefix(p, "{") || strings.HasPrefix(p, "%s") {
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

// afterAnchor leaves the anchor and takes what follows.
func afterAnchor(class *byteClass, least int) func(string, int, int) (int, int) {
	return func(text string, _, rest int) (int, int) {
		if end := run(text, rest, class); end-rest >= least {
			return rest, end
		}
		return 0, 0
	}
}

var assignment = classOf(" \t\"'\\:=")

// assigned takes a run of at least least base64 bytes that a name is set to.
func assigned(least int) func(string, int, int) (int, int) {
	return func(text string, _, rest int) (int, int) {
		from := run(text[:min(len(text), rest+8)], rest, &assignment)
		if end := run(text, from, &base64Any); from > rest && end-from >= least {
			return from, end
		}
		return 0, 0
	}
}

var hookPath = classOf(letters + digits + "/")

func slackHook(text string, _, rest int) (int, int) {
	end := run(text, rest, &hookPath)
	if end-rest < 30 || strings.Count(text[rest:end], "/") < 2 {
		return 0, 0
	}
	return rest, end
}

func sendGrid(text string, i, rest int) (int, int) {
	id := run(text, rest, &word)
	if id-rest < 16 || id == len(text) || text[id] != '.' {
		return 0, 0
	}
	if end := run(text, id+1, &word); end-id > 32 {
		return i, end
	}
	return 0, 0
}

var decimal = classOf(digits)

func telegram(text string, _, rest int) (int, int) {
	id := run(text, rest, &decimal)
	if id-rest < 6 || id == len(text) || text[id] != ':' {
		return 0, 0
	}
	if end := run(text, id+1, &word); end-id > 30 {
		return rest, end
	}
	return 0, 0
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
	var count [256]int
	for j := range len(t) {
		count[t[j]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(t))
			bits -= p * math.Log2(p)
		}
	}
	if bits < 4 || bankID.MatchString(t) {
		return "", 0, 0
	}
	return entropyID, i, end
}

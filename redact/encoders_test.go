package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"html"
	"html/template"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func stringOf(b []byte) string { return string(b) }

// randomValue has a few of the characters that encoders treat in different ways.
func randomValue(rnd *rand.Rand) string {
	special := []rune(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\t\x01\x7fäß\u2028€\U0001f511")
	var b strings.Builder
	for b.Len() < 10+rnd.IntN(20) {
		if rnd.IntN(3) == 0 {
			b.WriteRune(special[rnd.IntN(len(special))])
		} else {
			b.WriteByte(letters[rnd.IntN(len(letters))])
		}
	}
	return b.String()
}

// goEncoders are functions of the standard library.
var goEncoders = map[string]func(string) string{
	"url.PathEscape":   url.PathEscape,
	"url.QueryEscape":  url.QueryEscape,
	"url.UserPassword": func(s string) string { return url.UserPassword("", s).String()[1:] },
	"url.URL.Path":     func(s string) string { return (&url.URL{Path: "/" + s}).EscapedPath()[1:] },
	"json.Marshal":     func(s string) string { out, _ := json.Marshal(s); return string(out[1 : len(out)-1]) },
	"json.Encoder": func(s string) string {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.Encode(s)
		return strings.TrimSuffix(out.String()[1:], "\"\n")
	},
	"html.EscapeString":         html.EscapeString,
	"template.HTMLEscapeString": template.HTMLEscapeString,
}

// TestR7_GoEncoders finds what the standard library makes of values.
func TestR7_GoEncoders(t *testing.T) {
	rnd := newRand(t, 41)
	for range 2000 {
		v := randomValue(rnd)
		r := New(Config{})
		if r.Register("a", []byte(v)) != nil {
			continue // too much like a marker
		}
		for name, encode := range goEncoders {
			text := "x " + encode(v) + " y"
			if strings.ContainsAny(v, "\x01\x7f\u2028") && strings.HasPrefix(name, "template") {
				continue // which other encoders do not keep
			}
			if got := redacted(t, r, text); got != "x [REDACTED:a] y" {
				t.Fatalf("%s of %q: %q became %q", name, v, text, got)
			}
		}
		r.Close()
	}
}

// TestR7_OtherLanguages finds what the encoders of other languages make of values: those
// that are installed here, and fixed outputs of some that are not.
func TestR7_OtherLanguages(t *testing.T) {
	programs := map[string][]string{
		"python3": {"-c", `import sys, json, html, urllib.parse as u
for v in json.load(sys.stdin):
  out = [u.quote(v), u.quote(v, safe=''), u.quote_plus(v), json.dumps(v)[1:-1], json.dumps(v, ensure_ascii=False)[1:-1], html.escape(v)]
  print(json.dumps(out))`},
		"node": {"-e", `const vs = JSON.parse(require('fs').readFileSync(0, 'utf8'));
for (const v of vs) console.log(JSON.stringify([encodeURIComponent(v), encodeURI(v), JSON.stringify(v).slice(1, -1), new URLSearchParams({v}).toString().slice(2)]))`},
	}
	rnd := newRand(t, 42)
	var values []string
	for len(values) < 500 {
		values = append(values, randomValue(rnd))
	}
	in, _ := json.Marshal(values)
	for name, args := range programs {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip("not installed")
			}
			cmd := exec.Command(path, args...)
			cmd.Stdin = bytes.NewReader(in)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != len(values) {
				t.Fatalf("%d lines for %d values", len(lines), len(values))
			}
			for i, line := range lines {
				var encoded []string
				if err := json.Unmarshal([]byte(line), &encoded); err != nil {
					t.Fatal(err)
				}
				r := New(Config{})
				if r.Register("a", []byte(values[i])) != nil {
					continue
				}
				for k, e := range encoded {
					if got := redacted(t, r, "x "+e+" y"); got != "x [REDACTED:a] y" {
						t.Errorf("encoder %d of %q: %q became %q", k, values[i], e, got)
					}
				}
			}
		})
	}
	const v = "a/b+c=d<e>f&g'h\"i`j ü~k"
	for name, form := range map[string]string{
		"System.Text.Json":     `a/b\u002Bc=d\u003Ce\u003Ef\u0026g\u0027h\u0022i\u0060j \u00FC~k`,
		"Gson":                 `a/b+c\u003dd\u003ce\u003ef\u0026g\u0027h\"i` + "`" + `j ü~k`,
		"PHP":                  `a\/b+c=d<e>f&g'h\"i` + "`" + `j \u00fc~k`,
		"Jackson, ASCII":       `a/b+c=d<e>f&g'h\"i` + "`" + `j \u00FC~k`,
		"Django":               `a/b+c=d\u003ce\u003ef\u0026g\u0027h\"i` + "`" + `j \u00fc~k`,
		"all, upper":           `a\u002Fb\u002Bc\u003Dd\u003Ce\u003Ef\u0026g\u0027h\"i` + "`" + `j \u00FC~k`,
		"all, lower":           `a\u002fb\u002bc\u003dd\u003ce\u003ef\u0026g\u0027h\"i` + "`" + `j ü~k`,
		"PHP htmlspecialchars": "a/b+c=d&lt;e&gt;f&amp;g&#039;h&quot;i`j ü~k",
		"React":                "a/b+c=d&lt;e&gt;f&amp;g&#x27;h&quot;i`j ü~k",
		"Handlebars":           "a/b+c&#x3D;d&lt;e&gt;f&amp;g&#x27;h&quot;i&#x60;j ü~k",
		"template attribute":   "a/b&#43;c=d&lt;e&gt;f&amp;g&#39;h&#34;i`j ü~k",
		"Java URLEncoder":      "a%2Fb%2Bc%3Dd%3Ce%3Ef%26g%27h%22i%60j+%C3%BC%7Ek",
		".NET UrlEncode":       "a%2fb%2bc%3dd%3ce%3ef%26g%27h%22i%60j+%c3%bc%7ek",
	} {
		r, _ := registered(t, Config{}, []pair{{"a", v}})
		if got := redacted(t, r, "x "+form+" y"); got != "x [REDACTED:a] y" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// xml writes line ends and other bytes as references; what a value mostly has is found.
func TestR7_XML(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", `p<a>s&s"w'd`}})
	var out bytes.Buffer
	if err := xml.EscapeText(&out, []byte(`p<a>s&s"w'd`)); err != nil {
		t.Fatal(err)
	}
	if got := redacted(t, r, out.String()); got != "[REDACTED:a]" {
		t.Errorf("got %q", got)
	}
}

// TestR7_MixedHex finds hex in any mixture of cases, and nothing else that folds alike.
func TestR7_MixedHex(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"a", "\xab\xcd\xef\x12\xfe\xdc\xba\x98jklmno"}})
	for in, want := range map[string]string{
		"x aBCdEf12FedCbA986A6b6C6d6e6F y":  "x [REDACTED:a] y",
		"x abcdef12fedcba986a6b6c6d6e6f y":  "x [REDACTED:a] y",
		"x ABCDEF12FEDCBA986A6B6C6D6E6F y":  "x [REDACTED:a] y",
		"x ABCDEF\x112FEDCBA986A6B6C6D6E6F": "x ABCDEF\x112FEDCBA986A6B6C6D6E6F",
	} {
		if got := redacted(t, r, in); got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}

// foldHex changes the six capitals and no other byte, wherever it is.
func TestR7_FoldHex(t *testing.T) {
	for b := range 256 {
		for at := range 17 {
			text := bytes.Repeat([]byte{0xff, 'G'}, 9)[:17]
			text[at] = byte(b)
			want := bytes.Clone(text)
			if 'A' <= b && b <= 'F' {
				want[at] += 'a' - 'A'
			}
			if foldHex(text); !bytes.Equal(text, want) {
				t.Fatalf("byte %x at %d: %x", b, at, text)
			}
		}
	}
}

// wrap breaks text into lines of width characters.
func wrap(text string, width int, lineEnd string) string {
	var lines []string
	for part := range slices.Chunk([]byte(text), width) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, lineEnd)
}

// TestR7_WrappedBase64 breaks base64 into lines at every column, with several line ends,
// with the value anywhere in the encoded text, and demands that the value is gone and the
// rest is left; also through streams.
func TestR7_WrappedBase64(t *testing.T) {
	rnd := newRand(t, 43)
	rounds := howMany(3, 200)
	for range rounds {
		for width := 1; width <= 80; width++ {
			v := randomValue(rnd)
			if !registers(v) {
				continue
			}
			before, after := strings.Repeat("-", rnd.IntN(100)), strings.Repeat("+", rnd.IntN(100))
			enc := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding}[rnd.IntN(2)]
			lineEnd := []string{"\n", "\r\n", "\n    ", "\n\n", " \n\t"}[rnd.IntN(5)]
			text := "data:\n" + wrap(enc.EncodeToString([]byte(before+v+after)), width, lineEnd) + "\nend."
			r, _ := registered(t, Config{}, []pair{{"a", v}, {"b", "hunter2hunter2"}})
			got := redacted(t, r, text)
			if !strings.Contains(got, "[REDACTED:a]") || !strings.HasPrefix(got, "data:\n") || !strings.HasSuffix(got, "\nend.") {
				t.Fatalf("width %d, %q: %q became %q", width, v, text, got)
			}
			bare := strings.NewReplacer("\n", "", "\r", "", " ", "", "\t", "").Replace(got)
			for _, f := range formsOf([]byte(v), true) {
				if strings.Contains(bare, string(f.text)) {
					t.Fatalf("%q is left in %q", f.text, got)
				}
			}
			if again := redacted(t, r, got); again != got {
				t.Fatalf("R3: %q became %q", got, again)
			}
			checkStream(t, rnd, Config{}, []pair{{"a", v}, {"b", "hunter2hunter2"}}, text+"\n"+text)
		}
	}
}

func registers(v string) bool {
	r := New(Config{})
	defer r.Close()
	return r.Register("a", []byte(v)) == nil
}

// wrappedOracle finds base64 forms in lines by trying every start.
func wrappedOracle(form, text string, i int) (end int, ok bool) {
	for k := range len(form) {
		if k > 0 {
			gap := i
			for gap < len(text) && strings.IndexByte(breakBytes, text[gap]) >= 0 {
				gap++
			}
			if gap > i && gap-i <= maxBreak && strings.Contains(text[i:gap], "\n") {
				i = gap
			}
		}
		if i == len(text) || text[i] != form[k] {
			return 0, false
		}
		i++
	}
	return i, true
}

// TestR7_WrappedOracle compares with brute force on texts of a small alphabet, in which
// forms overlap, nest and nearly match.
func TestR7_WrappedOracle(t *testing.T) {
	rnd := newRand(t, 44)
	rounds := howMany(600, 100_000)
	for range rounds {
		v := strings.Repeat([]string{"abc", "aaa", "k", "\x00\x00\x00"}[rnd.IntN(4)], 12)[:8+rnd.IntN(4)]
		r, _ := registered(t, Config{}, []pair{{"a", v}})
		fs := formsOf([]byte(v), true)
		var text strings.Builder
		for range rnd.IntN(8) {
			f := string(fs[1+rnd.IntN(len(fs)-1)].text)
			for _, c := range f[rnd.IntN(3):] {
				text.WriteRune(c)
				if rnd.IntN(4) == 0 {
					text.WriteString([]string{"\n", "\r\n", " \n ", " ", strings.Repeat("\n", maxBreak+rnd.IntN(2))}[rnd.IntN(5)])
				}
			}
		}
		in := text.String()
		var want strings.Builder
		covered := 0
		for i := range len(in) {
			longest := 0
			for _, form := range fs {
				f, kind := string(form.text), form.kind
				here := in[i:min(len(in), i+len(f))]
				if here == f || kind == hexForm && inLowerHex(here) == f {
					longest = max(longest, i+len(f))
				}
				if end, ok := wrappedOracle(f, in, i); ok && kind == base64Form {
					longest = max(longest, end)
				}
			}
			if longest > covered {
				want.WriteString("[REDACTED:a]")
				covered = longest
			}
			if i >= covered {
				want.WriteByte(in[i])
			}
		}
		if got := redacted(t, r, in); got != want.String() {
			t.Fatalf("%q in %q\ngot  %q\nwant %q", v, in, got, want.String())
		}
		checkStream(t, rnd, Config{}, []pair{{"a", v}}, in)
		r.Close()
	}
}

// A value that was read from a file ends with the file's line end, which is left out.
func TestRegister_LineEndOfAFile(t *testing.T) {
	for _, v := range []string{"hunter2hunter2\n", "hunter2hunter2\r\n"} {
		r, _ := registered(t, Config{}, []pair{{"a", v}})
		for in, want := range map[string]string{
			"x hunter2hunter2 y": "x [REDACTED:a] y", v: "[REDACTED:a]" + v[14:], "hunter2hunter2\n\n": "[REDACTED:a]\n\n",
			base64.StdEncoding.EncodeToString([]byte(v)): "[REDACTED:a]",
		} {
			if got := redacted(t, r, in); got != want && !strings.HasPrefix(got, want) {
				t.Errorf("%q became %q, want %q", in, got, want)
			}
		}
	}
	if err := New(Config{}).Register("a", []byte("1234567\n")); err != ErrTooShort {
		t.Errorf("without its line end the value is too short: %v", err)
	}
}

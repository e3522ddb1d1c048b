package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func read(t testing.TB, r io.Reader) ([]line, []badLine) {
	t.Helper()
	var good []line
	bad, err := readLines(r, func(l line) error {
		good = append(good, l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return good, bad
}

var full = line{
	Number:    1,
	Content:   "Grüße, \"Lena\"\n😀",
	Tags:      []string{"fact", ""},
	Subjects:  []string{"customer:lena-hofer"},
	CreatedAt: time.Date(2026, 3, 2, 9, 0, 0, 500e6, time.UTC),
	ExpiresAt: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
}

const fullText = `{"content":"Grüße, \"Lena\"\n\ud83d\ude00","tags":["fact",""],` +
	`"subjects":["customer:lena-hofer"],"createdAt":"2026-03-02T11:00:00.500+02:00","expiresAt":"2026-04-01T00:00:00Z"}`

func TestReadLines_Good(t *testing.T) {
	content := func(s string) line { return line{Number: 1, Content: s} }
	for text, want := range map[string]line{
		fullText:                             full,
		`{"content":"a"}`:                    content("a"),
		" \t{ \"content\" : \"a\" } \r":      content("a"),
		`{"\u0063ontent":"a"}`:               content("a"),
		`{"content":"\\ud800 \\\\udc00"}`:    content(`\ud800 \\udc00`),
		`{"content":"` + "\ufffd" + `"}`:     content("\ufffd"),
		`{"content":"\ufffd\ufeff"}`:         content("\ufffd\ufeff"),
		"\ufeff" + `{"content":"a"}`:         content("a"),
		`{"content":" ","tags":[]}`:          {Number: 1, Content: " ", Tags: []string{}},
		`{"content":"a` + "\u2028\u0085b\"}": content("a\u2028\u0085b"),
	} {
		good, bad := read(t, strings.NewReader(text))
		if len(bad) != 0 || len(good) != 1 || !reflect.DeepEqual(good[0], want) {
			t.Errorf("%q: got %+v and %v, want %+v", text, good, bad, want)
		}
	}
}

// badTexts are lines that must be refused, with the reason.
var badTexts = map[string]string{
	`content`:                                  "not JSON",
	`{"content":"a"`:                           "not JSON",
	`{"content":"a",}`:                         "not JSON",
	`{"content" "a"}`:                          "not JSON",
	`{"content":"a" "tags":[]}`:                "not JSON",
	`{1:"a"}`:                                  "not JSON",
	`{"content":"` + "\t" + `"}`:               "not JSON",
	`{"content":"` + "\x00" + `"}`:             "not JSON",
	`{"content":"a"}` + "\r{}":                 "something after the object",
	`{"content":"a"}x`:                         "something after the object",
	`{"content":"a"} {"content":"b"}`:          "something after the object",
	`{"content":"a"}` + "\ufeff":               "something after the object",
	"\u00a0":                                   "not JSON",
	`"content"`:                                "not an object",
	`[{"content":"a"}]`:                        "not an object",
	`null`:                                     "not an object",
	`null x`:                                   "not JSON",
	`{}`:                                       "no content",
	`{"content":""}`:                           "no content",
	`{"tags":["a"]}`:                           "no content",
	`{"content":null}`:                         "content is of the wrong type",
	`{"content":7}`:                            "content is of the wrong type",
	`{"content":["a"]}`:                        "content is of the wrong type",
	`{"content":"a","tags":"b"}`:               "tags is of the wrong type",
	`{"content":"a","tags":null}`:              "tags is of the wrong type",
	`{"content":"a","tags":["b",1]}`:           "tags is of the wrong type",
	`{"content":"a","subjects":{}}`:            "subjects is of the wrong type",
	`{"content":"a","createdAt":1}`:            "createdAt is of the wrong type",
	`{"content":"a","other":1}`:                "unknown field",
	`{"Content":"a"}`:                          "unknown field",
	`{"content":"a","content":"a"}`:            "repeated field",
	`{"content":"a","\u0063ontent":"b"}`:       "repeated field",
	`{"content":"a\u0000"}`:                    "content holds U+0000",
	`{"content":"a","tags":["\u0000"]}`:        "tags holds U+0000",
	`{"content":"\ud800"}`:                     "an escaped surrogate without its other half",
	`{"content":"\ud800\ud800"}`:               "an escaped surrogate without its other half",
	`{"content":"\udc00\ud800"}`:               "an escaped surrogate without its other half",
	`{"content":"\\\ud800\\udc00"}`:            "an escaped surrogate without its other half",
	"{\"content\":\"\xff\"}":                   "invalid UTF-8",
	"{\"content\":\"\xed\xa0\x80\"}":           "invalid UTF-8",
	`{"content":"a","createdAt":""}`:           "createdAt is not an RFC 3339 time",
	badTime(`2026-03-02`):                      "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02 09:00:00Z`):            "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02T9:00:00Z`):             "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02T09:00:00,5Z`):          "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02T09:00:00`):             "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02T09:00:00+24:00`):       "expiresAt is not an RFC 3339 time",
	badTime(`2026-03-02T09:00:60Z`):            "expiresAt is not an RFC 3339 time",
	badTime(`2026-02-30T09:00:00Z`):            "expiresAt is not an RFC 3339 time",
	badTime(`12026-03-02T09:00:00Z`):           "expiresAt is not an RFC 3339 time",
	badTime(`0000-12-31T23:59:59Z`):            "expiresAt is outside the years 1 to 9999",
	badTime(`0001-01-01T00:30:00+01:00`):       "expiresAt is outside the years 1 to 9999",
	badTime(`9999-12-31T23:30:00-01:00`):       "expiresAt is outside the years 1 to 9999",
	badTime(`2026-03-02T09:00:00.0001Z`):       "expiresAt is finer than a millisecond",
	strings.Repeat(" ", maxLine+1):             "longer than 1 MiB",
	strings.Repeat("[", 20000):                 "not JSON",
	`{"content":` + strings.Repeat("[", 20000): "not JSON",
}

func badTime(s string) string { return `{"content":"a","expiresAt":"` + s + `"}` }

func TestReadLines_Bad(t *testing.T) {
	for text, want := range badTexts {
		good, bad := read(t, strings.NewReader(text))
		if len(good) != 0 || len(bad) != 1 || bad[0] != (badLine{1, want}) {
			t.Errorf("%q: got %v and %v, want %q", text[:min(80, len(text))], good, bad, want)
		}
	}
}

func TestReadLines_Limit(t *testing.T) {
	ofLength := func(n int) string {
		const frame = `{"content":""}`
		return `{"content":"` + strings.Repeat("x", n-len(frame)) + `"}`
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		for _, start := range []string{"", "\ufeff"} {
			for _, c := range []struct{ length, good int }{
				{maxLine - 1, 1}, {maxLine, 1}, {maxLine + 1, 0}, {maxLine + 2, 0}, {maxLine + 3, 0}, {3 * maxLine, 0},
			} {
				good, bad := read(t, strings.NewReader(start+ofLength(c.length)+end))
				if len(good) != c.good || len(good)+len(bad) != 1 {
					t.Errorf("%d bytes before %q: %d good, %v", c.length, end, len(good), bad)
				}
			}
		}
	}
	good, bad := read(t, strings.NewReader(ofLength(2*maxLine)+"\n"+ofLength(20)+"\n"))
	if len(good) != 1 || good[0].Number != 2 || len(bad) != 1 || bad[0].Number != 1 {
		t.Errorf("the line after one that is too long: %d good, %v", len(good), bad)
	}
}

// An error of the reader or of the callback comes back, and what was read until
// then has been handed over.
func TestReadLines_Errors(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		text string
		good int
		line string
	}{
		{"", 0, "line 1:"},
		{"{", 0, "line 1:"},
		{"{\"content\":\"a\"}\n", 1, "line 2:"},
		{"{\"content\":\"a\"}\n\n{\"content\":\"b\"}", 1, "line 3:"},
	} {
		good := 0
		_, err := readLines(io.MultiReader(strings.NewReader(c.text), iotest.ErrReader(broken)), func(line) error {
			good++
			return nil
		})
		if good != c.good || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), c.line) {
			t.Errorf("%q: %d good, %v", c.text, good, err)
		}
	}

	calls := 0
	bad, err := readLines(strings.NewReader("x\n{\"content\":\"a\"}\n{\"content\":\"b\"}\ny"), func(line) error {
		calls++
		return broken
	})
	if calls != 1 || len(bad) != 1 || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2:") {
		t.Errorf("%d calls, %v, %v", calls, bad, err)
	}
}

// Any mixture of good, bad and blank lines, with any line ends and however the
// reader cuts it, comes back line for line.
func TestReadLines_Mixtures(t *testing.T) {
	texts := slices.Sorted(func(yield func(string) bool) {
		for text := range badTexts {
			if len(text) < 1000 && !yield(text) {
				return
			}
		}
	})
	blanks := []string{"", " ", "\t \t", " \r"}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var file strings.Builder
		var wantGood []line
		var wantBad []badLine
		if rng.IntN(4) == 0 {
			file.WriteString("\ufeff")
		}
		count := rng.IntN(30)
		for number := 1; number <= count; number++ {
			switch rng.IntN(3) {
			case 0:
				want := full
				want.Number = number
				wantGood = append(wantGood, want)
				file.WriteString(fullText)
			case 1:
				text := texts[rng.IntN(len(texts))]
				wantBad = append(wantBad, badLine{number, badTexts[text]})
				file.WriteString(text)
			case 2:
				file.WriteString(blanks[rng.IntN(len(blanks))])
			}
			if number < count || rng.IntN(2) == 0 {
				file.WriteString([]string{"\n", "\r\n"}[rng.IntN(2)])
			}
		}
		for name, r := range map[string]io.Reader{
			"whole":       strings.NewReader(file.String()),
			"byte-wise":   iotest.OneByteReader(strings.NewReader(file.String())),
			"half":        iotest.HalfReader(strings.NewReader(file.String())),
			"end at once": iotest.DataErrReader(strings.NewReader(file.String())),
		} {
			good, bad := read(t, r)
			if !reflect.DeepEqual(good, wantGood) || !slices.Equal(bad, wantBad) {
				t.Fatalf("seed %d, %s: got %d good lines and %v, want %d and %v", seed, name, len(good), bad, len(wantGood), wantBad)
			}
		}
	}
}

// No reason can quote a line: there is a fixed list of them.
func reasons() map[string]bool {
	all := map[string]bool{"longer than 1 MiB": true, "invalid UTF-8": true, "no content": true}
	for _, err := range []error{errNotJSON, errNotObject, errUnknown, errRepeated, errTrailing, errSurrogates} {
		all[err.Error()] = true
	}
	for _, name := range []string{"content", "tags", "subjects", "createdAt", "expiresAt"} {
		for _, err := range []error{errType, errNUL, errTime, errYear, errTooFine} {
			all[name+" "+err.Error()] = true
		}
	}
	return all
}

// FuzzReadLines holds the reader against a plain split of the whole file: every
// line is good, bad or blank, none is lost or comes twice, and a good one says
// what encoding/json finds in it.
func FuzzReadLines(f *testing.F) {
	for text := range badTexts {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte("\ufeff\r\n" + fullText + "\n \n" + fullText + "\r\nx"))
	f.Fuzz(func(t *testing.T, file []byte) {
		good, bad := read(t, bytes.NewReader(file))
		goodAt, badAt := map[int]line{}, map[int]bool{}
		for _, l := range good {
			goodAt[l.Number] = l
		}
		known := reasons()
		for _, b := range bad {
			badAt[b.Number] = true
			if !known[b.Reason] {
				t.Errorf("an unknown reason: %q", b.Reason)
			}
		}
		if len(goodAt) != len(good) || len(badAt) != len(bad) {
			t.Errorf("a line came twice: %v, %v", good, bad)
		}

		lines := bytes.SplitAfter(bytes.TrimPrefix(file, []byte("\ufeff")), []byte("\n"))
		if len(lines[len(lines)-1]) == 0 {
			lines = lines[:len(lines)-1]
		}
		seen := 0
		for i, text := range lines {
			l, isGood := goodAt[i+1]
			blank := len(bytes.Trim(text, " \t\r\n")) == 0 && len(text) <= maxLine
			n := 0
			for _, is := range []bool{isGood, badAt[i+1], blank} {
				if is {
					n++
				}
			}
			if n != 1 {
				t.Errorf("line %d is %d of good, bad and blank: %q", i+1, n, text)
			}
			if !blank {
				seen++
			}
			if isGood {
				checkAgainstJSON(t, l, text)
			}
		}
		if seen != len(good)+len(bad) {
			t.Errorf("%d lines, %d reported", seen, len(good)+len(bad))
		}
	})
}

func checkAgainstJSON(t *testing.T, l line, text []byte) {
	t.Helper()
	var want struct {
		Content              string
		Tags, Subjects       []string
		CreatedAt, ExpiresAt time.Time
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Errorf("%q was taken: %v", text, err)
	}
	if l.Content != want.Content || !slices.Equal(l.Tags, want.Tags) || !slices.Equal(l.Subjects, want.Subjects) ||
		!l.CreatedAt.Equal(want.CreatedAt) || !l.ExpiresAt.Equal(want.ExpiresAt) {
		t.Errorf("got %+v, want %+v", l, want)
	}
}

func Example_readLines() {
	file := strings.NewReader("{\"content\":\"Lena prefers e-mail.\"}\n{\"content\":7}\n")
	bad, err := readLines(file, func(l line) error {
		fmt.Println(l.Number, l.Content)
		return nil
	})
	fmt.Println(bad, err)
	// Output:
	// 1 Lena prefers e-mail.
	// [line 2: content is of the wrong type] <nil>
}

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

func notes(t *testing.T) []line {
	t.Helper()
	good, bad := read(t, bytes.NewReader(corpus))
	if len(bad) != 0 {
		t.Fatalf("bad lines: %v", bad)
	}
	return good
}

// periodEnd stands after the last note.
var periodEnd = time.Date(2026, 5, 30, 0, 0, 0, 0, time.UTC)

func TestCorpus_Order(t *testing.T) {
	all := notes(t)
	if len(all) < 320 {
		t.Errorf("%d notes, want at least 320", len(all))
	}
	last := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, l := range all {
		switch {
		case !l.CreatedAt.After(last) || !l.CreatedAt.Before(periodEnd):
			t.Errorf("line %d is out of order or outside the three months", l.Number)
		case !l.ExpiresAt.IsZero() && !l.ExpiresAt.After(l.CreatedAt):
			t.Errorf("line %d expires before it was written", l.Number)
		case slices.Contains(l.Tags, ""), slices.Contains(l.Subjects, ""):
			t.Errorf("line %d has an empty label", l.Number)
		}
		last = l.CreatedAt
	}
}

var (
	german  = regexp.MustCompile(`\b(und|nicht|ist|hat|kein|Herr|Herrn)\b`)
	spanish = regexp.MustCompile(`\b(los|las|que|una|hasta|pide)\b`)
)

// The notes hold enough of every kind that the examples show something with.
func TestCorpus_Kinds(t *testing.T) {
	count := map[string]int{}
	contents := map[string][]line{}
	for _, l := range notes(t) {
		contents[l.Content] = append(contents[l.Content], l)
		for _, tag := range l.Tags {
			kind, _, _ := strings.Cut(tag, ":")
			count[kind]++
		}
		for kind, is := range map[string]bool{
			"expired":          !l.ExpiresAt.IsZero() && l.ExpiresAt.Before(periodEnd),
			"expires later":    l.ExpiresAt.After(periodEnd),
			"over 1 KB":        len(l.Content) > 1024,
			"under 40 bytes":   len(l.Content) < 40,
			"several lines":    strings.Contains(l.Content, "\n"),
			"several subjects": len(l.Subjects) > 1,
			"no subject":       len(l.Subjects) == 0,
			"Japanese":         strings.ContainsFunc(l.Content, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) }),
			"German":           german.MatchString(l.Content),
			"Spanish":          spanish.MatchString(l.Content),
			"combining mark":   strings.ContainsFunc(l.Content, func(r rune) bool { return unicode.Is(unicode.Mn, r) }),
		} {
			if is {
				count[kind]++
			}
		}
	}
	for _, same := range contents {
		if len(same) > 1 {
			count["exact duplicates"] += len(same) - 1
		}
		for _, l := range same[1:] {
			if !slices.Equal(l.Subjects, same[0].Subjects) {
				count["equal but of another subject"]++
			}
			if !l.ExpiresAt.Equal(same[0].ExpiresAt) {
				count["equal but of another life"]++
			}
		}
	}
	for kind, least := range map[string]int{
		"fact": 100, "preference": 20, "ticket": 50, "incident": 4, "secret-leak": 12, "handover": 8,
		"slot": 30, "intent": 60, "recurring": 5, "when": 6,
		"expired": 12, "expires later": 6, "over 1 KB": 4, "under 40 bytes": 10, "several lines": 5,
		"several subjects": 100, "no subject": 40, "Japanese": 8, "German": 8, "Spanish": 10, "combining mark": 1,
		"exact duplicates": 30, "equal but of another subject": 1, "equal but of another life": 1,
	} {
		if count[kind] < least {
			t.Errorf("%s: %d notes, want at least %d", kind, count[kind], least)
		}
	}
	for _, tag := range []string{"when:invoice-4471-paid", "slot:hofer-druck/plan", "slot:acme/on-call"} {
		if !slices.ContainsFunc(notes(t), func(l line) bool { return slices.Contains(l.Tags, tag) }) {
			t.Errorf("no note is tagged %s", tag)
		}
	}
}

// A slot is worth having only if its value changes: in nearly all of them a
// newer fact supersedes an older one.
func TestCorpus_Slots(t *testing.T) {
	values := map[string]map[string]bool{}
	for _, l := range notes(t) {
		for _, tag := range l.Tags {
			if strings.HasPrefix(tag, "slot:") {
				if values[tag] == nil {
					values[tag] = map[string]bool{}
				}
				values[tag][l.Content] = true
			}
		}
	}
	changed := 0
	for _, of := range values {
		if len(of) > 1 {
			changed++
		}
	}
	if changed < 12 {
		t.Errorf("%d slots change their value, want at least 12", changed)
	}
}

// Every secret is in the notes, some encoded too, and one inside another.
func TestCorpus_Secrets(t *testing.T) {
	var text strings.Builder
	for _, l := range notes(t) {
		text.WriteString(l.Content + "\n")
	}
	inside, encoded := 0, map[string]bool{}
	for _, s := range secrets {
		if !strings.Contains(text.String(), s.value) {
			t.Errorf("%s is not in the notes", s.id)
		}
		if n := len([]rune(s.value)); n < 8 {
			t.Errorf("%s has %d characters, too few to be looked for", s.id, n)
		}
		for _, o := range secrets {
			if o != s && strings.Contains(o.value, s.value) {
				inside++
			}
		}
		quoted, err := json.Marshal(s.value)
		if err != nil {
			t.Fatal(err)
		}
		for form, value := range map[string]string{
			"JSON":   strings.Trim(string(quoted), `"`),
			"URL":    url.QueryEscape(s.value),
			"base64": base64.StdEncoding.EncodeToString([]byte(s.value)),
		} {
			if value != s.value && strings.Contains(text.String(), value) {
				encoded[form] = true
			}
		}
	}
	if inside < 2 || len(encoded) != 3 {
		t.Errorf("%d secrets inside another, encoded forms %v", inside, encoded)
	}
}

// restated are notes that say the same in nearly the same words; conflicting are
// notes that look as much alike and do not: a number, a date, a unit, a name, a
// negation or a quantifier differs. Both are given by date and time.
var restated = [][]string{
	{"03-02 08:12", "03-03 09:15", "03-16 13:44"},
	{"03-04 08:14", "03-09 09:12", "03-17 13:50", "05-29 10:24"},
	{"03-05 08:02", "03-10 08:50", "03-24 13:31"},
	{"03-05 13:36", "03-10 15:50", "05-26 10:30"},
	{"03-06 09:05", "03-12 08:59", "04-16 09:22"},
	{"03-09 12:05", "03-12 14:30", "05-21 11:30"},
	{"03-11 13:25", "03-18 08:07", "04-09 14:52"},
	{"03-13 08:40", "03-18 15:12", "04-13 15:29"},
	{"03-16 09:14", "03-17 09:02", "04-01 14:04"},
	{"03-19 09:55", "03-23 15:33"},
	{"03-20 09:13", "03-25 09:17", "05-27 10:09"},
	{"03-23 08:39", "03-26 09:24", "03-31 08:33"},
	{"03-24 09:30", "03-27 07:44", "05-04 12:38"},
	{"03-25 14:00", "03-30 08:52", "05-20 15:12"},
	{"03-30 13:46", "04-01 09:29", "04-30 10:01"},
	{"03-31 10:40", "04-02 10:38", "04-17 09:56"},
	{"04-07 10:21", "04-09 08:31", "04-22 12:41"},
	{"04-08 10:01", "04-10 08:40", "05-07 11:12"},
	{"04-13 09:11", "04-14 13:37", "05-18 13:06"},
	{"04-13 11:50", "04-15 07:49", "04-24 08:33"},
	{"04-20 08:51", "04-21 13:52", "05-11 15:08"},
	{"04-21 08:36", "04-22 08:48", "05-05 10:16"},
	{"04-23 09:18", "04-27 14:49", "05-19 10:17"},
	{"04-27 08:52", "04-29 08:41", "05-15 08:40"},
	{"04-28 09:17", "04-29 11:05", "05-13 13:19"},
	{"05-04 08:55", "05-06 10:27", "05-20 09:29", "05-28 15:40"},
	{"05-06 14:23", "05-08 09:26", "05-21 14:59"},
	{"05-11 09:41", "05-11 15:40", "05-12 10:10", "05-22 12:38"},
	{"05-13 09:27", "05-14 10:04", "05-26 14:53"},
	{"05-18 09:11", "05-19 14:50"},
}

var conflicting = [][]string{
	{"03-02 09:26", "03-09 09:45", "04-23 12:52"},
	{"03-03 08:20", "03-10 11:40", "04-28 12:46"},
	{"03-04 10:45", "03-11 10:44", "05-28 13:45"},
	{"03-06 09:50", "03-18 09:31"},
	{"03-12 11:00", "03-24 11:14", "05-05 12:45"},
	{"03-16 11:21", "03-19 10:41", "05-04 10:31"},
	{"03-23 11:05", "03-27 10:53"},
	{"03-25 11:28", "03-31 14:12"},
	{"03-30 11:27", "04-08 08:25"},
	{"04-02 11:50", "04-10 10:20"},
	{"04-08 14:47", "04-13 14:31"},
	{"04-09 12:22", "04-14 10:48"},
	{"04-15 11:19", "04-17 13:20"},
	{"04-16 11:53", "04-20 15:23"},
	{"04-22 10:26", "04-27 10:28"},
	{"05-07 10:20", "05-11 10:35"},
	{"05-08 12:50", "05-14 08:23"},
	{"05-12 12:30", "05-15 12:52"},
	{"05-19 09:24", "05-22 10:12"},
	{"05-20 11:58", "05-21 09:16"},
	{"05-26 13:41", "05-27 12:59"},
}

// The two lists cannot be told apart by how many words the notes share: only by
// which ones they do not.
func TestCorpus_Lookalikes(t *testing.T) {
	at := map[string]line{}
	for _, l := range notes(t) {
		at[l.CreatedAt.Format("01-02 15:04")] = l
	}
	for name, groups := range map[string][][]string{"restated": restated, "conflicting": conflicting} {
		distinct := 0
		for _, group := range groups {
			first, ok := at[group[0]]
			if !ok {
				t.Fatalf("%s: there is no note at %s", name, group[0])
			}
			seen := map[string]bool{first.Content: true}
			for _, when := range group[1:] {
				l, ok := at[when]
				if !ok {
					t.Fatalf("%s: there is no note at %s", name, when)
				}
				if shared := sharedWords(first.Content, l.Content); shared < 0.6 {
					t.Errorf("%s: %s and %s share only %.2f of their words", name, group[0], when, shared)
				}
				seen[l.Content] = true
			}
			if len(seen) > 1 {
				distinct++
			}
		}
		if distinct < 15 {
			t.Errorf("%s: %d groups with different texts, want at least 15", name, distinct)
		}
	}
}

// sharedWords is the part of all words of a and b that both have.
func sharedWords(a, b string) float64 {
	words := func(s string) map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			set[w] = true
		}
		return set
	}
	in, both := words(a), 0
	for w := range words(b) {
		if in[w] {
			both++
		}
		in[w] = true
	}
	return float64(both) / float64(len(in))
}

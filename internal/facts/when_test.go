package facts

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func on(day string) time.Time {
	at, err := time.Parse(ISODay, day)
	if err != nil {
		panic(err)
	}
	return at
}

// A date without a year is the same date until it comes round again, on the way back to it too.
func TestC8_ADateWithoutAYearIsOfItsYear(t *testing.T) {
	for _, text := range []string{"The inspection is on 2 March.", "The inspection is on March 2nd at 9.", "The inspection of the 2nd of March is for Ann.",
		"The inspection of 2 March is the main one."} {
		w := ReadWhen(text)
		for _, same := range [][2]string{{"2026-01-05", "2026-02-20"}, {"2026-03-02", "2027-03-01"}, {"2025-12-31", "2026-01-01"}} {
			require.Equal(t, w.Day(on(same[0])), w.Day(on(same[1])), "%s %s", text, same)
		}
		for _, other := range [][2]string{{"2026-02-01", "2027-02-01"}, {"2026-03-01", "2026-03-02"}, {"2026-01-05", "2026-12-05"}} {
			require.NotEqual(t, w.Day(on(other[0])), w.Day(on(other[1])), "%s %s", text, other)
		}
	}
	leap := ReadWhen("The party is on 29 February.")
	require.NotEqual(t, leap.Day(on("2026-01-01")), leap.Day(on("2027-01-01")))
}

// The day is the date in UTC, however the instant is written.
func TestC8_TheDayIsOfUTC(t *testing.T) {
	w := ReadWhen("Ann moves tomorrow.")
	late := time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("", -5*3600))
	require.Equal(t, "2026-03-03", w.Day(late))
}

// A line that begins with its day says the same for ever; the lines beside it do not.
func TestC8_ALineThatBeginsWithItsDay(t *testing.T) {
	a, b := on("2026-03-02"), on("2026-06-02")
	for text, same := range map[string]bool{
		"2026-03-01: Ann moves tomorrow.":                        true,
		"2026-03-01/2026-03-04: Ania jutro jedzie do Berlina.":   true,
		"2026-03-01: Ann moves tomorrow.\nLena likes tea.":       true,
		"2026-03-01: Ann moves tomorrow.\nLena pays tomorrow.":   false,
		"On 2026-03-01 Ann moves tomorrow.":                      false,
		" \n\nLena likes tea.\n":                                 true,
		"":                                                       true,
		"Lena likes tea.\nLena lubi herbatę, ale dziś pije kawę": false,
	} {
		w := ReadWhen(text)
		require.Equal(t, same, w.Day(a) == w.Day(b), "%q", text)
	}
	head, rest := CutDay("2026-03-01/2026-03-04: x")
	require.Equal(t, "2026-03-01/2026-03-04: x", head+rest)
	require.Equal(t, "x", rest)
}

// A phrase that an end of a line breaks is one phrase; what lines say by themselves stays what it is.
func TestC8_APhraseOverTwoLines(t *testing.T) {
	a, b := on("2026-03-02"), on("2026-06-02")
	for text, same := range map[string]bool{
		"The trial of the tool ends in three\ndays, says Ann.":     false,
		"We have used this tool for\n6 months.":                    false,
		"The office is closed until further\nnotice.":              false,
		"Tom is 8\nThe shop opens at 10.":                          false,
		"Ann likes the tea in\nthe kitchen.":                       true,
		"Ann likes tea.\n- The door is green\n- The wall is white": true,
	} {
		w := ReadWhen(text)
		require.Equal(t, same, w.Day(a) == w.Day(b), "%q", text)
	}
}

// Hardly a text of another language passes for English, and most of English do not pass for another one.
func TestC8_AnotherLanguageIsNotTakenForEnglish(t *testing.T) {
	files, err := filepath.Glob("../../consolidate/testdata/pairs_*.jsonl")
	require.NoError(t, err)
	texts, known := map[string]int{}, map[string]int{}
	for _, name := range files {
		f, err := os.Open(name)
		require.NoError(t, err)
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var p struct{ A, Lang string }
			require.NoError(t, json.Unmarshal(lines.Bytes(), &p))
			if p.Lang != "en" && p.Lang != "code" {
				p.Lang = "others"
			}
			texts[p.Lang]++
			if !ReadWhen(p.A).Unknown {
				known[p.Lang]++
			}
		}
	}
	t.Log(texts, known)
	require.Greater(t, texts["others"], 500)
	require.LessOrEqual(t, 200*known["others"], texts["others"])
	require.GreaterOrEqual(t, 2*known["en"], texts["en"])
}

// FuzzWhen: reading ends, and the same text on one day is of that day.
func FuzzWhen(f *testing.F) {
	for _, s := range []string{"in 3 days", "the last Friday of each", "2 March", "is on", "'s 8", "Q3", "mid-March", "2026-03-01: a\nb", "\xff next", "İ may"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := ReadWhen(s)
		if at := on("2026-03-02"); w.Day(at) != w.Day(at.Add(23*time.Hour)) {
			t.Fatalf("%q is of two days", s)
		}
		if head, rest := CutDay(s); head+rest != s || head != "" && !strings.HasSuffix(head, ": ") {
			t.Fatalf("%q is cut wrongly", s)
		}
	})
}

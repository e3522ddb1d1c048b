package dates_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/dates"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// sentence is a line of testdata.
type sentence struct {
	Text, Zone, Label, At, Why string
	Said                       time.Time
	Clear                      bool
}

func sentences(t *testing.T, name string) (all []sentence) {
	file, err := os.ReadFile("testdata/" + name + ".jsonl")
	require.NoError(t, err)
	for line := range bytes.Lines(file) {
		var s sentence
		require.NoError(t, json.Unmarshal(line, &s))
		all = append(all, s)
	}
	return all
}

// read lets an Inferrer read one text.
func read(t *testing.T, zone, text string, said time.Time, tags ...string) (arms []commitment.Arm, why []commitment.Why) {
	in, err := time.LoadLocation(zone)
	require.NoError(t, err)
	e := memory.Entry{ID: "mem_1", Content: text, Tags: tags, CreatedAt: said}
	found, err := dates.Inferrer{Zone: in}.Infer(t.Context(), commitment.Request{Entries: []memory.Entry{e}, Now: said, Horizon: 366 * 24 * time.Hour})
	require.NoError(t, err)
	for _, i := range found.Intents {
		arms = append(arms, i.Arm)
	}
	for _, u := range found.Unread {
		why = append(why, u.Why)
	}
	return arms, why
}

// Sentences that were labelled before the code, in halves of which one was not looked at while it
// was written.
func TestLabelledSentences(t *testing.T) {
	for _, set := range []struct {
		name string
		read float64 // of the clear English ones, at least
	}{
		{"sentences_seen", 0.45}, {"sentences_unseen", 0.45}, {"sentences_third", 0.60}, {"requests_seen", 0.80}, {"requests_unseen", 0.80},
	} {
		t.Run(set.name, func(t *testing.T) {
			var armed, right, clear, found, others, othersFound int
			for _, s := range sentences(t, set.name) {
				arms, why := read(t, s.Zone, s.Text, s.Said, "intent")
				hit := false
				if len(arms) > 0 {
					armed++
					at, _ := time.Parse(time.RFC3339, s.At)
					hit = s.Label == "armed" && arms[0].At.Equal(at)
					if hit {
						right++
					} else {
						t.Logf("%q, said %s: armed for %s, and asks for %q (%s)", s.Text, s.Said, arms[0].At, s.At, s.Why)
					}
					assert.NotContains(t, []string{"past", "negated", "cancelled"}, s.Why, s.Text)
				}
				switch {
				case !s.Clear:
				case strings.HasPrefix(s.Why, "other language"):
					others++
					if hit {
						othersFound++
					}
				default:
					clear++
					if hit {
						found++
					} else if len(arms) == 0 && os.Getenv("SHOW") != "" {
						t.Logf("MISSED %v %q %s", why, s.Text, s.At)
					}
				}
			}
			t.Logf("%d of %d armed are right; read: %d of %d in English, %d of %d in other languages", right, armed, found, clear, othersFound, others)
			require.GreaterOrEqual(t, float64(right), 0.97*float64(armed))
			require.GreaterOrEqual(t, float64(found), set.read*float64(clear))
		})
	}
}

func TestWhatIsRead(t *testing.T) {
	said := time.Date(2026, 4, 15, 15, 16, 41, 0, time.UTC) // a Wednesday, 17:16 in Berlin
	for text, want := range map[string]string{
		"Call Sam on 2026-05-12 at 14:30.":          "2026-05-12T12:30:00Z",
		"Call Sam at 2026-05-12T14:30Z.":            "2026-05-12T14:30:00Z",
		"Call Sam tomorrow at 5 pm UTC.":            "2026-04-16T17:00:00Z",
		"Call Sam tomorrow at 5 pm America/Toronto": "2026-04-16T21:00:00Z",
		"Call Sam at 9 am":                          "2026-04-16T07:00:00Z",
		"Call Sam at 18:00":                         "2026-04-15T16:00:00Z",
		"Call Sam this Friday":                      "2026-04-17T07:00:00Z",
		"Call Sam next Monday afternoon":            "2026-04-20T12:00:00Z",
		"Call Sam in 90 minutes":                    "2026-04-15T16:46:41Z",
		"Call Sam on 24 October 2026 at 02:30":      "2026-10-24T00:30:00Z",
		"Call Sam on 25 October 2026 at 02:30":      "2026-10-25T00:30:00Z", // the clocks show it twice
		"Call Sam on 2026-10-25 at 02:30 UTC":       "2026-10-25T02:30:00Z",
		"Call Sam at 2026-10-25T02:30+01:00":        "2026-10-25T01:30:00Z",
		"Call Sam on 28 March 2027 at 02:30":        "2027-03-28T01:00:00Z", // and skip this one
		"Call Sam on 28 March 2027 at 2 am":         "2027-03-28T01:00:00Z",
	} {
		arms, why := read(t, "Europe/Berlin", text, said, "intent")
		require.Empty(t, why, text)
		require.Equal(t, want, arms[0].At.UTC().Format(time.RFC3339), text)
	}
	for text, want := range map[string]commitment.Why{
		"":                                   dates.WhyNoTime,
		"Call Sam.":                          dates.WhyNoTime,
		"Call Sam on 31 June.":               dates.WhyNoTime,
		"Call Sam on 2026-02-30.":            dates.WhyNoTime,
		"Call Sam next Friday.":              dates.WhyNoTime, // of this week, or of the next?
		"Call Sam on Thursday, 18 April.":    dates.WhyNoTime,
		"Call Sam tomorrow at 5.":            dates.WhyUnclear,
		"Call Sam tomorrow at 5 pm IST.":     dates.WhyUnclear,
		"Call Sam before 12 May.":            dates.WhyUnclear,
		"Call Sam every Friday at 5 pm.":     dates.WhyUnclear,
		"Send the slides of tomorrow.":       dates.WhyUnclear,
		"Call Sam tomorrow or on Friday.":    dates.WhyUnclear,
		"Sam calls tomorrow.":                dates.WhyNoAsking,
		"Don't call Sam tomorrow.":           dates.WhyDenied,
		"\"Call Sam tomorrow.\"":             dates.WhyDenied,
		"Call Sam on 12 May 2025.":           commitment.WhyPast,
		"Call Sam today at 8 am.":            commitment.WhyPast,
		"Call Sam tomorrow at 5 pm Mars/Sea": dates.WhyUnclear,
	} {
		arms, why := read(t, "Europe/Berlin", text, said, "intent")
		require.Empty(t, arms, text)
		require.Equal(t, []commitment.Why{want}, why, text)
	}
}

// Tags come first, and a text is read only where the host has said that it holds an intention.
func TestTagsComeFirst(t *testing.T) {
	said := time.Date(2026, 4, 15, 15, 16, 41, 0, time.UTC)
	arms, why := read(t, "UTC", "Call Sam tomorrow.", said, "intent", "due:2026-06-30T09:00Z")
	require.Empty(t, why)
	require.Equal(t, []commitment.Arm{{At: time.Date(2026, 6, 30, 9, 0, 0, 0, time.UTC)}}, arms)
	for _, tags := range [][]string{nil, {"intent", "done"}} {
		arms, why = read(t, "UTC", "Call Sam tomorrow.", said, tags...)
		require.Empty(t, arms)
		require.Empty(t, why)
	}
	_, why = read(t, "UTC", "Call Sam tomorrow.", said, "intent", "due:soon")
	require.Equal(t, []commitment.Why{commitment.WhyBadTag}, why)
}

// An entry that was derived from others was not written when its words were said.
func TestRelativeTimesOfDerivedEntries(t *testing.T) {
	said := time.Date(2026, 4, 15, 15, 16, 41, 0, time.UTC)
	for text, armed := range map[string]bool{"Call Sam tomorrow.": false, "Call Sam on 12 May.": false, "Call Sam on 2026-05-12.": true} {
		e := memory.Entry{ID: "e", Content: text, Tags: []string{"intent"}, Sources: []string{"s"}, CreatedAt: said}
		found, err := dates.Inferrer{}.Infer(t.Context(), commitment.Request{Entries: []memory.Entry{e}, Now: said})
		require.NoError(t, err)
		require.Equal(t, armed, len(found.Intents) == 1, text)
	}
}

// With any text and any clocks: no panic, and no instant but after the entry.
func FuzzInferrer(f *testing.F) {
	for _, s := range []string{"Call Sam next Monday at 9 am", "at 25:00", "in 999 weeks", "on 29 February", "2026-05-12T14:30+02:00 call", "the 31st", "half past two in the morning"} {
		f.Add("Call Sam "+s, int64(1_776_266_201_000))
	}
	f.Fuzz(func(t *testing.T, text string, created int64) {
		e := memory.Entry{ID: "e", Content: text, Tags: []string{"intent"}, CreatedAt: time.UnixMilli(created % (1 << 45)).UTC()}
		found, err := dates.Inferrer{}.Infer(t.Context(), commitment.Request{Entries: []memory.Entry{e}, Now: e.CreatedAt})
		require.NoError(t, err)
		for _, i := range found.Intents {
			require.True(t, i.Arm.At.After(e.CreatedAt))
		}
	})
}

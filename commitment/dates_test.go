package commitment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// read lets Dates read one note, and returns what it found in words: an instant, a
// schedule, an interval, a predicate, or why not.
func read(t testing.TB, d commitment.Dates, e memory.Entry) string {
	t.Helper()
	found, err := d.Infer(ctx, commitment.Request{Entries: []memory.Entry{e}, Now: e.CreatedAt, Horizon: 366 * day})
	require.NoError(t, err)
	var out []string
	for _, i := range found.Intents {
		require.Equal(t, e.ID, i.MemoryID)
		a := i.Arm
		s := a.Spec + a.Predicate
		switch {
		case a.Every > 0:
			s = "every " + a.Every.String()
		case !a.At.IsZero():
			s = a.At.Format("2006-01-02T15:04")
		}
		if a.Zone != "" {
			s += " " + a.Zone
		}
		if a.Once {
			s += " once"
		}
		out = append(out, s)
	}
	for _, u := range found.Unread {
		require.Equal(t, e.ID, u.MemoryID)
		out = append(out, string(u.Why))
	}
	return strings.Join(out, "; ")
}

func intent(text string, tags ...string) memory.Entry {
	// A Wednesday.
	return memory.Entry{ID: "mem_1", Content: text, Tags: append([]string{"intent"}, tags...), CreatedAt: time.Date(2026, 4, 15, 15, 16, 41, 0, time.UTC)}
}

func TestDates(t *testing.T) {
	for want, texts := range map[commitment.Why][]string{
		commitment.WhyNoDate: {"", "\xff\x00 \xed\xa0", "Call Sam about invoice 4471.", "Sit on a bench."},
		commitment.WhyAmbiguous: {
			"Call Sam tomorrow at 5.", "Call Sam tomorrow at 5:30.", "Call Sam tomorrow and on Friday.", "Call Sam at 5pm and at 6pm.", "Call Sam from 5pm to 6pm.", "Call Sam on Sept 3 or Sept 4.", "Sat on a bench on Friday.",
			"Call Sam on Wednesday.", "Call Sam on Thursday, 17 April.", "Call Sam next Friday.",
			"Call Sam tomorrow morning at 5pm.", "Call Sam tomorrow at 17:00 in the morning.", "Call Sam in 2 hours at 5pm.",
			"Call Sam tomorrow at 9am. Call Lena on Friday.",
		},
		commitment.WhyUnclear: {
			"Call Sam on 03/04/2026.", "Call Sam on 3.4.2026.", "Call Sam on 30 April or so.", "Call Sam until Friday.", "Call Sam before 12 May.",
			"Black Friday deals.", "Call Sam at 5-6pm.", "Call Sam around 5pm.", "Call Sam every Friday except in May.", "Call Sam on midnight of 12 May.",
			"Send the slides of tomorrow.", "Send the slides for tomorrow's talk at 5pm.", "Call Sam within 2 days.", "Call May tomorrow at 5pm.",
			"Call Sam tomorrow at 5pm CST.", "Call Sam tomorrow at 5pm IST.", "Call Sam tomorrow at 5pm local time.",
			"Meet at 7 Main Street tomorrow evening.", "See Sun patches.", "Read Exodus 12:30 tomorrow.", "Sat on a bench.", "Sat on a bench at 5pm.", "Call Sam in an hour and a half.",
			"Call Sam on 2026-02-30.", "Call Sam every other Friday.", "Call Sam on Sunday next week.", "Call Sam this Friday.", "Call Sam in one month.",
			"Call Sam every morning.", "Call Sam ~5pm.", "Call Sam -5pm.", "Call Sam on Saturdays at 5pm.", "Call Sam tomorrow between 5 and 6.", "Call Sam 5 minutes before noon tomorrow.",
		},
		commitment.WhyImpossible: {
			"Remind me on 31 June at 5 pm.", "Call Sam on 29 February.", "Call Sam on 30 Feb 2027 at noon.", "Call Sam on the 31st.", "Call Sam tomorrow at 25:00.",
			"Call Sam tomorrow at 9:61.", "Call Sam tomorrow at 13pm.", "Call Sam tomorrow at 0 am.",
		},
		commitment.WhyZone: {"Call Sam tomorrow at 5pm Mars/Olympus.", "Call Sam tomorrow at 2pm EST.", "Call Sam on 12 January 2027 at 2pm PDT.", "Call Sam every Friday at 2pm EDT."},
		commitment.WhyNegated: {
			"Don't call Sam tomorrow at 5pm.", "Never call Sam on Friday at 5pm.", "Cancel the call tomorrow at 5pm.", "Call Sam tomorrow at 5pm. No, don't.",
			"Forget the call tomorrow at 5pm.", "The call tomorrow at 5pm is off.", "[x] Call Sam tomorrow at 5pm.", "Done: call Sam tomorrow at 5pm.", "Call Sam tomorrow at 5pm ✅", "✔ Call Sam tomorrow at 5pm", "Call Sam tomorrow at 5pm - nope", "Nicht anrufen: 2026-05-12",
		},
		commitment.WhyReported: {
			"Lena said to call Sam tomorrow at 5pm.", "According to Lena we call Sam tomorrow at 5pm.", "\"Call Sam tomorrow at 5pm.\"",
			"Reply with 'call Sam tomorrow at 5pm'", "> Call Sam tomorrow at 5pm.", "For example, call Sam tomorrow at 5pm.",
		},
		commitment.WhySupposed: {
			"If it rains call Sam tomorrow at 5pm.", "Maybe call Sam tomorrow at 5pm.", "Call Sam tomorrow at 5pm, subject to approval.", "Call Sam tomorrow at 5pm?", "Call Sam tomorrow at 5pm unless he calls.",
			"It would be nice to call Sam tomorrow at 5pm.",
		},
		commitment.WhyTold: {
			"I called Sam on Tuesday at 5pm.", "The kitchen closes at 10 pm.", "We met on Monday.", "The call was on Friday at 5pm.", "The call is on Friday at 5pm.", "Tell Sam that we meet tomorrow at 5pm.", "Call Sam on 2026-05-12, that is 12 May",
		},
		commitment.WhyNoIntent: {"Will the bus go on Friday at 5pm", "He calls Sam on Friday at 5pm.", "She'll call Sam tomorrow at 5pm.", "Sam anrufen: 2026-05-12", "Happy Monday!"},
		commitment.WhyPast:     {"Call Sam today.", "Call Sam today at 9am.", "Call Sam on 12 May 2025.", "Call Sam at 2026-04-15T15:16Z."},
	} {
		for _, text := range texts {
			got := read(t, commitment.Dates{}, intent(text))
			require.Equal(t, string(want), got, text)
		}
	}
	for text, want := range map[string]string{
		// ISO
		"Call Sam on 2026-05-12 about it.": "2026-05-12T09:00",
		"Call Sam on 2026-05-12 at 14:30.": "2026-05-12T14:30",
		"2026-05-12T14:30:00Z call Sam":    "2026-05-12T14:30",
		"2026-05-12T14:30+02:00 call Sam":  "2026-05-12T12:30",
		"2026-05-12T14:30 call Sam":        "2026-05-12T14:30",
		// the calendar
		"On 12 May call Sam":                   "2026-05-12T09:00",
		"On the 12th of May call Sam":          "2026-05-12T09:00",
		"May 12th, 2026: call Sam":             "2026-05-12T09:00",
		"Call Sam on Sept 3":                   "2026-09-03T09:00",
		"Call Sam on 3 February":               "2027-02-03T09:00",
		"Call Sam on the 27th":                 "2026-04-27T09:00",
		"Send it by the 3rd":                   "2026-05-03T09:00",
		"Call Sam on Friday, 17 April at 5pm":  "2026-04-17T17:00",
		"Call Sam on Sat 18 April at 5pm":      "2026-04-18T17:00",
		"Call Sam tomorrow, Thursday, at noon": "2026-04-16T12:00",
		"March to the station on 3 May at 5pm": string(commitment.WhyUnclear),
		// from when it was written on
		"Call Sam tomorrow":                "2026-04-16T09:00",
		"Tomorrow morning: call Sam":       "2026-04-16T09:00",
		"Call Sam tomorrow afternoon":      "2026-04-16T14:00",
		"Call Sam the day after tomorrow":  "2026-04-17T09:00",
		"Call Sam today at 18:00":          "2026-04-15T18:00",
		"Call Sam tonight":                 "2026-04-15T20:00",
		"Call Sam tonight at 9":            "2026-04-15T21:00",
		"In 3 days ask Beth":               "2026-04-18T09:00",
		"Ask Beth in 9999 weeks":           "2217-12-03T09:00", // for the engine to refuse
		"Ask Beth in two weeks":            "2026-04-29T09:00",
		"Ask Beth 3 days from now at noon": "2026-04-18T12:00",
		"Ask Beth in 90 minutes":           "2026-04-15T16:46",
		"Ask Beth in an hour":              "2026-04-15T16:16",
		"Ask Beth on Friday":               "2026-04-17T09:00",
		"Ask Beth next Monday":             "2026-04-20T09:00",
		// the time of day
		"Call Sam at 17:00":                                    "2026-04-15T17:00",
		"Call Sam at 9 am":                                     "2026-04-16T09:00",
		"Call Sam at 09:00":                                    "2026-04-16T09:00",
		"Call Sam at 5 in the afternoon":                       "2026-04-15T17:00",
		"Call Sam at 12am":                                     "2026-04-16T00:00",
		"Call Sam tomorrow at 12 pm":                           "2026-04-16T12:00",
		"Call Sam tomorrow at 5 o'clock in the afternoon":      "2026-04-16T17:00",
		"Call Sam tomorrow at half past five in the afternoon": "2026-04-16T17:30",
		"Call Sam at quarter to one pm tomorrow":               "2026-04-16T12:45",
		"Call Sam at 5 p.m. Friday":                            "2026-04-17T17:00",
		"Call Dr. Smith at 5.30 p.m. on Friday":                "2026-04-17T17:30",
		"Set an alarm for 7am tomorrow":                        "2026-04-16T07:00",
		// what is to be done
		"E-mail Sam tomorrow":                    "2026-04-16T09:00",
		"I'll call Sam tomorrow":                 "2026-04-16T09:00",
		"TODO: call Sam tomorrow":                "2026-04-16T09:00",
		"Don't forget to call Sam tomorrow":      "2026-04-16T09:00",
		"Pay invoice 4471 of Acme tomorrow":      "2026-04-16T09:00",
		"Lena called. Call Lena tomorrow at 5pm": "2026-04-16T17:00",
		"Ask Lena tomorrow whether it was sent":  "2026-04-16T09:00",
		// what recurs
		"Every weekday at 9am look":                   "0 9 * * 1-5",
		"Every day at 17:30 look":                     "30 17 * * *",
		"Every Thursday afternoon send it":            "0 14 * * 4",
		"Send it every Thursday and Monday":           "0 9 * * 1,4",
		"Every Friday at 14:00 UTC send it":           "0 14 * * 5",
		"Every Friday at 14:00 Europe/Berlin send it": "0 14 * * 5 Europe/Berlin",
	} {
		require.Equal(t, want, read(t, commitment.Dates{}, intent(text)), text)
	}
}

// TestDates_ANumberBesideATimeIsUnread has sentences that speak of a time and of something else.
func TestDates_ANumberBesideATimeIsUnread(t *testing.T) {
	for _, text := range []string{
		"Call Sam on 12 May 20277", "12 May 20277", "Call Sam at 17:00 99999", "at 17:00 99999", "Pay invoice 4471 tomorrow at 5pm",
		"Pay the 12 May invoice", "Send the 12 May invoice.", "Pay by the 12 May invoice", "Pay Friday invoice",
	} {
		require.Equal(t, string(commitment.WhyUnclear), read(t, commitment.Dates{}, intent(text)), text)
	}
}

// TestDates_AsksItsReader has sentences in which another person or thing acts than the reader.
func TestDates_AsksItsReader(t *testing.T) {
	for _, text := range []string{
		"Tom will call the bank tomorrow", "Tom will call the bank tomorrow at 5pm", "Tom calls the bank tomorrow at noon", "Check-in starts at 15:00",
		"Check-in starts tomorrow at 15:00", "Check in starts tomorrow at 15:00", "Call center opens tomorrow at 9am", "Dentist on Friday at 5pm",
	} {
		got := read(t, commitment.Dates{}, intent(text))
		require.Contains(t, []string{string(commitment.WhyNoIntent), string(commitment.WhyTold)}, got, text)
	}
}

// The week of a Sunday is over for some and begins for others.
func TestDatesOnASunday(t *testing.T) {
	for text, want := range map[string]string{
		"Call Sam on Monday":   "2026-04-20T09:00",
		"Call Sam next Friday": string(commitment.WhyAmbiguous),
		"Call Sam on Sunday":   string(commitment.WhyAmbiguous),
	} {
		e := intent(text)
		e.CreatedAt = time.Date(2026, 4, 19, 15, 0, 0, 0, time.UTC)
		require.Equal(t, want, read(t, commitment.Dates{}, e), text)
	}
}

func TestDatesTags(t *testing.T) {
	bad := string(commitment.WhyBadTag)
	for tag, want := range map[string]string{
		"when:invoice-4471-paid":   "invoice-4471-paid once",
		"when:":                    bad,
		"when:has a space":         bad,
		"at:2026-05-12":            "2026-05-12T09:00",
		"at:2026-05-12T14:30:00Z":  "2026-05-12T14:30",
		"at:soon":                  bad,
		"every:90m":                "every 1h30m0s",
		"every:0 9 * * 1":          "0 9 * * 1",
		"every:1ms":                bad,
		"every:never":              bad,
		"slot:acme/on-call":        "2026-04-16T09:00", // the text is read
		"at:2025-05-12":            string(commitment.WhyPast),
		"at:2026-05-12T14:30+2:00": bad,
	} {
		require.Equal(t, want, read(t, commitment.Dates{}, intent("tomorrow", tag)), tag)
	}
	require.Equal(t, "p", read(t, commitment.Dates{}, intent("x", "when:p", "recurring")))
	require.Equal(t, "p once; 2026-05-12T09:00", read(t, commitment.Dates{}, intent("x", "when:p", "when:p", "at:2026-05-12")))
	require.Empty(t, read(t, commitment.Dates{}, intent("tomorrow", "done")))
	require.Empty(t, read(t, commitment.Dates{}, memory.Entry{ID: "mem_1", Content: "tomorrow"}))
	require.Equal(t, string(commitment.WhyNoDate), read(t, commitment.Dates{}, intent("tomorrow", "recurring")), "it says that it recurs")

	derived := intent("tomorrow", "every:1h")
	derived.Sources = []string{"mem_0"}
	require.Equal(t, string(commitment.WhyRelative), read(t, commitment.Dates{}, derived))
	for text, want := range map[string]string{
		"tomorrow": string(commitment.WhyRelative), "at 9am": string(commitment.WhyRelative),
		"every week": string(commitment.WhyUnclear), "12 May": string(commitment.WhyRelative),
		"on 2026-05-12": "2026-05-12T09:00", "every Monday": "0 9 * * 1",
	} {
		e := intent(text)
		e.Sources = []string{"mem_0"}
		require.Equal(t, want, read(t, commitment.Dates{}, e), text)
	}
}

func TestDatesInAZone(t *testing.T) {
	berlin := commitment.Dates{Zone: "Europe/Berlin"}
	for text, want := range map[string]string{
		"tomorrow":                                  "2026-04-16T07:00",
		"tomorrow at 9am UTC":                       "2026-04-16T09:00",
		"every weekday at 9am":                      "0 9 * * 1-5 Europe/Berlin",
		"every weekday at 9am UTC":                  "0 9 * * 1-5",
		"Call Sam tomorrow at 2pm EDT":              "2026-04-16T18:00",
		"Call Sam on 12 January 2027 at 2pm EST":    "2027-01-12T19:00",
		"Call Sam tomorrow at 2pm PDT":              "2026-04-16T21:00",
		"Call Sam tomorrow at 2pm America/New_York": "2026-04-16T18:00",
		"Call Sam tomorrow at 2pm EST":              string(commitment.WhyZone), // the clocks there show EDT
		"Call Sam tomorrow at 2pm CST":              string(commitment.WhyUnclear),
		"Call Sam tomorrow at 2pm EDT, 8pm CEST":    string(commitment.WhyAmbiguous),
		// The clocks go forward from 02:00 to 03:00, and back from 03:00 to 02:00.
		"on 2027-03-28 at 02:30":      string(commitment.WhyImpossible),
		"on 2027-03-28 at 01:59":      "2027-03-28T00:59",
		"on 2027-03-28 at 03:00":      "2027-03-28T01:00",
		"on 2026-10-25 at 02:30":      string(commitment.WhyAmbiguous),
		"on 2026-10-25 at 02:30 CEST": "2026-10-25T00:30",
		"on 2026-10-25 at 02:30 CET":  "2026-10-25T01:30",
		"on 2026-10-25 at 03:00":      "2026-10-25T02:00",
	} {
		require.Equal(t, want, read(t, berlin, intent(text)), text)
	}
	late := intent("tomorrow")
	late.CreatedAt = time.Date(2026, 4, 15, 22, 30, 0, 0, time.UTC) // the 16th there
	require.Equal(t, "2026-04-17T07:00", read(t, berlin, late))
	late.Content = "tomorrow at 5pm UTC" // which of the two?
	require.Equal(t, string(commitment.WhyAmbiguous), read(t, berlin, late))
	_, err := commitment.Dates{Zone: "Nowhere"}.Infer(ctx, commitment.Request{})
	require.ErrorIs(t, err, memory.ErrValidation)
	require.Equal(t, "2026-04-16T09:00", read(t, commitment.Dates{Zone: "UTC"}, intent("tomorrow")))
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = berlin.Infer(done, commitment.Request{Entries: []memory.Entry{late}})
	require.ErrorIs(t, err, context.Canceled)
}

// The sentences of testdata were written and labelled apart from the code. Each is said at an instant
// in a time zone, and either asks for one instant or for none.
func TestDatesOfSentencesFromElsewhere(t *testing.T) {
	for half, least := range map[string]int{"seen": 200, "unseen": 200, "third": 30} {
		file, err := os.ReadFile("testdata/sentences_" + half + ".jsonl")
		require.NoError(t, err)
		var armed, right, clear, found int
		for line := range bytes.Lines(file) {
			var s struct {
				Text, Zone, Label, At, Why string
				Said                       time.Time
				Clear                      bool
			}
			require.NoError(t, json.Unmarshal(line, &s))
			e := memory.Entry{ID: "mem_1", Content: s.Text, Tags: []string{"intent"}, CreatedAt: s.Said.UTC()}
			got := read(t, commitment.Dates{Zone: s.Zone}, e)
			want := "nothing"
			if s.Label == "armed" {
				at, err := time.Parse(time.RFC3339, s.At)
				require.NoError(t, err)
				want = at.UTC().Format("2006-01-02T15:04")
			}
			if s.Clear {
				clear++
			}
			recurs := strings.Contains(got, " * ")
			switch {
			case recurs && s.Why == "recurring": // labelled as no one instant
			case recurs || strings.HasPrefix(got, "20"):
				armed++
				if got == want {
					right++
				} else {
					t.Logf("%s: %q, said %s in %s: armed for %s, and asks for %s (%s)", half, s.Text, s.Said, s.Zone, got, want, s.Why)
					require.NotContains(t, []string{"negated", "cancelled", "past"}, s.Why, s.Text)
				}
				if got == want && s.Clear {
					found++
				}
			}
		}
		t.Logf("%s: %d armed, %d of them right; %d of %d clear intentions", half, armed, right, found, clear)
		require.Greater(t, armed, least)
		require.GreaterOrEqual(t, float64(right), 0.98*float64(armed))
		require.GreaterOrEqual(t, float64(found), 0.30*float64(clear))
	}
}

// Whatever the text, the tags, the zone and the clocks: no panic, and no instant but after now.
func FuzzDates(f *testing.F) {
	for _, s := range []string{
		"next Monday at 9", "in 9999 years", "every 3 days", "on the 5th and the 20th of each month", "29 February", "at the end of the month",
		"2026-05-12T14:30+02:00", "not before 2026-05-07", "the 31st of", "every", "in", "at", "the", "May", "12", "next", "end of", "every monday and", "day after",
	} {
		f.Add(s, "every:1h", "Europe/Berlin", int64(1_776_266_201_000), int64(0), false)
		f.Add(s, "x", "", int64(-62_135_596_800_000), int64(1<<50), true)
	}
	f.Fuzz(func(t *testing.T, text, tag, zone string, created, later int64, derived bool) {
		e := memory.Entry{ID: "mem_1", Content: text, Tags: []string{"intent", tag}, CreatedAt: time.UnixMilli(created % (1 << 48)).UTC()}
		if derived {
			e.Sources = []string{"mem_0"}
		}
		now := e.CreatedAt.Add(time.Duration(later % (1 << 55))).Truncate(time.Millisecond)
		found, err := commitment.Dates{Zone: zone}.Infer(ctx, commitment.Request{Entries: []memory.Entry{e}, Now: now, Horizon: 366 * day})
		if err != nil {
			require.ErrorIs(t, err, memory.ErrValidation)
			return
		}
		for _, i := range found.Intents {
			a := i.Arm
			switch {
			case a.Predicate != "":
			case a.Every > 0:
				require.GreaterOrEqual(t, a.Every, time.Second)
			case a.Spec != "":
				in := time.UTC
				if a.Zone != "" {
					in, err = time.LoadLocation(a.Zone)
					require.NoError(t, err)
				}
				s, err := commitment.ParseCron(a.Spec, in)
				require.NoError(t, err)
				if next := s.Next(now); !next.IsZero() {
					require.True(t, next.After(now))
				}
			default:
				require.True(t, a.At.After(now), "%s is not after %s", a.At, now)
			}
		}
	})
}

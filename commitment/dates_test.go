package commitment_test

import (
	"context"
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
	const (
		none      = string(commitment.WhyNoDate)
		ambiguous = string(commitment.WhyAmbiguous)
		past      = string(commitment.WhyPast)
		horizon   = string(commitment.WhyHorizon)
	)
	for text, want := range map[string]string{
		// ISO
		"Call Sam on 2026-05-12 about it.":         "2026-05-12T09:00",
		"Call Sam on 2026-05-12 at 14:30.":         "2026-05-12T14:30",
		"2026-05-12T14:30:00Z call":                "2026-05-12T14:30",
		"2026-05-12T14:30+02:00 call":              "2026-05-12T12:30",
		"2026-05-12T14:30 call":                    "2026-05-12T14:30",
		"Call before 2026-04-24.":                  "2026-04-23T09:00",
		"Do not write before 2026-05-07; then ask": "2026-05-07T09:00",
		"After 2026-05-07 ask":                     "2026-05-08T09:00",
		"Send it by 2026-05-27, in writing.":       "2026-05-27T09:00",
		"2026-02-30 does not exist":                none,
		"2025-05-12 is over":                       past,
		"9999-12-31 is far":                        horizon,
		"on 03/04/2026 call":                       ambiguous,
		"on 3.4.2026 call":                         ambiguous,
		"2026-05-12 or 2026-05-13":                 ambiguous,
		"2026-05-12, that is 12 May":               "2026-05-12T09:00",
		"the numbers of 2026-05-12":                none,
		// calendar
		"On 12 May call":                   "2026-05-12T09:00",
		"on the 12th of May call":          "2026-05-12T09:00",
		"May 12th, 2026: call":             "2026-05-12T09:00",
		"Sept 3 call":                      none,
		"Sep 3 call":                       "2026-09-03T09:00",
		"3 February call":                  "2027-02-03T09:00",
		"31 April call":                    none,
		"29 February call":                 horizon,
		"on the 27th call":                 "2026-04-27T09:00",
		"by the 3rd call":                  "2026-05-03T09:00",
		"the dunning run of 5 April":       none,
		"moved to the 7th":                 none,
		"book Marta for the week of 1 May": none,
		// relative
		"tomorrow ask":                        "2026-04-16T09:00",
		"Tomorrow morning: ask":               "2026-04-16T09:00",
		"tomorrow afternoon":                  "2026-04-16T14:00",
		"the day after tomorrow":              "2026-04-17T09:00",
		"today at 18:00":                      "2026-04-15T18:00",
		"today ask":                           past,
		"tonight":                             "2026-04-15T20:00",
		"in 3 days with Beth":                 "2026-04-18T09:00",
		"in two weeks whether":                "2026-04-29T09:00",
		"within a week":                       "2026-04-22T09:00",
		"in one month":                        "2026-05-15T09:00",
		"in 90 minutes":                       "2026-04-15T16:46",
		"in an hour":                          "2026-04-15T16:16",
		"in 3 days at noon":                   "2026-04-18T12:00",
		"in 9999 years":                       horizon,
		"older than three days":               none,
		"next Monday about":                   "2026-04-20T09:00",
		"on Friday whether":                   "2026-04-17T09:00",
		"this Friday.":                        "2026-04-17T09:00",
		"by Thursday":                         "2026-04-16T09:00",
		"on Wednesday":                        "2026-04-22T09:00",
		"Wed at 5pm":                          "2026-04-22T17:00",
		"since Tuesday's release":             none,
		"the one of last Friday":              none,
		"next week":                           "2026-04-20T09:00",
		"next month":                          "2026-05-01T09:00",
		"at the end of the month whether":     "2026-04-30T09:00",
		"until 31 May send everything to her": none,
		"tomorrow or on Monday":               ambiguous,
		// times
		"at 17:00 call":           "2026-04-15T17:00",
		"at 9 call":               "2026-04-16T09:00",
		"at 9 am call":            "2026-04-16T09:00",
		"at 12am call":            "2026-04-16T00:00",
		"tomorrow at 12 pm":       "2026-04-16T12:00",
		"tomorrow at 9 o'clock":   "2026-04-16T09:00",
		"tomorrow 9:30 and 10:30": ambiguous,
		"at 25 call":              none,
		"at 13 pm":                none,
		"tomorrow at 9:61":        "2026-04-16T09:00",
		// recurring
		"Every weekday at 9 look":                    "0 9 * * 1-5",
		"every day at 17:30":                         "30 17 * * *",
		"daily":                                      "0 9 * * *",
		"every morning":                              "0 9 * * *",
		"Every Thursday afternoon send":              "0 14 * * 4",
		"send it, every Monday and Thursday":         "0 9 * * 1,4",
		"every Friday at 14:00 UTC send":             "0 14 * * 5",
		"each Sunday evening":                        "0 18 * * 0",
		"every week":                                 "0 9 * * 3",
		"On the 5th and the 20th of each month":      "0 9 5,20 * *",
		"on the first of every month":                "0 9 1 * *",
		"every 3 days":                               "every 72h0m0s",
		"every 2 weeks":                              "every 336h0m0s",
		"every hour":                                 "every 1h0m0s",
		"every 30 minutes":                           "every 30m0s",
		"Every other Friday, starting 2026-06-05":    ambiguous,
		"every customer likes it":                    none,
		"every 0 days":                               none,
		"every month":                                none,
		"every 3 months":                             none,
		"every day at 9:00 and 17:00":                ambiguous,
		"Tell Daniel as soon as the offset is live.": none,
		"":                           none,
		"\xff\x00 tomorrow \xed\xa0": "2026-04-16T09:00",
	} {
		require.Equal(t, want, read(t, commitment.Dates{}, intent(text)), text)
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
		"tomorrow": string(commitment.WhyRelative), "at 9": string(commitment.WhyRelative), "every 3 days": string(commitment.WhyRelative),
		"every week": string(commitment.WhyNoDate), "12 May": string(commitment.WhyRelative),
		"on 2026-05-12": "2026-05-12T09:00", "every Monday": "0 9 * * 1",
	} {
		e := intent(text)
		e.Sources = []string{"mem_0"}
		require.Equal(t, want, read(t, commitment.Dates{}, e), text)
	}
}

func TestDatesInAZone(t *testing.T) {
	berlin := commitment.Dates{Zone: "Europe/Berlin"}
	require.Equal(t, "2026-04-16T07:00", read(t, berlin, intent("tomorrow")))
	require.Equal(t, "2026-04-16T09:00", read(t, berlin, intent("tomorrow at 9 UTC")))
	require.Equal(t, "0 9 * * 1-5 Europe/Berlin", read(t, berlin, intent("every weekday at 9")))
	require.Equal(t, "0 9 * * 1-5", read(t, berlin, intent("every weekday at 9 UTC")))
	late := intent("tomorrow")
	late.CreatedAt = time.Date(2026, 4, 15, 22, 30, 0, 0, time.UTC) // the 16th there
	require.Equal(t, "2026-04-17T07:00", read(t, berlin, late))
	gap := intent("on 2027-03-28 at 2:30")
	require.Equal(t, "2027-03-28T01:00", read(t, berlin, gap))
	overlap := intent("on 2026-10-25 at 2:30")
	require.Equal(t, "2026-10-25T00:30", read(t, berlin, overlap))
	_, err := commitment.Dates{Zone: "Nowhere"}.Infer(ctx, commitment.Request{})
	require.ErrorIs(t, err, memory.ErrValidation)
	require.Equal(t, "2026-04-16T09:00", read(t, commitment.Dates{Zone: "UTC"}, intent("tomorrow")))
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = berlin.Infer(done, commitment.Request{Entries: []memory.Entry{late}})
	require.ErrorIs(t, err, context.Canceled)
}

// Whatever the text, the tags, the zone and the clocks: no panic, and no instant but
// between now and the horizon.
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
		const horizon = 366 * day
		found, err := commitment.Dates{Zone: zone}.Infer(ctx, commitment.Request{Entries: []memory.Entry{e}, Now: now, Horizon: horizon})
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
				require.LessOrEqual(t, a.At.Sub(now), horizon)
			}
		}
	})
}

package commitment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// model is an Inferrer that never answers the same way twice.
type model struct {
	version string
	asked   []int
	found   func(entries []memory.Entry, call int) (commitment.Inference, error)
}

func (m *model) Infer(_ context.Context, r commitment.Request) (commitment.Inference, error) {
	m.asked = append(m.asked, len(r.Entries))
	return m.found(r.Entries, len(m.asked))
}

func (m *model) Version() string { return "model/1" + m.version }

func TestK1_InferringTwiceArmsOnce(t *testing.T) {
	m := &model{found: func(entries []memory.Entry, call int) (commitment.Inference, error) {
		var out commitment.Inference
		for _, e := range entries {
			if strings.HasPrefix(e.Content, "intent") {
				out.Intents = append(out.Intents,
					commitment.Intent{MemoryID: e.ID, Arm: in(time.Duration(call) * time.Hour)},
					commitment.Intent{MemoryID: e.ID, Arm: commitment.Arm{Predicate: "signed"}})
			}
		}
		return out, nil
	}}
	h := newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	for i := range 150 {
		h.note([]string{"intent", "other"}[i%2])
	}
	first, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Len(t, first.Armed, 150)
	require.Equal(t, []int{100, 50}, m.asked)
	again, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, commitment.Inferred{Known: 150}, again, "a second opinion is not asked for")
	require.Equal(t, []int{100, 50}, m.asked)
	h.note("intent")
	third, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Len(t, third.Armed, 2)

	require.Equal(t, []int{100, 50, 1}, m.asked)

	// A new version is asked once more; its arms by predicate are known.
	m.version = "b"
	newer, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, []int{100, 50, 1, 100, 51}, m.asked)
	require.Len(t, newer.Armed, 76)
	require.Equal(t, 76, newer.Known)
	again, err = h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, commitment.Inferred{Known: 3 * 76}, again)

	other, err := h.Infer(ctx, h.job("globex"), "ref")
	require.NoError(t, err)
	require.Empty(t, other)
}

// Three passes over 1,000 notes ask about each of them once, and the passes that ask nothing
// change nothing. What was remembered of an entry goes with it.
func TestK1_WhatWasReadIsRemembered(t *testing.T) {
	m := &model{found: func(entries []memory.Entry, _ int) (commitment.Inference, error) {
		var out commitment.Inference
		for _, e := range entries {
			if e.Content == "intent" {
				out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: in(time.Hour)})
			}
		}
		return out, nil
	}}
	s := newAudit(inmem.New())
	h := newHostOn(t, s, func(c *commitment.Config) { c.Inferrer = m })
	var ids []string
	for i := range 1000 {
		ids = append(ids, h.note([]string{"intent", "other", "other", "other"}[i%4]).MemoryID)
	}
	marks := func() (n int) {
		for _, err := range h.job("acme").Documents(ctx, "ref", driver.DocumentQuery{Kind: "commitment-read"}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	s.applied = 0
	for pass := range 3 {
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Len(t, done.Armed, []int{250, 0, 0}[pass])
		require.Equal(t, []int{0, 250, 250}[pass], done.Known)
		h.restart(func(c *commitment.Config) { c.Inferrer = m })
	}
	require.Equal(t, []int{100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, m.asked)
	require.Equal(t, 10, s.applied, "one mutation for each request")
	require.Equal(t, 1000, marks())

	_, err := h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Erase: ids[:1]})
	require.NoError(t, err)
	require.Equal(t, 999, marks(), "it goes with its entry")
	_, err = h.job("acme").Put(ctx, "ref", memory.Draft{Content: "other"})
	require.NoError(t, err)
	_, err = h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, 1, m.asked[len(m.asked)-1], "only the new one")
}

// Of two passes at once, each with an opinion of its own, one is kept for each entry.
func TestK1_TwoPassesAtOnce(t *testing.T) {
	var h *host
	inner := false
	m := &model{}
	m.found = func(entries []memory.Entry, call int) (commitment.Inference, error) {
		if !inner { // while this pass asks, another one is faster
			inner = true
			done, err := h.Infer(ctx, h.job("acme"), "ref")
			require.NoError(t, err)
			require.Len(t, done.Armed, 3)
			_, err = h.job("acme").Delete(ctx, "ref", entries[0].ID)
			require.NoError(t, err)
		}
		var out commitment.Inference
		for _, e := range entries {
			out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: in(time.Duration(call) * time.Hour)})
		}
		return out, nil
	}
	h = newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	for range 3 {
		h.note("x")
	}
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, commitment.Inferred{Known: 2}, done)
	require.Len(t, m.asked, 2)
}

// What cannot be armed yet is asked about again, and armed when it can be.
func TestInferComesBackToWhatIsRefusedForNow(t *testing.T) {
	m := &model{found: func(entries []memory.Entry, _ int) (commitment.Inference, error) {
		return commitment.Inference{Intents: []commitment.Intent{{MemoryID: entries[0].ID, Arm: in(400 * day)}}}, nil
	}}
	h := newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	id := h.note("x").MemoryID
	for range 2 {
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Equal(t, []commitment.Unread{{MemoryID: id, Why: commitment.WhyHorizon}}, done.Unread)
	}
	h.clock.Advance(40 * day)
	for _, armed := range []int{1, 0} {
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Len(t, done.Armed, armed)
	}
	require.Len(t, m.asked, 3)
	m.version = strings.Repeat("x", 251)
	_, err := h.Infer(ctx, h.job("acme"), "ref")
	require.ErrorIs(t, err, memory.ErrValidation)
}

// A process that dies while it arms leaves nothing out and nothing twice.
func TestK1_CrashWhileInferring(t *testing.T) {
	total := 0
	for at := 0; at <= total; at++ {
		for _, after := range []bool{false, true} {
			c := &crasher{}
			inferrer := &model{found: func(entries []memory.Entry, call int) (commitment.Inference, error) {
				var out commitment.Inference
				for _, e := range entries {
					for h := range time.Duration(3) { // another opinion at each call
						arm := in(time.Duration(10*call)*time.Hour + h*time.Minute)
						out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: arm})
					}
				}
				return out, nil
			}}
			h := newHostOn(t, crashing{inmem.New(), c}, func(cfg *commitment.Config) { cfg.Inferrer = inferrer })
			h.note("a")
			h.note("b")
			c.set(at, after)
			_, err := h.Infer(ctx, h.job("acme"), "ref")
			total = max(total, c.calls)
			if at > 0 {
				require.ErrorIs(t, err, errCrash)
			}
			c.set(0, false)
			_, err = h.Infer(ctx, h.job("acme"), "ref")
			require.NoError(t, err)
			n := 0
			for range h.Commitments(ctx, "acme") {
				n++
			}
			require.Equal(t, 6, n, "%d %t", at, after)
		}
	}
	require.Greater(t, total, 5)
}

func TestInferSaysWhatItDidNotArm(t *testing.T) {
	var whole []memory.Entry
	m := &model{found: func(entries []memory.Entry, _ int) (commitment.Inference, error) {
		whole = entries
		var out commitment.Inference
		arms := []commitment.Arm{in(-time.Hour), in(5000 * day), {Predicate: "unregistered"}, {Predicate: "a b"}, {Predicate: "hunter2-hunter2"}, {Spec: "x"}}
		for i, a := range arms {
			out.Intents = append(out.Intents, commitment.Intent{MemoryID: entries[i].ID, Arm: a})
		}
		out.Intents = append(out.Intents, commitment.Intent{MemoryID: "made-up", Arm: in(time.Hour)})
		out.Unread = []commitment.Unread{{MemoryID: entries[6].ID, Why: "model gave up"}}
		return out, nil
	}}
	h := newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	for range 7 {
		h.note("x")
	}
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Empty(t, done.Armed)
	var why []commitment.Why
	for _, u := range done.Unread {
		why = append(why, u.Why)
	}
	require.Equal(t, []commitment.Why{"model gave up", commitment.WhyPast, commitment.WhyHorizon, commitment.WhyPredicate,
		commitment.WhyRefused, commitment.WhyRefused, commitment.WhyRefused, commitment.WhyUnknown}, why)
	require.Len(t, whole, 7)

	m.found = func([]memory.Entry, int) (commitment.Inference, error) {
		return commitment.Inference{}, errors.New("model said: call the ambassador")
	}
	_, err = h.Infer(ctx, h.job("acme"), "ref")
	require.ErrorIs(t, err, memory.ErrInternal)
	require.NotContains(t, err.Error(), "ambassador")
}

// One entry cannot start more than a few runs, by any inferrer and however often it is read.
func TestInferBoundsWhatAnEntryArms(t *testing.T) {
	intents := 10_000
	if testing.Short() {
		intents = 1000
	}
	m := &model{found: func(entries []memory.Entry, call int) (commitment.Inference, error) {
		var out commitment.Inference
		for _, e := range entries {
			for i := range intents {
				out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: in(time.Duration(call*intents+i) * time.Second)})
			}
		}
		return out, nil
	}}
	h := newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	ids := []string{h.note("a").MemoryID, h.note("b").MemoryID}
	for range 3 {
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		if len(m.asked) == 1 && done.Known == 0 {
			require.Len(t, done.Armed, 2*commitment.MaxArms)
			require.ElementsMatch(t, []commitment.Unread{{MemoryID: ids[0], Why: commitment.WhyTooMany}, {MemoryID: ids[1], Why: commitment.WhyTooMany}}, done.Unread)
			continue
		}
		require.Equal(t, commitment.Inferred{Known: 2 * commitment.MaxArms}, done)
	}
	require.Len(t, m.asked, 1, "what is full is not asked about")

	// One that is never complete is asked about again, and fills up.
	m.found = func(entries []memory.Entry, call int) (commitment.Inference, error) {
		var out commitment.Inference
		for _, e := range entries {
			for i := range 20 {
				out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: in(time.Duration(call*20+i) * time.Minute)})
			}
			out.Intents = append(out.Intents, commitment.Intent{MemoryID: e.ID, Arm: commitment.Arm{Predicate: "unregistered"}})
			for range 20 { // the same again is no other
				out.Intents = append(out.Intents, out.Intents[0])
			}
		}
		return out, nil
	}
	before := 0
	for range h.Commitments(ctx, "acme") {
		before++
	}
	h.note("c")
	for range 5 {
		_, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
	}
	after := 0
	for range h.Commitments(ctx, "acme") {
		after++
	}
	require.Equal(t, commitment.MaxArms, after-before)
	require.LessOrEqual(t, len(m.asked), 4, "until it is full")
}

// An entry that ends between being read and being armed is passed over.
func TestInferOfAnEntryThatEnds(t *testing.T) {
	var h *host
	m := &model{found: func(entries []memory.Entry, _ int) (commitment.Inference, error) {
		_, err := h.job("acme").Delete(ctx, "ref", entries[0].ID)
		require.NoError(t, err)
		return commitment.Inference{Intents: []commitment.Intent{{MemoryID: entries[0].ID, Arm: in(time.Hour)}}}, nil
	}}
	h = newHost(t, func(c *commitment.Config) { c.Inferrer = m })
	h.note("x")
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Empty(t, done)
}

// Tagged reads tags, and nothing but tags.
func TestTagged(t *testing.T) {
	at := func(text string) []commitment.Arm {
		i, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return []commitment.Arm{{At: i.UTC()}}
	}
	for tags, want := range map[string][]commitment.Arm{
		"due:2026-06-30T09:00Z":            at("2026-06-30T09:00:00Z"),
		"due:2026-06-30T09:00:30Z":         at("2026-06-30T09:00:30Z"),
		"due:2026-06-30T09:00+02:00":       at("2026-06-30T07:00:00Z"),
		"due:2026-06-30T09:00:00.25-07:00": at("2026-06-30T16:00:00.25Z"),
		"every:24h":                        {{Every: day}},
		"every:0 9 * * 1":                  {{Spec: "0 9 * * 1"}},
		"when:invoice-4471-paid":           {{Predicate: "invoice-4471-paid", Once: true}},
		"when:paid|recurring":              {{Predicate: "paid"}},
		"every:90m|when:paid|intent":       {{Every: 90 * time.Minute}, {Predicate: "paid", Once: true}},
		"intent|slot:acme/on-call|due":     nil,
		"Due:2026-06-30T09:00Z|overdue:1h": nil,
	} {
		found, err := commitment.Tagged{}.Infer(ctx, commitment.Request{Entries: []memory.Entry{{ID: "e", Content: "tomorrow", Tags: strings.Split(tags, "|")}}})
		require.NoError(t, err)
		require.Empty(t, found.Unread, tags)
		var got []commitment.Arm
		for _, i := range found.Intents {
			require.Equal(t, "e", i.MemoryID)
			i.Arm.At = i.Arm.At.UTC()
			got = append(got, i.Arm)
		}
		require.Equal(t, want, got, tags)
	}
	for _, tag := range []string{
		"due:", "due:soon", "due:2026-06-30", "due:2026-06-30T09:00", "due:2026-02-30T09:00Z", "due:2026-06-30T25:00Z", "due: 2026-06-30T09:00Z",
		"every:", "every:1ms", "every:-1h", "every:\xff", "when:", "when:has a space", "when:" + strings.Repeat("x", 129),
	} {
		found, err := commitment.Tagged{}.Infer(ctx, commitment.Request{Entries: []memory.Entry{{ID: "e", Tags: []string{tag}}}})
		require.NoError(t, err)
		require.Equal(t, commitment.Inference{Unread: []commitment.Unread{{MemoryID: "e", Why: commitment.WhyBadTag}}}, found, tag)
	}
}

// Two entries that were merged fire once for their tags, by whichever they were armed.
func TestK6_TagsOfMergedEntries(t *testing.T) {
	h := newHost(t)
	first, second := h.note("x", "every:1h"), h.note("x", "every:1h")
	_, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	_, err = h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: first.MemoryID, State: memory.Merged, For: second.MemoryID}}})
	require.NoError(t, err)
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Empty(t, done.Armed)
	for range 3 {
		h.clock.Advance(time.Hour)
		require.Equal(t, 1, h.tick().Fired)
	}
}

// A support agent's notes on the day of the last one: every tag is read, and some lie ahead.
func TestInferASupportAgentsNotes(t *testing.T) {
	corpus, err := os.ReadFile("../consolidate/testdata/support.jsonl")
	require.NoError(t, err)
	h := newHost(t)
	h.clock.ms.Store(time.Date(2026, 5, 30, 0, 0, 0, 0, time.UTC).UnixMilli())
	for line := range bytes.Lines(corpus) {
		var e memory.Entry
		require.NoError(t, json.Unmarshal(line, &e))
		h.note("x", e.Tags...)
	}
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(done.Armed), 15)
	require.GreaterOrEqual(t, len(done.Unread), 20)
	for _, u := range done.Unread {
		require.Equal(t, commitment.WhyPast, u.Why)
	}
}

func TestE4_NothingIsInferredTwiceAfterARestart(t *testing.T) {
	h := newHost(t)
	h.note("tomorrow", "due:2026-03-02T09:00Z")
	_, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	h.clock.Advance(2 * day)
	require.Equal(t, 1, h.tick().Fired)
	h.restart()
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(t, err)
	require.Equal(t, commitment.Inferred{Known: 1}, done)
	require.Zero(t, h.tick())
	require.Len(t, h.log.All(), 1)
	require.Equal(t, events.TypeCommitmentFired, h.log.All()[0].Payload.EventType())
}

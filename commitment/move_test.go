package commitment_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// edits counts the runs that edit.
var edits int

// edit replaces a note, as a run of a host does, and returns the new one.
func (h *host) edit(s commitment.Source, content string, tags ...string) commitment.Source {
	h.t.Helper()
	edits++
	run, err := h.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("edit-", edits), Tenant: "acme", Redactor: vault{}})
	require.NoError(h.t, err)
	e, err := run.Replace(ctx, s.Ref, s.MemoryID, memory.Draft{Content: content, Tags: tags})
	require.NoError(h.t, err)
	require.NoError(h.t, run.End(ctx))
	return commitment.Source{Ref: s.Ref, MemoryID: e.ID}
}

// infer arms what the notes of a ref intend, and expects so many new commitments.
func (h *host) infer(armed int) []commitment.Commitment {
	h.t.Helper()
	done, err := h.Infer(ctx, h.job("acme"), "ref")
	require.NoError(h.t, err)
	require.Len(h.t, done.Armed, armed)
	return done.Armed
}

// kept returns a tagged note with the commitment that was armed for it.
func (h *host) kept(tag string) (commitment.Source, commitment.Commitment) {
	h.t.Helper()
	s := h.note("Call Lnea.", tag)
	return s, h.infer(1)[0]
}

// of is the commitment of another entry with the same arm.
func (h *host) of(s commitment.Source, c commitment.Commitment) commitment.Commitment {
	c.ID = commitment.ID("acme", s.Ref, s.MemoryID, c.Arm)
	return h.get(c)
}

const inADay, other = "due:2026-03-02T09:00Z", "due:2026-03-02T10:00Z"

// A mended typo costs no reminder and doubles none, whether the note was read again before it was due,
// after that, or never.
func TestK6_AReplacedNoteKeepsItsReminder(t *testing.T) {
	for _, tag := range []string{inADay, "every:24h", "when:signed"} {
		for when, read := range []string{"never", "before", "after", "always"} {
			t.Run(tag+"/"+read, func(t *testing.T) {
				h := newHost(t)
				s, c := h.kept(tag)
				h.clock.Advance(5 * time.Hour)
				s = h.edit(h.edit(s, "Call Lema."), "Call Lena.")
				if when == 1 || when == 3 {
					got := h.infer(1)[0]
					require.Equal(t, c.Due, got.Due, "an interval is counted as before")
				}
				h.clock.Advance(19 * time.Hour)
				if tag == "when:signed" {
					h.observe(1, "yes", true)
				}
				done := h.tick()
				require.Equal(t, 1, done.Fired)
				require.Equal(t, s.MemoryID, h.queue.calls[0].MemoryID)
				if when == 2 || when == 3 {
					h.infer(0)
				}
				if strings.HasPrefix(tag, "when") {
					require.Zero(t, h.observe(2, "yes", true))
				}
				h.tick()
				require.Len(t, h.queue.runs, 1)
				require.Empty(t, h.store.(*audit).twice)
				h.clock.Advance(day)
				if strings.HasPrefix(tag, "every") {
					require.Equal(t, 1, h.tick().Fired, "what recurs goes on")
					require.Equal(t, s.MemoryID, h.queue.calls[1].MemoryID)
				}
				require.Zero(t, h.tick())
			})
		}
	}
}

// What has ended stays so when its note is replaced: a fired one does not fire again, and a canceled
// one does not come back.
func TestK1_AReplacedNoteArmsNothingThatHasEnded(t *testing.T) {
	for _, tag := range []string{inADay, "when:signed", "every:24h"} {
		for _, canceled := range []bool{false, true} {
			h := newHost(t)
			s, c := h.kept(tag)
			if canceled {
				_, err := h.Cancel(ctx, "acme", c.ID)
				require.NoError(t, err)
			}
			h.clock.Advance(day)
			h.observe(1, "yes", true)
			fired := h.tick().Fired
			s = h.edit(s, "Call Lena.")
			if tag == "every:24h" && !canceled {
				h.infer(1)
			} else {
				h.infer(0)
				require.True(t, h.of(s, c).State.Final())
			}
			h.observe(2, "yes", true)
			require.Zero(t, h.tick().Fired)
			require.Len(t, h.queue.runs, fired)
			h.edit(s, "Call Lena!")
			h.observe(3, "yes", true)
			h.infer(len(h.queue.runs) * strings.Count(tag, "every"))
			require.Zero(t, h.tick().Fired)
		}
	}
}

// A reader of texts arms what the new text says. That the note had lapsed meanwhile because nothing had
// read it again does not lose the reminder.
func TestK6_WhatIsReadLateFiresLate(t *testing.T) {
	m := &model{found: func(entries []memory.Entry, _ int) (found commitment.Inference, err error) {
		for _, e := range entries {
			if strings.HasPrefix(e.Content, "Call") {
				found.Intents = append(found.Intents, commitment.Intent{MemoryID: e.ID, Arm: in(day)})
			}
		}
		return found, nil
	}}
	for _, ends := range []bool{false, true} {
		h := newHost(t, func(c *commitment.Config) { c.Inferrer = m })
		s, c := h.kept("note")
		s = h.edit(s, map[bool]string{false: "Call Lena.", true: "Lena called."}[ends])
		h.clock.Advance(day + time.Hour)
		require.Equal(t, commitment.Ticked{Lapsed: 1}, h.tick())
		if ends {
			h.infer(0)
			require.Zero(t, h.tick())
			continue
		}
		h.infer(1)
		require.Equal(t, 1, h.tick().Fired)
		require.Equal(t, s.MemoryID, h.queue.calls[0].MemoryID)
		require.Equal(t, h.of(s, c).ID, h.get(c).MovedTo)
		h.infer(0)
		h.restart(func(c *commitment.Config) { c.Inferrer = &model{version: "newer", found: m.found} })
		h.infer(0)
		require.Zero(t, h.tick())
	}
}

// With another time in the new note the old reminder lapses, and the new one fires.
func TestK6_AReplacedNoteWithAnotherTime(t *testing.T) {
	h := newHost(t)
	s, c := h.kept(inADay)
	s = h.edit(s, "Call Lena at ten.", other)
	at10 := h.infer(1)[0]
	h.clock.Advance(day)
	require.Equal(t, commitment.Ticked{Lapsed: 1}, h.tick())
	require.Equal(t, commitment.ReasonSuperseded, h.get(c).Reason)
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, at10.ID, h.queue.calls[0].CommitmentID)
	require.Equal(t, s.MemoryID, h.queue.calls[0].MemoryID)
}

// A note without the tag ends the reminder: that is how a person takes it away.
func TestK6_AReplacedNoteWithoutTheTag(t *testing.T) {
	h := newHost(t)
	s, _ := h.kept(inADay)
	s = h.edit(s, "Lena called.", "done")
	h.infer(0)
	s = h.edit(s, "Lena called again.", other)
	h.infer(1)
	h.clock.Advance(25 * time.Hour)
	require.Equal(t, commitment.Ticked{Fired: 1, Lapsed: 1}, h.tick())
	require.Equal(t, s.MemoryID, h.queue.calls[0].MemoryID)
}

// A firing that is under way when its note is replaced goes on under its key, so that a run which has
// started, and whose answer was lost, is found and not started again.
func TestK2_AFiringKeepsItsKeyWhenItsNoteIsReplaced(t *testing.T) {
	for _, tag := range []string{inADay, "every:24h", "when:signed"} {
		for _, read := range []bool{false, true} {
			for _, given := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/read %t/given up %t", tag, read, given), func(t *testing.T) {
					h := newHost(t)
					s, c := h.kept(tag)
					h.clock.Advance(day)
					h.observe(1, "yes", true)
					h.queue.lose = func(commitment.Firing) error { return errDown }
					h.ticks(time.Hour, time.Minute)
					if given {
						h.ticks(25*time.Hour, time.Minute)
					}
					started := len(h.queue.runs)
					s = h.edit(s, "Call Lena.")
					if read && given && c.Arm.Once {
						h.infer(0) // it has ended, and can be retried
					} else if read {
						h.infer(1)
					}
					h.queue.lose = nil
					if given && !strings.HasPrefix(tag, "every") {
						if read {
							c = h.of(s, c)
						}
						_, err := h.Retry(ctx, "acme", c.ID)
						require.NoError(t, err)
					}
					require.Positive(t, h.ticks(2*time.Hour, time.Minute).Fired)
					require.Len(t, h.queue.runs, started, "no second run of any firing")
					last := h.queue.calls[len(h.queue.calls)-1]
					require.Equal(t, s.MemoryID, last.MemoryID)
					require.Equal(t, h.of(s, c).ID, last.CommitmentID)
					require.Equal(t, 1, h.of(s, c).Fired)
					h.infer(0)
					require.Zero(t, h.tick())
				})
			}
		}
	}
}

// What was given up is shown once, by the commitment of the newest note.
func TestK3_WhatWasGivenUpMovesWithItsNote(t *testing.T) {
	for _, tag := range []string{inADay, "every:720h"} {
		h := newHost(t)
		s, c := h.kept(tag)
		h.clock.Advance(30 * day)
		require.Equal(t, 1, h.outage().GivenUp)
		s = h.edit(s, "Call Lena.")
		_, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Zero(t, h.get(c).GivenUp)
		require.NotZero(t, h.of(s, c).GivenUp)
		h.refusesRetry(c)
		_, err = h.Retry(ctx, "acme", h.of(s, c).ID)
		require.NoError(t, err)
		require.Equal(t, 1, h.tick().Fired)
	}
}

// At any call of the store that a process dies at, the reminder of a replaced note fires once.
func TestK6_AReplacedNoteCrashAtEveryCallOfTheStore(t *testing.T) {
	for _, tag := range []string{inADay, "every:24h"} {
		for _, after := range []bool{false, true} {
			for at, calls := 1, 99; at <= calls; at++ {
				c := &crasher{}
				h := newHostOn(t, crashing{newAudit(inmem.New()), c})
				s, _ := h.kept(tag)
				h.clock.Advance(day)
				h.queue.down(true)
				h.tick()
				h.queue.down(false)
				h.edit(s, "Call Lena.")
				c.set(at, after)
				for range 8 {
					_, _ = h.Infer(ctx, h.job("acme"), "ref")
					_, _ = h.Tick(ctx)
					if c.dead {
						c.dead = false
						h.restart()
					}
					h.clock.Advance(2 * time.Minute)
				}
				calls = c.calls
				_, err := h.bank.Maintain(ctx)
				require.NoError(t, err)
				require.Len(t, h.queue.runs, 1)
				require.Len(t, fired(h.log), 1)
			}
		}
	}
}

// A replacement that is undone leaves the reminder with the note that is live again.
func TestK6_AReplacementThatIsUndone(t *testing.T) {
	for _, tag := range []string{inADay, "every:24h"} {
		h := newHost(t)
		s, c := h.kept(tag)
		newer := h.edit(s, "Call Lena.")
		h.infer(1)
		_, err := h.job("acme").Delete(ctx, "ref", newer.MemoryID)
		require.NoError(t, err)
		_, err = h.job("acme").Rewrite(ctx, "ref", memory.Rewrite{Restore: []string{s.MemoryID}})
		require.NoError(t, err)
		h.clock.Advance(day)
		require.Equal(t, commitment.Ticked{Fired: 1, Lapsed: 1}, h.tick())
		require.Equal(t, c.ID, h.queue.calls[0].CommitmentID)
	}
}

// The commitment of the old note that a newer version wrote is left to its processes, and the new note
// is read again.
func TestK6_AReplacedNoteOfANewerVersion(t *testing.T) {
	h := newHost(t)
	s, c := h.kept(inADay)
	h.plant(driver.Document{Key: c.ID, Rev: c.Rev, Value: []byte(`{"format":2}`)})
	h.edit(s, "Call Lena.")
	for range 2 {
		done, err := h.Infer(ctx, h.job("acme"), "ref")
		require.NoError(t, err)
		require.Equal(t, commitment.Inferred{Known: 1}, done)
	}
}

// Looking for what notes have replaced costs a call of the store for a hundred of them.
func TestK6_NotesAreLookedBackAtTogether(t *testing.T) {
	s := &histories{store: inmem.New()}
	h := newHostOn(t, s)
	for range 150 {
		h.note("Call Lena.", inADay)
	}
	h.infer(150)
	require.Equal(t, 2, s.calls)
}

// histories counts the reads of histories.
type histories struct {
	store
	calls int
}

func (s *histories) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[memory.Record, error] {
	s.calls++
	return s.store.History(ctx, tenant, q)
}

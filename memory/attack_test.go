package memory_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

func TestM10_ScrubInStepsLosesNothing(t *testing.T) {
	h := newHost(t)
	j := h.job("acme")
	want := []string{}
	for i := range 300 {
		h.clock.Advance(time.Millisecond)
		merged := put(t, j, "ref", fmt.Sprint("hunter2hunter2 merged ", i))
		head := put(t, j, "ref", fmt.Sprint("hunter2hunter2 head ", i))
		_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: merged.ID, State: memory.Merged, For: head.ID}}})
		require.NoError(t, err)
		want = append(want, fmt.Sprint("[REDACTED:s] merged ", i), fmt.Sprint("[REDACTED:s] head ", i))
	}
	done, err := h.Scrub(ctx, "acme", newVault("s", "hunter2hunter2"))
	require.NoError(t, err)
	require.Len(t, done.Erased, 600)
	require.Empty(t, done.Lost)
	got := []string{}
	for e, err := range j.Scan(ctx, "ref") {
		require.NoError(t, err)
		got = append(got, e.Content)
	}
	require.ElementsMatch(t, want, got)
}

// between calls hook once, after the records that were merged into something were read.
type between struct {
	driver.Versioned
	hook func()
}

func (s *between) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	return func(yield func(driver.Record, error) bool) {
		for r, err := range s.Versioned.History(ctx, tenant, q) {
			if !yield(r, err) {
				return
			}
		}
		if hook := s.hook; hook != nil && len(q.For) > 0 {
			s.hook = nil
			hook()
		}
	}
}

func TestM10_WhatIsMergedWhileItIsForgottenComesBack(t *testing.T) {
	merge := func(t *testing.T, j *memory.Job, id, into string) {
		_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: memory.Merged, For: into}}})
		require.NoError(t, err)
	}
	t.Run("of others", func(t *testing.T) {
		store := &between{Versioned: inmem.New()}
		h := newHostOn(t, store)
		j := h.job("acme")
		head, other := put(t, j, "ref", "Lena runs the gate.", "lena"), put(t, j, "ref", "Lena runs the gate!")
		store.hook = func() { merge(t, j, other.ID, head.ID) }
		done, err := h.Forget(ctx, "acme", "lena")
		require.NoError(t, err)
		require.Len(t, done.Restored, 1)
		require.Equal(t, []string{other.Content}, contents(t, h.Reader("acme"), "ref"))
	})
	t.Run("behind one of the subject", func(t *testing.T) {
		store := &between{Versioned: inmem.New()}
		h := newHostOn(t, store)
		j := h.job("acme")
		head := put(t, j, "ref", "Lena runs the gate.", "lena")
		second := put(t, j, "ref", "Lena runs the gate, too.", "lena")
		other := put(t, j, "ref", "Lena runs the gate!")
		merge(t, j, other.ID, second.ID)
		store.hook = func() { merge(t, j, second.ID, head.ID) }
		_, err := h.Forget(ctx, "acme", "lena")
		require.NoError(t, err)
		require.Equal(t, []string{other.Content}, contents(t, h.Reader("acme"), "ref"))
	})
}

func TestM10_ScrubRemovesATextThatItsMarkersMakeTooLarge(t *testing.T) {
	h := newHost(t)
	j := h.job("acme")
	text := strings.Repeat("12345678", driver.MaxDocumentBytes/8)
	_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Documents: func([]memory.Entry) []memory.DocumentSwap {
		return []memory.DocumentSwap{{Document: memory.Document{
			Scope: memory.Scope{Ref: "ref"}, Class: memory.HostText, Kind: "file", Key: "a", Value: []byte(text),
		}}}
	}})
	require.NoError(t, err)
	put(t, j, "ref", "12345678 too")
	done, err := h.Scrub(ctx, "acme", newVault("s", "12345678"))
	require.NoError(t, err)
	require.Equal(t, 1, done.Documents)
	require.Equal(t, []string{"[REDACTED:s] too"}, contents(t, h.Reader("acme"), "ref"))
}

func TestM10_ForgettingManyTextsTakesSteps(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	j := h.job("acme")
	_, err := j.Rewrite(ctx, "", memory.Rewrite{Documents: func([]memory.Entry) (out []memory.DocumentSwap) {
		for i := range 1000 {
			out = append(out, memory.DocumentSwap{Document: memory.Document{
				Class: memory.HostText, Kind: "file", Key: fmt.Sprint(i), Subjects: []string{"lena"},
			}})
		}
		return out
	}})
	require.NoError(t, err)
	store.wrote = nil
	done, err := h.Forget(ctx, "acme", "lena")
	require.NoError(t, err)
	require.Equal(t, 1000, done.Documents)
	require.Len(t, store.wrote, 4)
}

func TestM3_AnAnnouncementIsCheckedWithoutItsEscapes(t *testing.T) {
	h := newHost(t)
	secrets := redact.NewSecretRegistry(redact.Config{PlainOnly: true})
	require.NoError(t, secrets.Register("s", []byte(`pa"ss<w>ord`), redact.LevelTenant))
	j, err := h.Background(memory.JobConfig{RunID: "p", Tenant: "acme", Redactor: secrets})
	require.NoError(t, err)
	_, err = j.Rewrite(ctx, "ref", memory.Rewrite{Announce: func([]memory.Entry) []memory.Announcement {
		return []memory.Announcement{{Payload: events.WorkspaceUpdated{Path: `x/pa"ss<w>ord`, Version: 1}}}
	}})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Empty(t, h.log.All())
}

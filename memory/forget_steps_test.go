package memory_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
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

// crashing fails every call from a certain one on, as a store does whose process was killed.
type crashing struct {
	driver.Versioned
	left int
}

var errCrash = errors.New("killed")

func (s *crashing) dead() bool { s.left--; return s.left < 0 }

func (s *crashing) History(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
	if s.dead() {
		return func(yield func(driver.Record, error) bool) { yield(driver.Record{}, errCrash) }
	}
	return s.Versioned.History(ctx, tenant, q)
}

func (s *crashing) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if s.dead() {
		return driver.Applied{}, errCrash
	}
	return s.Versioned.Apply(ctx, tenant, m)
}

// What is merged into something while that is forgotten is never lost, wherever the pass
// is killed: it is live, or merged into what is.
func TestM10_ACrashLosesNothingThatIsMergedMeanwhile(t *testing.T) {
	for crash, finished := 0, false; !finished; crash++ {
		store := &crashing{Versioned: inmem.New(), left: math.MaxInt}
		hooked := &between{Versioned: store}
		h := newHostOn(t, hooked)
		j := h.job("acme")
		var heads, others []memory.Entry
		for i := range 3 {
			heads = append(heads, put(t, j, "ref", fmt.Sprint("Lena runs gate ", i), "lena"))
			others = append(others, put(t, j, "ref", fmt.Sprint("lena runs gate ", i)))
		}
		merges := 0
		hooked.hook = func() {
			left := store.left
			store.left = math.MaxInt
			for i, e := range others {
				_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: e.ID, State: memory.Merged, For: heads[i].ID}}})
				require.NoError(t, err)
				merges++
			}
			store.left = left
		}
		store.left = crash
		_, err := h.Forget(ctx, "acme", "lena")
		finished = err == nil
		store.left = math.MaxInt
		for _, e := range others {
			outcomes, err := h.Lineage(ctx, "acme", "ref", e.ID)
			require.NoError(t, err)
			require.Contains(t, outcomes, e.ID)
			require.NotEqual(t, memory.Deleted, outcomes[e.ID].State, "killed at call %d", crash)
		}
		hooked.hook = nil
		_, err = h.Forget(ctx, "acme", "lena")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{others[0].Content, others[1].Content, others[2].Content}, contents(t, h.Reader("acme"), "ref"))
		require.True(t, !finished || merges == 3 && crash > 4, "%d merges, %d calls", merges, crash)
	}
}

func TestM10_ScrubRemovesATextThatItsMarkersMakeTooLarge(t *testing.T) {
	h := newHost(t)
	j := h.job("acme")
	id := strings.Repeat("s", 1000)
	text := strings.Repeat("12345678", driver.MaxDocumentBytes/len(id))
	_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
		return []driver.DocumentSwap{{Document: driver.Document{
			Scope: memory.Scope{Ref: "ref"}, Class: driver.HostText, Kind: "file", Key: "a", Value: []byte(text),
		}}}
	}})
	require.NoError(t, err)
	put(t, j, "ref", "12345678 too")
	done, err := h.Scrub(ctx, "acme", newVault(id, "12345678"))
	require.NoError(t, err)
	require.Equal(t, 1, done.Documents)
	require.Equal(t, []string{"[REDACTED:" + id + "] too"}, contents(t, h.Reader("acme"), "ref"))
}

func TestM10_ForgettingManyTextsTakesSteps(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	j := h.job("acme")
	_, err := j.Rewrite(ctx, "", memory.Rewrite{Documents: func([]memory.Entry) (out []driver.DocumentSwap) {
		for i := range 1000 {
			out = append(out, driver.DocumentSwap{Document: driver.Document{
				Class: driver.HostText, Kind: "file", Key: fmt.Sprint(i), Subjects: []string{"lena"},
			}})
		}
		return out
	}})
	require.NoError(t, err)
	store.wrote = nil
	done, err := h.Forget(ctx, "acme", "lena")
	require.NoError(t, err)
	require.Equal(t, 1000, done.Documents)
	for _, m := range store.wrote {
		require.LessOrEqual(t, len(m.Documents), 257, "a step and its line in the ledger")
	}
}

func TestM3_AnAnnouncementIsCheckedWithoutItsEscapes(t *testing.T) {
	h := newHost(t)
	secrets := redact.New(redact.Config{PlainOnly: true})
	require.NoError(t, secrets.Register("s", []byte(`pa"ss<w>ord`)))
	j, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: secrets})
	require.NoError(t, err)
	_, err = j.Rewrite(ctx, "ref", memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{Payload: events.WorkspaceUpdated{Path: `x/pa"ss<w>ord`, Version: 1}}}
	}})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Empty(t, h.log.All())
}

func TestTraceOfManyInOneLineageIsQuick(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.WriteEvents = false })
	j := h.job("acme")
	last := put(t, j, "ref", "0")
	ids := []string{last.ID}
	many := 10_000 // they took a minute and a half
	if testing.Short() {
		many = 2000
	}
	for i := range many {
		next := put(t, j, "ref", fmt.Sprint(i+1))
		_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: last.ID, State: memory.Superseded, For: next.ID}}})
		require.NoError(t, err)
		last = next
		ids = append(ids, last.ID)
	}
	start := time.Now()
	outcomes, err := h.Lineage(ctx, "acme", "ref", ids...)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 10*time.Second)
	require.Len(t, outcomes, len(ids))
	for _, id := range ids[:len(ids)-1] {
		require.Equal(t, memory.Outcome{State: memory.Superseded, Head: last, Restorable: true}, outcomes[id])
	}
	require.Equal(t, memory.Outcome{State: memory.Live, Head: last}, outcomes[last.ID])
}

// after calls hook once, when records were looked up.
type after struct {
	driver.Versioned
	hook func()
}

func (s *after) Lookup(ctx context.Context, sc memory.Scope, ids []string) ([]memory.Record, error) {
	recs, err := s.Versioned.Lookup(ctx, sc, ids)
	if hook := s.hook; hook != nil {
		s.hook = nil
		hook()
	}
	return recs, err
}

func TestK6_WhatIsRestoredWhileItIsTracedIsLive(t *testing.T) {
	store := &after{Versioned: inmem.New()}
	h := newHostOn(t, store)
	j := h.job("acme")
	head, other := put(t, j, "ref", "Lena runs the gate.", "lena"), put(t, j, "ref", "Lena runs the gate!")
	_, err := j.Rewrite(ctx, "ref", memory.Rewrite{Retire: []memory.Retire{{ID: other.ID, State: memory.Merged, For: head.ID}}})
	require.NoError(t, err)
	store.hook = func() {
		_, err := h.Forget(ctx, "acme", "lena")
		require.NoError(t, err)
	}
	outcomes, err := h.Lineage(ctx, "acme", "ref", other.ID)
	require.NoError(t, err)
	require.Contains(t, outcomes, other.ID)
	require.Equal(t, memory.Live, outcomes[other.ID].State)
}

func TestM7_APurgeOfAnIdleTenantNeverShortensAToken(t *testing.T) {
	h := newHost(t)
	_, err := h.job("acme").Put(ctx, "ref", memory.Draft{Content: "short", ExpiresAt: h.Now().Add(24 * time.Hour)})
	require.NoError(t, err)
	token, err := h.run("r", "acme").Token(ctx)
	require.NoError(t, err)
	removed := 0
	for range 4 {
		if mem, err := h.AsOf(ctx, "acme", token); err == nil {
			require.Equal(t, []string{"short"}, contents(t, mem, "ref"))
		} else {
			require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
		}
		n, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		removed += n
		h.clock.Advance(memory.DefaultHorizon + 24*time.Hour)
	}
	require.Equal(t, 1, removed)
	_, err = h.AsOf(ctx, "acme", token)
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
}

package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func TestM10_ForgetReachesEveryRefButNotAnotherTenant(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	for i := range 1500 { // more than a page
		put(t, run, fmt.Sprint("m", i%3), "about them", "customer:1")
	}
	put(t, run, "m0", "about both", "customer:1", "customer:2")
	put(t, run, "m0", "about another", "customer:11")
	put(t, h.job("globex"), "m0", "elsewhere", "customer:1")
	view := h.run("open", "acme")

	done, err := h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	require.Len(t, done.Erased, 1501)
	for _, r := range []memory.Reader{h.Reader("acme"), view.Memory(), run.Memory()} {
		require.Equal(t, []string{"about another"}, contents(t, r, "m0"))
		require.Empty(t, contents(t, r, "m1"))
	}
	require.Equal(t, []string{"elsewhere"}, contents(t, h.Reader("globex"), "m0"))
	done, err = h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	require.Empty(t, done.Erased)
}

func TestM10_ADeletedEntryTakesAlongWhatWasRetiredIntoIt(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a, b := put(t, job, "m", "a", "s"), put(t, job, "m", "b")
	stored, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Sources: []string{a.ID, b.ID}, Merges: []string{a.ID, b.ID}}}})
	require.NoError(t, err)
	_, err = job.Delete(ctx, "m", stored.Entries[0].ID)
	require.NoError(t, err)
	done, err := h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Empty(t, done.Restored)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

func TestM10_ScrubReplacesWhatHoldsALateSecret(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	leak, err := run.Put(ctx, "m", memory.Draft{Content: "key " + secret, Tags: []string{"t"}, Subjects: []string{"s"}, ExpiresAt: epoch.Add(time.Hour)})
	require.NoError(t, err)
	other := put(t, run, "m", "clean")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	job := h.job("acme")
	merged, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "both"}, Sources: []string{leak.ID, other.ID}, Merges: []string{leak.ID, other.ID}}}})
	require.NoError(t, err)
	_, err = job.Put(ctx, "n", memory.Draft{Content: "x", Tags: []string{secret}})
	require.NoError(t, err)
	h.clock.Advance(time.Minute)

	done, err := h.Scrub(ctx, "acme", newVault("late", secret))
	require.NoError(t, err)
	require.Len(t, done.Erased, 3)
	require.Len(t, done.Rewritten, 2)
	require.Equal(t, []driver.Located{{Scope: memory.Scope{Tenant: "acme", Ref: "m"}, ID: other.ID}}, done.Restored)
	require.ElementsMatch(t, []string{"key [REDACTED:late]", "clean"}, contents(t, h.Reader("acme"), "m"))
	entries, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{Tag: "t"})
	require.NoError(t, err)
	require.Equal(t, leak.CreatedAt, entries[0].CreatedAt)
	require.Equal(t, leak.ExpiresAt, entries[0].ExpiresAt, "no life is lengthened")
	require.Equal(t, []string{"s"}, entries[0].Subjects)
	tagged, err := h.Reader("acme").List(ctx, "n", memory.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"[REDACTED:late]"}, tagged[0].Tags)
	require.Equal(t, []string{"clean"}, contents(t, run.Memory(), "m"), "an open view loses it too")
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	_, err = asOf.List(ctx, "m", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrSnapshotUnavailable)
	require.Empty(t, contents(t, asOf, "other"), "only where it could have seen what is gone")
	outcomes, err := h.Lineage(ctx, "acme", "m", merged.Entries[0].ID)
	require.NoError(t, err)
	require.Equal(t, memory.Deleted, outcomes[merged.Entries[0].ID].State)

	done, err = h.Scrub(ctx, "acme", newVault("late", secret))
	require.NoError(t, err)
	require.Empty(t, done.Erased)
}

func TestM10_AForgettingThatFailsHalfWayLeavesMemoryWhole(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	for i := range 10 {
		put(t, h.job("acme"), "m", fmt.Sprint(i), "s")
	}
	boom := fmt.Errorf("disk full")
	store.fail = func(call string) error {
		if call == "Apply" {
			return boom
		}
		return nil
	}
	_, err := h.Forget(ctx, "acme", "s")
	require.ErrorIs(t, err, boom)
	store.fail = nil
	require.Len(t, contents(t, h.Reader("acme"), "m"), 10)
	_, err = h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

// TestM10_AMergeUnderWayCannotKeepACopy lands a merge between the plan of a
// forgetting and its commit.
func TestM10_AMergeUnderWayCannotKeepACopy(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	job := h.job("acme")
	a, b := put(t, job, "m", "a", "s"), put(t, job, "m", "b")
	store.fail = func(call string) error {
		if call == "Apply" {
			store.mu.Unlock() // the spy holds its lock here
			defer store.mu.Lock()
			store.fail = nil
			_, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
				Draft: memory.Draft{Content: "a and b"}, Sources: []string{a.ID, b.ID}, Merges: []string{a.ID, b.ID}}}})
			return err
		}
		return nil
	}
	_, err := h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, contents(t, h.Reader("acme"), "m"))
}

// TestM10_ADeletionUnderWayStillTakesAlong lands the deletion of a merged entry
// between the plan of a forgetting and its commit: what was merged into it must not
// come back.
func TestM10_ADeletionUnderWayStillTakesAlong(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	job := h.job("acme")
	a, b := put(t, job, "m", "a", "s"), put(t, job, "m", "b")
	merged, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "a and b"}, Sources: []string{a.ID, b.ID}, Merges: []string{a.ID, b.ID}}}})
	require.NoError(t, err)
	store.fail = func(call string) error {
		if call == "Apply" {
			store.fail = nil
			_, err := store.Versioned.Delete(ctx, memory.Scope{Tenant: "acme", Ref: "m"}, merged.Entries[0].ID, h.Now())
			return err
		}
		return nil
	}
	_, err = h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

func TestTraceFollowsTheLineage(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	var ids []string
	for i := range 6 {
		ids = append(ids, put(t, job, "m", fmt.Sprint(i)).ID)
	}
	retire := func(id string, s driver.State, head string) {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: s, For: head}}})
		require.NoError(t, err)
	}
	trace := func(id string) memory.Outcome {
		outcomes, err := h.Lineage(ctx, "acme", "m", id)
		require.NoError(t, err)
		require.Contains(t, outcomes, id)
		return outcomes[id]
	}
	retire(ids[0], memory.Merged, ids[1])
	require.Equal(t, memory.Merged, trace(ids[0]).State)
	retire(ids[1], memory.Superseded, ids[2])
	retire(ids[2], memory.Merged, ids[3])
	require.Equal(t, memory.Superseded, trace(ids[0]).State)
	require.Equal(t, "3", trace(ids[0]).Head.Content)
	require.Equal(t, memory.Merged, trace(ids[2]).State)
	require.Equal(t, memory.Live, trace(ids[3]).State)
	retire(ids[3], memory.Deleted, "")
	require.Equal(t, memory.Outcome{State: memory.Deleted, Restorable: true}, trace(ids[0]))
	require.Equal(t, memory.Outcome{State: memory.Deleted}, trace(ids[3]))
	short, err := job.Put(ctx, "m", memory.Draft{ExpiresAt: epoch.Add(time.Second)})
	require.NoError(t, err)
	h.clock.Advance(time.Second)
	require.Equal(t, memory.Deleted, trace(short.ID).State)
	outcomes, err := h.Lineage(ctx, "acme", "m", "mem_unknown")
	require.NoError(t, err)
	require.Empty(t, outcomes)
	require.True(t, strings.HasPrefix(memory.Merged.String(), "merged"))
}

package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// The lineage tests build random lineages of merges, supersedings and deletions,
// then forget. The oracle knows facts, not entries: a fact is represented by a live
// entry if the entry states it or everything between them was merged.

type fact struct {
	id      string // its first entry
	ref     string
	subject string
}

type lineage struct {
	h     *host
	job   *memory.Job
	facts []fact
	live  map[string][]string // by ref
}

func newLineage(t *testing.T) *lineage {
	h := newHost(t)
	return &lineage{h: h, job: h.job("acme"), live: map[string][]string{}}
}

func (l *lineage) step(rng *rand.Rand) error {
	l.h.clock.Advance(time.Millisecond)
	ref := viewRefs[rng.IntN(2)]
	live := l.live[ref]
	if len(live) < 3 || rng.IntN(3) == 0 {
		subject := fmt.Sprint("s", rng.IntN(4))
		d := memory.Draft{Content: fmt.Sprint("fact ", len(l.facts)), Subjects: []string{subject}}
		if rng.IntN(4) == 0 {
			d.ExpiresAt = l.h.Now().Add(time.Duration(1+rng.IntN(40)) * time.Millisecond)
		}
		e, err := l.job.Put(ctx, ref, d)
		if err != nil {
			return err
		}
		l.facts = append(l.facts, fact{e.ID, ref, subject})
		l.live[ref] = append(live, e.ID)
		return nil
	}
	rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	a, b := live[0], live[1]
	var rw memory.Rewrite
	switch rng.IntN(5) {
	case 0, 1: // merged into a new entry
		rw.Derive = []memory.Derived{{Draft: memory.Draft{Content: "merged"}, Sources: []string{a, b}, Merges: []string{a, b}}}
	case 2: // merged into one that stays
		rw.Retire = []memory.Retire{{ID: a, State: memory.Merged, For: b}}
	case 3:
		rw.Retire = []memory.Retire{{ID: a, State: memory.Superseded, For: b}}
	case 4:
		rw.Retire = []memory.Retire{{ID: a, State: memory.Deleted}}
	}
	made, err := l.job.Rewrite(ctx, ref, rw)
	if errors.Is(err, memory.ErrConflict) { // one of them has expired
		l.live[ref] = slices.DeleteFunc(live, func(id string) bool {
			_, err := l.job.Get(ctx, ref, id)
			return err != nil
		})
		return nil
	}
	if err != nil {
		return err
	}
	gone := []string{a}
	if len(made.Entries) > 0 {
		gone = append(gone, b)
		live = append(live, made.Entries[0].ID)
	}
	l.live[ref] = slices.DeleteFunc(live, func(id string) bool { return slices.Contains(gone, id) })
	return nil
}

// records is everything the store has, by id.
func (l *lineage) records() map[string]memory.Record {
	out := map[string]memory.Record{}
	for _, ref := range viewRefs {
		for rec, err := range l.job.History(ctx, ref) {
			if err != nil {
				panic(err)
			}
			out[rec.Entry.ID] = rec
		}
	}
	return out
}

// represented follows a fact by merges only.
func represented(records map[string]memory.Record, id string, now time.Time) bool {
	for {
		rec, ok := records[id]
		switch {
		case !ok:
			return false
		case rec.State == memory.Live:
			return !rec.Erased && rec.Entry.LiveAt(now)
		case rec.State == memory.Merged:
			id = rec.For
		default:
			return false
		}
	}
}

func (l *lineage) checkForget(subject string) error {
	before := l.records()
	now := l.h.Now()
	derived := map[string]bool{} // whatever comes from the subject
	for changed := true; changed; {
		changed = false
		for id, rec := range before {
			from := slices.Contains(rec.Entry.Subjects, subject) ||
				slices.ContainsFunc(rec.Entry.Sources, func(s string) bool { return derived[s] })
			if from && !derived[id] {
				derived[id], changed = true, true
			}
		}
	}
	if _, err := l.h.Forget(ctx, "acme", subject); err != nil {
		return err
	}
	after := l.records()
	for id, rec := range after {
		if derived[id] != (rec.Erased && !before[id].Erased) && !before[id].Erased {
			return fmt.Errorf("erased: %v, comes from the subject: %v", rec.Erased, derived[id])
		}
		if rec.Erased && (rec.Entry.Content != "" || len(rec.Entry.Tags)+len(rec.Entry.Subjects)+len(rec.Entry.Sources) > 0) {
			return fmt.Errorf("a stub holds more than its id")
		}
		if b := before[id]; !rec.Erased && rec.State == memory.Live && b.State != memory.Live {
			if b.State != memory.Merged || derived[id] || !rec.Entry.LiveAt(now) {
				return fmt.Errorf("a %v entry came back", b.State)
			}
			if succ := before[b.For]; !derived[b.For] && !succ.Erased && succ.Entry.LiveAt(now) {
				return fmt.Errorf("an entry came back whose successor stays")
			}
		}
		if b := before[id]; b.State == memory.Live && !b.Erased && !derived[id] && (rec.State != memory.Live || rec.Erased) {
			return fmt.Errorf("somebody else's live entry is gone")
		}
	}
	for _, f := range l.facts {
		own := before[f.id]
		if f.subject == subject || own.Erased || !own.Entry.LiveAt(now) {
			continue
		}
		if was, is := represented(before, f.id, now), represented(after, f.id, now); was != is {
			return fmt.Errorf("a fact of others was represented: %v, is: %v", was, is)
		}
	}
	return nil
}

func TestM10_ForgettingLosesNothingOfOthersAndRestoresNothingOfTheSubject(t *testing.T) {
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 10))
		l := newLineage(t)
		for range 10 + rng.IntN(60) {
			require.NoError(t, l.step(rng), "seed %d", seed)
		}
		for _, subject := range []string{"s0", "s1", "s2", "s3"} {
			require.NoError(t, l.checkForget(subject), "seed %d, forgetting %s", seed, subject)
			for range rng.IntN(10) {
				require.NoError(t, l.step(rng), "seed %d", seed)
			}
		}
	}
}

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
	token, err := run.Token()
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
	fate, err := h.Trace(ctx, "acme", "m", merged.Entries[0].ID)
	require.NoError(t, err)
	require.Equal(t, memory.Deleted, fate.State)

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
	retire := func(id string, s memory.State, head string) {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{ID: id, State: s, For: head}}})
		require.NoError(t, err)
	}
	trace := func(id string) memory.Fate {
		f, err := h.Trace(ctx, "acme", "m", id)
		require.NoError(t, err)
		return f
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
	require.Equal(t, memory.Fate{State: memory.Deleted, Restorable: true}, trace(ids[0]))
	require.Equal(t, memory.Fate{State: memory.Deleted}, trace(ids[3]))
	short, err := job.Put(ctx, "m", memory.Draft{ExpiresAt: epoch.Add(time.Second)})
	require.NoError(t, err)
	h.clock.Advance(time.Second)
	require.Equal(t, memory.Deleted, trace(short.ID).State)
	_, err = h.Trace(ctx, "acme", "m", "mem_unknown")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.True(t, strings.HasPrefix(memory.Merged.String(), "merged"))
}

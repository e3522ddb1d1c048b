package memory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// lineages builds random lineages of merges, supersedings and deletions whose entries expire,
// purges, and forgets. The oracle keeps its own notes of every entry, also of purged ones,
// and knows by M10 which are live.
type lineages struct {
	h     *host
	job   *memory.Job
	store *inmem.Store
	rng   *rand.Rand
	notes map[string]*lineageNote // by id
	order []string                // ids as they were put
	purge bool                    // has happened
	back  map[string]int          // how many entries Forget restored, by what their head was
}

type lineageNote struct {
	ref      string
	subjects []string
	expires  time.Time
	state    driver.State
	into     string
	erased   bool
}

var lineageSubjects = []string{"s0", "s1", "s2", "s3"}

func newLineages(t *testing.T, seed uint64) *lineages {
	store := inmem.New()
	h := newHostOn(t, store)
	return &lineages{h: h, job: h.job("acme"), store: store, rng: rand.New(rand.NewPCG(seed, 10)),
		notes: map[string]*lineageNote{}, back: map[string]int{}}
}

func (l *lineages) expired(n *lineageNote) bool {
	return !n.expires.IsZero() && !l.h.Now().Before(n.expires)
}

func (l *lineages) isLive(n *lineageNote) bool {
	return n.state == memory.Live && !n.erased && !l.expired(n)
}

// live are the ids of a ref that a reader is to see, the oldest first.
func (l *lineages) live(ref string) (ids []string) {
	for _, id := range l.order {
		if n := l.notes[id]; n.ref == ref && l.isLive(n) {
			ids = append(ids, id)
		}
	}
	return ids
}

// life is an expiry for a new entry: none, or one that comes soon.
func (l *lineages) life() (end time.Time) {
	if l.rng.IntN(2) == 0 {
		end = l.h.Now().Add(time.Duration(1+l.rng.IntN(20)) * time.Millisecond)
	}
	return end
}

func (l *lineages) note(e memory.Entry, ref string) {
	l.notes[e.ID] = &lineageNote{ref: ref, subjects: e.Subjects, expires: e.ExpiresAt}
	l.order = append(l.order, e.ID)
}

func (l *lineages) retire(id string, state driver.State, into string) {
	l.notes[id].state, l.notes[id].into = state, into
}

// step puts, merges, supersedes, deletes or purges.
func (l *lineages) step() error {
	l.h.clock.Advance(time.Millisecond)
	ref := viewRefs[l.rng.IntN(2)]
	live := l.live(ref)
	if len(live) < 3 || l.rng.IntN(3) == 0 {
		e, err := l.job.Put(ctx, ref, memory.Draft{Content: fmt.Sprint("fact ", len(l.order)),
			Subjects: lineageSubjects[l.rng.IntN(4):][:1], ExpiresAt: l.life()})
		if err == nil {
			l.note(e, ref)
		}
		return err
	}
	l.rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	a, b := live[0], live[1]
	retire := func(state driver.State, into string) error {
		l.retire(a, state, into)
		_, err := l.job.Rewrite(ctx, ref, memory.Rewrite{Retire: []memory.Retire{{ID: a, State: state, For: into}}})
		return err
	}
	switch l.rng.IntN(8) {
	case 0, 1: // into a new entry
		made, err := l.job.Rewrite(ctx, ref, memory.Rewrite{Derive: []memory.Derived{{
			Draft: memory.Draft{Content: "merged", ExpiresAt: l.life()}, Sources: []string{a, b}, Merges: []string{a, b}}}})
		if err != nil {
			return err
		}
		l.note(made.Entries[0], ref)
		l.retire(a, memory.Merged, made.Entries[0].ID)
		l.retire(b, memory.Merged, made.Entries[0].ID)
		return nil
	case 2, 3: // into one that stays
		return retire(memory.Merged, b)
	case 4:
		return retire(memory.Superseded, b)
	case 5:
		return retire(memory.Deleted, "")
	}
	v, err := l.store.Version(ctx, "acme")
	if err == nil {
		_, err = l.store.Purge(ctx, "acme", v, l.h.Now())
		l.purge = true
	}
	return err
}

// head follows an entry through those that were merged, and are erased or have expired, to
// one that was not retired. It is empty if there is none such.
func (l *lineages) head(id string) string {
	for n := l.notes[id]; n.state == memory.Merged; n = l.notes[id] {
		if id = n.into; l.notes[id].state != memory.Live && !l.notes[id].erased && !l.expired(l.notes[id]) {
			return ""
		}
	}
	if l.notes[id].state != memory.Live {
		return ""
	}
	return id
}

// forget forgets a subject, in the bank and in the notes.
func (l *lineages) forget(subject string) error {
	if _, err := l.h.Forget(ctx, "acme", subject); err != nil {
		return err
	}
	expired, erased := map[string]bool{}, map[string]bool{}
	for id, n := range l.notes {
		if !n.erased && slices.Contains(n.subjects, subject) {
			expired[id], erased[id], n.erased = l.expired(n), true, true
		}
	}
	var restored []string
	for id, n := range l.notes {
		head := l.head(id)
		if n.state == memory.Merged && !n.erased && !l.expired(n) && erased[head] {
			restored = append(restored, id)
			l.back[fmt.Sprintf("expired %v, purged %v", expired[head], l.purge)]++
		}
	}
	for _, id := range restored {
		l.retire(id, memory.Live, "")
	}
	return nil
}

// check compares what the bank shows with what is to be live.
func (l *lineages) check() error {
	for _, ref := range viewRefs {
		var got []string
		for e, err := range l.job.Scan(ctx, ref) {
			if err != nil {
				return err
			}
			got = append(got, e.ID)
		}
		want := l.live(ref)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			return fmt.Errorf("in %s %d entries are live, not %d", ref, len(got), len(want))
		}
		var ids, replaced []string
		for rec, err := range l.job.History(ctx, ref) {
			n := l.notes[rec.Entry.ID]
			ids = append(ids, rec.Entry.ID)
			if (rec.State == memory.Merged || rec.State == memory.Superseded) && !rec.Erased {
				replaced = append(replaced, rec.Entry.ID+rec.For)
			}
			if err != nil {
				return err
			}
			if rec.Erased != n.erased {
				return fmt.Errorf("erased: %v, belongs to what was forgotten: %v", rec.Erased, n.erased)
			}
			if rec.Erased && (rec.Entry.Content != "" || len(rec.Entry.Tags)+len(rec.Entry.Subjects)+len(rec.Entry.Sources) > 0) {
				return fmt.Errorf("a stub holds more than its id")
			}
		}
		recs, err := l.h.Engines().Replaced(ctx, "acme", ref, ids...)
		if err != nil {
			return err
		}
		for _, rec := range recs {
			i := slices.Index(replaced, rec.Entry.ID+rec.For)
			if i < 0 {
				return fmt.Errorf("%s was not replaced by %s", rec.Entry.ID, rec.For)
			}
			replaced = slices.Delete(replaced, i, i+1)
		}
		if recs, err = l.h.Engines().Replaced(ctx, "globex", ref, ids...); err != nil || len(recs) > 0 || len(replaced) > 0 {
			return fmt.Errorf("%d of %d were replaced and are not found: %w", len(replaced), len(ids), err)
		}
	}
	return nil
}

func TestM10_ForgettingLosesNothingOfOthersAndRestoresNothingOfTheSubject(t *testing.T) {
	back := map[string]int{}
	for seed := range seeds(300) {
		l := newLineages(t, seed)
		for range 10 + l.rng.IntN(60) {
			require.NoError(t, l.step(), "seed %d", seed)
		}
		for _, subject := range lineageSubjects {
			require.NoError(t, l.forget(subject), "seed %d", seed)
			require.NoError(t, l.check(), "seed %d, forgetting %s", seed, subject)
			for range l.rng.IntN(20) {
				require.NoError(t, l.step(), "seed %d", seed)
				require.NoError(t, l.check(), "seed %d, after %s", seed, subject)
			}
		}
		for what, n := range l.back {
			back[what] += n
		}
	}
	require.Len(t, back, 4, "heads that had expired and others, before a purge and after: %v", back)
}

// What was merged into an entry that expired long ago comes back by the bank's own upkeep too.
func TestM10_ForgettingGivesBackWhatWasMergedIntoAnExpiredEntry(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.Horizon = time.Hour })
	job := h.job("acme")
	other := put(t, job, "m", "Tom runs the gate", "tom")
	head, err := job.Put(ctx, "m", memory.Draft{Content: "Tom runs the gate!", Subjects: []string{"lena"}, ExpiresAt: h.Now().Add(time.Minute)})
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Retire: []memory.Retire{{ID: other.ID, State: memory.Merged, For: head.ID}}})
	require.NoError(t, err)
	removed := 0
	for range 20 {
		h.clock.Advance(time.Hour)
		n, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		removed += n
	}
	require.Zero(t, removed)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
	done, err := h.Forget(ctx, "acme", "lena")
	require.NoError(t, err)
	require.Equal(t, []driver.Located{{Scope: memory.Scope{Tenant: "acme", Ref: "m"}, ID: other.ID}}, done.Restored)
	require.Equal(t, []string{"Tom runs the gate"}, contents(t, h.Reader("acme"), "m"))
	for range 20 {
		h.clock.Advance(time.Hour)
		n, err := h.Purge(ctx, "acme")
		require.NoError(t, err)
		removed += n
	}
	require.Equal(t, 1, removed, "the stub of the head")
}

// What is no id has replaced nothing, and no ids at all are not all of them.
func TestM8_WhatIsNoEntryHasReplacedNothing(t *testing.T) {
	h := newHost(t)
	old := put(t, h.job("acme"), "m", "old")
	e, err := h.run("r", "acme").Replace(ctx, "m", old.ID, memory.Draft{Content: "new"})
	require.NoError(t, err)
	for _, by := range [][]string{nil, {""}, {"\x00\xff"}, {old.ID}, {"mem_absent", "../m"}} {
		recs, err := h.Engines().Replaced(ctx, "acme", "m", by...)
		require.NoError(t, err)
		require.Empty(t, recs, by)
	}
	recs, err := h.Engines().Replaced(ctx, "acme", "m", "", e.ID)
	require.NoError(t, err)
	require.Len(t, recs, 1)
	require.Equal(t, old.ID, recs[0].Entry.ID)
	recs, err = h.Engines().Replaced(ctx, "globex", "m", e.ID)
	require.NoError(t, err)
	require.Empty(t, recs)
}

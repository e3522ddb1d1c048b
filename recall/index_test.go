package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

type none struct{}

// made is New with a Config that is not refused.
func made(cfg Config) *Ranker {
	r, err := New(cfg)
	if err != nil {
		panic(err)
	}
	return r
}

func (none) Redact(s string) (string, error)        { return s, nil }
func (none) RedactDerived(s string) (string, error) { return s, nil }

// holds reports whether any index of a ranker has a term, or an entry's id.
func (r *Ranker) holds(s string) bool {
	for e := r.order.Front(); e != nil; e = e.Next() {
		x := e.Value.(*cached).index
		if x == nil {
			continue
		}
		for t := range x.terms {
			if strings.Contains(t, s) {
				return true
			}
		}
		if slices.ContainsFunc(x.docs, func(d doc) bool { return d.id == s }) {
			return true
		}
	}
	return false
}

func TestS3_ForgottenWordsLeaveTheIndex(t *testing.T) {
	ctx := context.Background()
	for name, touch := range map[string]func(*memory.Bank, *Ranker) error{
		"the next question": func(b *memory.Bank, r *Ranker) error {
			_, err := b.Search(ctx, "acme", "m", memory.Search{Text: "anything"})
			return err
		},
		"a sweep": func(_ *memory.Bank, r *Ranker) error { return r.refreshAll(ctx) },
	} {
		r := made(Config{})
		b, err := memory.New(inmem.New(), memory.Config{Ranker: r})
		require.NoError(t, err)
		job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
		require.NoError(t, err)
		e, err := job.Put(ctx, "m", memory.Draft{Content: "Zanzibar and tea", Tags: []string{"quixotic"}, Subjects: []string{"ann"}})
		require.NoError(t, err)
		_, err = job.Put(ctx, "m", memory.Draft{Content: "tea"})
		require.NoError(t, err)
		_, err = b.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
		require.NoError(t, err)
		require.True(t, r.holds("zanzibar") && r.holds("quixotic") && r.holds(e.ID), name)
		_, err = b.Forget(ctx, "acme", "ann")
		require.NoError(t, err)
		require.NoError(t, touch(b, r))
		require.False(t, r.holds("zanzibar") || r.holds("quixotic") || r.holds(e.ID), name)
		require.True(t, r.holds("tea"), name)
	}
}

// What another process erases leaves the lists that came packed with an image too.
func TestS3_ForgottenEntriesLeaveWhatWasPacked(t *testing.T) {
	ctx := context.Background()
	SmallImages(t)
	st := inmem.New()
	open := func() (*memory.Bank, *Ranker) {
		r := made(Config{})
		b, err := memory.New(st, memory.Config{Ranker: r})
		require.NoError(t, err)
		return b, r
	}
	first, _ := open()
	job, err := first.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	for i := range 12 {
		_, err := job.Put(ctx, "m", memory.Draft{Content: fmt.Sprint("tea number ", i), Subjects: []string{fmt.Sprint("s", i)}})
		require.NoError(t, err)
	}
	_, err = first.Maintain(ctx)
	require.NoError(t, err)
	second, r := open()
	ask := func() *index {
		_, err := second.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
		require.NoError(t, err)
		return r.order.Front().Value.(*cached).index
	}
	require.EqualValues(t, 12, ask().imaged)
	for i := range 12 {
		_, err = first.Forget(ctx, "acme", fmt.Sprint("s", i))
		require.NoError(t, err)
		x := ask()
		for k := range x.image.Digests {
			require.NotEmpty(t, x.image.at(k))
			for _, q := range x.image.at(k) {
				require.NotEmpty(t, x.docs[q.doc].id, "after %d", i)
			}
		}
		require.Empty(t, x.postings(subjectPrefix+fmt.Sprint("s", i)))
	}
}

func TestMaxBytesHolds(t *testing.T) {
	ctx := context.Background()
	r := made(Config{MaxBytes: 20_000})
	b, err := memory.New(inmem.New(), memory.Config{Ranker: r})
	require.NoError(t, err)
	job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	for i := range 40 {
		ref := fmt.Sprint("m", i)
		for k := range 10 {
			_, err = job.Put(ctx, ref, memory.Draft{Content: fmt.Sprintf("note %d of %d says that all is well with number %d", k, i, k*i)})
			require.NoError(t, err)
		}
		hits, err := b.Search(ctx, "acme", ref, memory.Search{Text: "well"})
		require.NoError(t, err)
		require.Len(t, hits, 10)
		require.LessOrEqual(t, r.bytes, r.cfg.MaxBytes)
		require.Less(t, len(r.refs), 12)
	}
	require.Greater(t, len(r.refs), 1)
}

// count is what all indexes that are kept take.
func (r *Ranker) count() (sum int64) {
	for e := r.order.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*cached).bytes
	}
	return sum
}

// Refs that hold nothing take memory too.
func TestMaxBytesHoldsForEmptyRefs(t *testing.T) {
	r := made(Config{MaxBytes: 100_000})
	b, err := memory.New(inmem.New(), memory.Config{Ranker: r})
	require.NoError(t, err)
	for i := range 1000 {
		_, err := b.Search(context.Background(), "acme", fmt.Sprint("m", i), memory.Search{Text: "tea"})
		require.NoError(t, err)
	}
	require.Less(t, len(r.refs), 100)
	require.Equal(t, r.count(), r.bytes)
}

// An index that is let go of while a question reads it is not counted in place of the one that
// was made for its ref meanwhile.
func TestMaxBytesCountsOnlyWhatIsKept(t *testing.T) {
	r := made(Config{MaxBytes: 10_000})
	ask := func(ref string, bytes int64) *cached {
		c := r.indexOf(memory.Scope{Tenant: "acme", Ref: ref})
		require.NoError(t, c.lock(context.Background()))
		c.index = newIndex(memory.Scope{})
		c.index.bytes = bytes
		return c
	}
	old := ask("m", 8000)
	r.unlock(ask("other", 9000)) // lets go of m
	r.unlock(ask("m", 10))
	r.unlock(old)
	require.Equal(t, r.count(), r.bytes)
}

// What has been purged, and no Forget can find any more, leaves the index too.
func TestS3_PurgedWordsLeaveTheIndex(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	r := made(Config{})
	b, err := memory.New(inmem.New(), memory.Config{Ranker: r, Now: func() time.Time { return now }, Horizon: 24 * time.Hour})
	require.NoError(t, err)
	job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	_, err = job.Put(ctx, "m", memory.Draft{Content: "Zanzibar", Subjects: []string{"ann"}, ExpiresAt: now.Add(time.Hour)})
	require.NoError(t, err)
	deleted, err := job.Put(ctx, "m", memory.Draft{Content: "Kilimanjaro", Subjects: []string{"ann"}})
	require.NoError(t, err)
	_, err = job.Put(ctx, "m", memory.Draft{Content: "tea"})
	require.NoError(t, err)
	ask := func() {
		_, err := b.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
		require.NoError(t, err)
	}
	ask()
	_, err = job.Delete(ctx, "m", deleted.ID)
	require.NoError(t, err)
	for range 4 {
		require.True(t, r.holds("zanzibar") && r.holds("kilimanjaro"), "some view may show it")
		_, err := b.Purge(ctx, "acme")
		require.NoError(t, err)
		now = now.Add(10 * time.Hour)
		ask()
	}
	_, err = b.Purge(ctx, "acme")
	require.NoError(t, err)
	require.NoError(t, r.refreshAll(ctx))
	ask()
	require.True(t, r.holds("tea"))
	require.False(t, r.holds("zanzibar") || r.holds("kilimanjaro"))
}

package recall

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// metered is a store that counts the entries that it hands out one by one, and whose pages
// wait.
type metered struct {
	*inmem.Store
	looked atomic.Int64
	pause  atomic.Int64 // of each page
}

func (m *metered) Lookup(ctx context.Context, s memory.Scope, ids []string) ([]memory.Record, error) {
	m.looked.Add(int64(len(ids)))
	return m.Store.Lookup(ctx, s, ids)
}

func (m *metered) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	if len(q.IDs) > 0 {
		m.looked.Add(int64(len(q.IDs)))
		return m.Store.List(ctx, s, q)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(m.pause.Load())):
		return m.Store.List(ctx, s, q)
	}
}

// A run reads each of its own writes once, and nothing that others have put since it began.
func TestARecallReadsOwnWritesOnce(t *testing.T) {
	ctx := context.Background()
	st := &metered{Store: inmem.New()}
	b, err := memory.New(st, memory.Config{Ranker: made(Config{})})
	require.NoError(t, err)
	job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	run, err := b.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	for i := range 500 {
		_, err := run.Put(ctx, "m", memory.Draft{Content: fmt.Sprint("own ", i)})
		require.NoError(t, err)
		_, err = job.Put(ctx, "m", memory.Draft{Content: fmt.Sprint("theirs ", i)})
		require.NoError(t, err)
	}
	recall := func() int64 {
		st.looked.Store(0)
		hits, err := run.Search(ctx, "m", memory.Search{Text: "own theirs", Limit: 5})
		require.NoError(t, err)
		require.Len(t, hits, 5)
		return st.looked.Load()
	}
	recall()
	require.EqualValues(t, 5, recall(), "the five hits")
}

// Who asks first and gives up leaves the work to who asks next; it goes on beyond the time
// that a part of a host has.
func TestAnIndexIsMadeInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &metered{Store: inmem.New()}
		b, err := memory.New(st, memory.Config{Ranker: made(Config{})})
		require.NoError(t, err)
		job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
		require.NoError(t, err)
		for i := range 2000 {
			_, err := job.Put(t.Context(), "m", memory.Draft{Content: fmt.Sprint("note ", i)})
			require.NoError(t, err)
		}
		st.pause.Store(int64(20 * time.Second)) // four pages
		ask := func(patience time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := b.Search(ctx, "acme", "m", memory.Search{Text: "note"})
			return err
		}
		require.ErrorIs(t, ask(time.Second), context.DeadlineExceeded)
		require.ErrorIs(t, ask(time.Hour), memory.ErrInternal, "thirty seconds are all that a ranker has")
		require.ErrorIs(t, ask(time.Hour), memory.ErrInternal)
		require.NoError(t, ask(time.Hour), "it is there now")
		require.NoError(t, ask(time.Second))
	})
}

// A store that panics while the ref is read costs nothing but that answer.
func TestAStoreThatPanicsIsContained(t *testing.T) {
	ctx := context.Background()
	st := &panicking{Store: inmem.New()}
	r := made(Config{})
	b, err := memory.New(st, memory.Config{Ranker: r})
	require.NoError(t, err)
	job, err := b.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: none{}})
	require.NoError(t, err)
	_, err = job.Put(ctx, "m", memory.Draft{Content: "tea"})
	require.NoError(t, err)
	for _, loose := range []bool{false, true, false, true, false} {
		st.loose = loose
		_, err = job.Put(ctx, "m", memory.Draft{Content: "more tea"})
		require.NoError(t, err)
		_, err := b.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
		if loose {
			require.ErrorIs(t, err, memory.ErrInternal)
			require.NotContains(t, err.Error(), "canary")
			require.NoError(t, r.refreshAll(ctx), "the index was let go of")
			st.loose = false
			_, err = b.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
			require.NoError(t, err)
			_, err = job.Put(ctx, "m", memory.Draft{Content: "more tea"})
			require.NoError(t, err)
			st.loose = true
			_, err = b.Maintain(ctx)
			require.ErrorIs(t, err, memory.ErrInternal)
			require.NotContains(t, err.Error(), "canary")
		} else {
			require.NoError(t, err)
		}
	}
}

// A store that fails while the ref is read fails the ranker, which the error names.
func TestAStoreThatFailsFailsTheRanker(t *testing.T) {
	ctx := context.Background()
	b, err := memory.New(failing{inmem.New()}, memory.Config{Ranker: made(Config{})})
	require.NoError(t, err)
	_, err = b.Search(ctx, "acme", "m", memory.Search{Text: "tea"})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.EqualError(t, err, "memory: internal failure: the ranker failed")
	require.ErrorContains(t, errors.Unwrap(err), "the disk is full")
}

type failing struct{ *inmem.Store }

func (failing) List(context.Context, memory.Scope, driver.Query) ([]memory.Entry, error) {
	return nil, driver.ErrInternal.With("the disk is full", nil)
}

type panicking struct {
	*inmem.Store
	loose bool
}

func (p *panicking) List(ctx context.Context, s memory.Scope, q driver.Query) ([]memory.Entry, error) {
	if p.loose {
		panic("canary")
	}
	return p.Store.List(ctx, s, q)
}

func (p *panicking) Changes(ctx context.Context, s memory.Scope, from, to driver.Version) (driver.ChangeSet, error) {
	if p.loose {
		panic("canary")
	}
	return p.Store.Changes(ctx, s, from, to)
}

// An entry of a hundred characters or less takes 300 bytes or so in the index. The test
// allows for 350, as the sizes of maps and slices go in steps.
func TestBytesOfAnEntry(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs many entries, without the race detector's bytes")
	}
	r := rand.New(rand.NewPCG(1, 9))
	vocabulary := make([]string, 20_000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf("w%c%c%co", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26)
	}
	entries := func(n int) iter.Seq[memory.Entry] {
		return func(yield func(memory.Entry) bool) {
			for i := range n {
				text := ""
				for range 15 {
					text += vocabulary[min(int(r.ExpFloat64()*1500), len(vocabulary)-1)] + " "
				}
				if !yield(memory.Entry{ID: fmt.Sprintf("mem_%026d", i), Content: text[:min(len(text), 100)], CreatedAt: time.UnixMilli(int64(i))}) {
					return
				}
			}
		}
	}
	const n = 50_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := newIndex(memory.Scope{})
	for e := range entries(n) {
		x.docs[x.add(&e)].live = true
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	taken := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes an entry, counted as %.0f", taken, float64(x.bytes)/n)
	require.Less(t, taken, 350.0)
	require.InDelta(t, 1, taken/(float64(x.bytes)/n), 0.35)
	runtime.KeepAlive(x)
}

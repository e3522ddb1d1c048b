package groupcommit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/internal/groupcommit"
)

var (
	errUnknown = errors.New("unknown")
	errFailed  = errors.New("failed")
	errWaits   = errors.New("no answer yet")
)

// disk is a database in which a commit takes a second of a bubble's clock.
type disk struct {
	*groupcommit.Queue[string, int]
	groups [][]int
	ctxs   []context.Context
	commit func(group []int) error // nil: succeeds
}

func newDisk() *disk {
	d := &disk{}
	d.Queue = &groupcommit.Queue[string, int]{Unknown: errUnknown, Commit: func(_ context.Context, take func() (context.Context, []int)) error {
		ctx, group := take()
		d.groups, d.ctxs = append(d.groups, group), append(d.ctxs, ctx)
		time.Sleep(time.Second)
		if d.commit != nil {
			return d.commit(group)
		}
		return nil
	}}
	return d
}

// answers are those of some calls.
type answers []chan error

// now returns the answers that there are, errWaits in place of the others.
func (a answers) now() []error {
	errs := make([]error, len(a))
	for i, answer := range a {
		select {
		case errs[i] = <-answer:
		default:
			errs[i] = errWaits
		}
	}
	return errs
}

// queue starts calls, each behind the one before. The first leads, and the others wait for it.
func (d *disk) queue(ctx context.Context, sizes ...int) answers {
	given := make(answers, len(sizes))
	for i, size := range sizes {
		given[i] = make(chan error, 1)
		go func() { given[i] <- d.Do(ctx, "k", i, size) }()
		synctest.Wait()
	}
	return given
}

// pass lets time pass, and all that happens then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, start := newDisk(), time.Now()
		ctx, cancel := context.WithCancel(t.Context()) // one that is the caller's own
		defer cancel()
		require.NoError(t, d.Do(ctx, "k", 7, 1))
		require.Equal(t, time.Second, time.Since(start))
		require.Equal(t, [][]int{{7}}, d.groups)
		require.Equal(t, ctx, d.ctxs[0])
	})
}

func TestTakesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		given := d.queue(t.Context(), make([]int, 1+groupcommit.MaxCalls+3)...)
		pass(3*time.Second + 1)
		require.Equal(t, make([]error, len(given)), given.now())
		require.Len(t, d.groups, 3)
		require.Equal(t, []int{1, groupcommit.MaxCalls, 3}, []int{len(d.groups[0]), len(d.groups[1]), len(d.groups[2])})
		require.True(t, slices.IsSorted(slices.Concat(d.groups...)))
		require.Equal(t, context.Background(), d.ctxs[1])
	})
}

func TestLargeCallsGoAlone(t *testing.T) {
	const all, half = groupcommit.MaxBytes, groupcommit.MaxBytes / 2
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.queue(t.Context(), 1, half, half, 1, all+1, 1, 1, all, math.MaxInt, 1)
		pass(time.Minute)
		require.Equal(t, [][]int{{0}, {1, 2}, {3}, {4}, {5, 6}, {7}, {8}, {9}}, d.groups)
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		ended, end := context.WithCancel(t.Context())
		end()
		require.ErrorIs(t, d.Do(ended, "k", 0, 0), context.Canceled)
		require.Empty(t, d.groups)

		first := d.queue(t.Context(), 0, 0)
		brief, end := context.WithCancel(t.Context())
		late := d.queue(brief, 0)
		end()
		synctest.Wait()
		require.Equal(t, []error{context.Canceled}, late.now(), "who waits leaves at once")
		brief, end = context.WithCancel(t.Context())
		taken := d.queue(brief, 0)
		pass(1500 * time.Millisecond) // in the midst of the second commit
		end()
		synctest.Wait()
		require.Equal(t, []error{errWaits}, taken.now(), "who was taken waits for the commit")
		pass(time.Second)
		require.Equal(t, []error{nil, nil, nil}, slices.Concat(first, taken).now())
		require.Equal(t, [][]int{{0}, {1, 0}}, d.groups)
	})
}

// ended is a context that has ended once it says so, and of which the caller hears late.
type ended struct {
	context.Context
	now atomic.Bool
}

func (e *ended) Err() error {
	if e.now.Load() {
		return context.Canceled
	}
	return e.Context.Err()
}

// A caller whose context has ended is taken into no transaction, and if it is to lead it hands
// the writer on.
func TestEndedContextIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := newDisk(), &ended{Context: t.Context()}
		first := d.queue(t.Context(), 0, 0)
		late := d.queue(ctx, 0)
		last := d.queue(t.Context(), 0)
		ctx.now.Store(true)
		pass(time.Minute)
		require.Equal(t, [][]int{{0}, {1, 0}}, d.groups)
		require.Equal(t, []error{nil, nil, context.Canceled, nil}, slices.Concat(first, late, last).now())

		ctx.now.Store(false)
		first, late, last = d.queue(t.Context(), 0), d.queue(ctx, 0), d.queue(t.Context(), 0)
		ctx.now.Store(true)
		pass(time.Minute)
		require.Equal(t, []error{nil, context.Canceled, nil}, slices.Concat(first, late, last).now())
	})
}

func TestFailureIsJudgedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.commit = func(group []int) error {
			if len(group) > 1 || group[0] == 2 {
				return errFailed
			}
			return nil
		}
		given := d.queue(t.Context(), 0, 0, 0, 0)
		pass(time.Minute)
		require.Equal(t, []error{nil, nil, errFailed, nil}, given.now())
		require.Equal(t, [][]int{{0}, {1, 2, 3}, {1}, {2}, {3}}, d.groups)
	})
}

func TestUnknownIsUnknownToItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		unknown := fmt.Errorf("the disk: %w", errUnknown)
		d.commit = func(group []int) error {
			if group[0] == 1 {
				return unknown
			}
			return nil
		}
		given := d.queue(t.Context(), 0, 0, 0)
		pass(1500 * time.Millisecond)
		later := d.queue(t.Context(), 0, 0)
		pass(time.Minute)
		require.Equal(t, []error{nil, unknown, unknown}, given.now())
		require.Equal(t, []error{nil, nil}, later.now())
		require.Equal(t, [][]int{{0}, {1, 2}, {0, 1}}, d.groups)
	})
}

func TestPanicLeavesNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.commit = func(group []int) error {
			if len(group) == 2 {
				panic("host code")
			}
			return nil
		}
		first := d.queue(t.Context(), 0)
		go func() {
			defer func() { recover() }()
			d.Do(t.Context(), "k", 1, 0)
		}()
		synctest.Wait()
		mate := make(chan error, 1)
		go func() { mate <- d.Do(t.Context(), "k", 2, 0) }()
		pass(1500 * time.Millisecond)
		next := d.queue(t.Context(), 0)
		pass(time.Minute)
		require.Equal(t, []error{nil, errUnknown, nil}, slices.Concat(first, answers{mate}, next).now())
		require.Equal(t, [][]int{{0}, {1, 2}, {0}}, d.groups)
	})
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, mu := time.Now(), sync.Mutex{}
		q := groupcommit.Queue[string, int]{Unknown: errUnknown, Commit: func(_ context.Context, take func() (context.Context, []int)) error {
			mu.Lock()
			take()
			mu.Unlock()
			time.Sleep(time.Second)
			return nil
		}}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() { q.Do(t.Context(), fmt.Sprint(i), i, 0) })
		}
		all.Wait()
		require.Equal(t, time.Second, time.Since(start))
	})
}

// Many goroutines add numbers to a set that refuses each second time, while commits fail,
// lose their answer, and contexts end: every answer agrees with the set.
func TestAgainstASet(t *testing.T) {
	const seed = 20261125
	type add struct {
		number  int
		refused bool
	}
	var (
		random  = rand.New(rand.NewPCG(seed, 0)) // the writer's
		set     = map[int]int{}                  // times
		writers atomic.Int32
	)
	q := groupcommit.Queue[struct{}, *add]{Unknown: errUnknown, Commit: func(ctx context.Context, take func() (context.Context, []*add)) error {
		if writers.Add(1) != 1 {
			t.Error("two writers at a time")
		}
		defer writers.Add(-1)
		if random.IntN(50) == 0 {
			return errFailed
		}
		_, group := take()
		made := map[int]bool{}
		for _, a := range group {
			if a.refused = set[a.number] > 0 || made[a.number]; !a.refused {
				made[a.number] = true
			}
		}
		switch random.IntN(10) {
		case 0:
			return errFailed
		case 1:
			return errUnknown // and not committed
		}
		for n := range made {
			set[n]++
		}
		if random.IntN(10) == 0 {
			return errUnknown // and committed
		}
		return nil
	}}
	type answer struct {
		add
		err error
	}
	given := make(chan answer, 32*200)
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			own := rand.New(rand.NewPCG(seed, uint64(1+g)))
			for range 200 {
				ctx, end := context.WithCancel(t.Context())
				a := &add{number: own.IntN(5000)}
				if own.IntN(4) == 0 {
					go end()
				}
				err := q.Do(ctx, struct{}{}, a, own.IntN(1<<20))
				if errors.Is(err, context.Canceled) {
					a = &add{number: a.number}
				}
				given <- answer{*a, err}
				end()
			}
		})
	}
	all.Wait()
	close(given)
	made, unknown := map[int]int{}, map[int]bool{}
	for a := range given {
		switch {
		case a.err == nil && !a.refused:
			made[a.number]++
		case a.err == nil:
			if set[a.number] == 0 {
				t.Errorf("seed %d: %d was refused, and is not there", seed, a.number)
			}
		case errors.Is(a.err, errUnknown):
			unknown[a.number] = true
		}
	}
	for n := range 5000 {
		if set[n] > 1 || made[n] > set[n] || set[n] > made[n] && !unknown[n] {
			t.Errorf("seed %d: %d is there %d times, and was acknowledged %d times", seed, n, set[n], made[n])
		}
	}
}

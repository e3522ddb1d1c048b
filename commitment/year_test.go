package commitment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// process is one of several over the same stores: it has a clock that is wrong, and
// dies now and then at some call of a store.
type process struct {
	t *testing.T
	r *rand.Rand
	store
	log  *events.Log
	q    *queue
	skew atomic.Int64 // added to the true time, stepped at random
	c    *crasher
	e    *commitment.Engine
	bank *memory.Bank
}

const maxSkew = 45 * time.Minute

func (p *process) start() {
	p.c = &crasher{}
	var err error
	p.bank, err = memory.New(crashing{p.store, p.c}, memory.Config{
		Now: func() time.Time { return time.Now().Add(time.Duration(p.skew.Load())) }, Sink: p.log,
	})
	require.NoError(p.t, err)
	p.e, err = commitment.New(p.bank, commitment.Config{
		Enqueuer: p.q, GiveUpAfter: 100 * 365 * day,
		Redactor:  func(context.Context, string) (memory.Redactor, error) { return vault{}, nil },
		Predicate: func(string, string) bool { return true },
		Schedule:  readSchedule,
	})
	require.NoError(p.t, err)
}

// live lets the process do something, and starts it anew if it died of it.
func (p *process) live(do func() error) bool {
	p.c.set(0, false)
	if p.r.IntN(6) == 0 {
		p.c.set(1+p.r.IntN(12), p.r.IntN(2) == 0)
	}
	err := do()
	if !p.c.dead {
		require.NoError(p.t, err)
		return true
	}
	p.start()
	return false
}

// A year of eight processes with wrong clocks that step both ways and die at any
// call, through every change of the clocks in three time zones: each instant and each
// transition is claimed once, delivered at least once with one key, and its event is
// in the log once.
func TestK2_AYearOfEightEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().UTC().Truncate(time.Minute)
		end := start.AddDate(1, 0, 0)
		if testing.Short() {
			end = start.AddDate(0, 2, 0)
		}
		store, log, q := newAudit(inmem.New()), new(events.Log), newQueue()
		var flaky sync.Mutex
		trouble := rand.New(rand.NewPCG(8, 8))
		q.fail = func(commitment.Firing) error {
			flaky.Lock()
			defer flaky.Unlock()
			if trouble.IntN(10) == 0 {
				return errors.New("no")
			}
			return nil
		}
		q.lose = q.fail
		process := func(i int) *process {
			p := &process{t: t, r: rand.New(rand.NewPCG(uint64(i), 1)), store: store, log: log, q: q}
			p.start()
			return p
		}

		// What is armed, and when it should fire.
		first := process(99)
		job, err := first.bank.Background(memory.JobConfig{ID: "setup", Tenant: "acme", Redactor: vault{}})
		require.NoError(t, err)
		want := map[string]bool{}
		expect := func(a commitment.Arm, at []time.Time) {
			e, err := job.Put(ctx, "ref", memory.Draft{Content: "x"})
			require.NoError(t, err)
			c, err := first.e.Arm(ctx, job, commitment.Source{Ref: "ref", MemoryID: e.ID}, a)
			require.NoError(t, err)
			for _, i := range at {
				c.Claim.Instant = i
				want[c.Key()] = true
			}
		}
		for _, spec := range []string{
			"02:30 in Berlin", // skipped once, twice once
			"09:00 on weekdays in New York", "01:45 on Lord Howe", "midnight of the 5th and 20th",
		} {
			w := wallClocks[spec]
			expect(commitment.Arm{Spec: spec}, oracle(start, end, zone(t, w.zone), w.match))
		}
		var sixths []time.Time
		for at := start.Add(6 * time.Hour); !at.After(end); at = at.Add(6 * time.Hour) {
			sixths = append(sixths, at)
		}
		expect(commitment.Arm{Every: 6 * time.Hour, At: start}, sixths)
		r := rand.New(rand.NewPCG(4, 2))
		for range 60 {
			at := start.Add(time.Duration(r.Int64N(int64(end.Sub(start))))).Truncate(time.Millisecond)
			if at.After(start) {
				expect(commitment.Arm{At: at}, []time.Time{at})
			}
		}
		expect(signed, nil)

		// The processes, and one that observes.
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				p := process(i)
				for time.Now().Before(end) {
					time.Sleep(time.Duration(20+p.r.IntN(20)) * time.Minute)
					if p.r.IntN(4) == 0 {
						p.skew.Store(p.r.Int64N(int64(2*maxSkew)) - int64(maxSkew))
					}
					p.live(func() error { _, err := p.e.Tick(ctx); return err })
				}
			})
		}
		wg.Go(func() {
			p := process(77)
			seen, state, latest := false, "", int64(0)
			id := commitment.ID("acme", "ref", "", signed)
			for c, err := range p.e.Commitments(ctx, "acme") {
				require.NoError(t, err)
				if c.Arm.Predicate != "" {
					id = c.ID
				}
			}
			for time.Now().Before(end) {
				time.Sleep(time.Duration(30+p.r.IntN(300)) * time.Minute)
				position, now, holds := latest+int64(p.r.IntN(5))-1, fmt.Sprint(p.r.IntN(3)), p.r.IntN(2) == 0
				if !seen || position > latest {
					if holds && (!seen || now != state) {
						want[fmt.Sprintf("%s.%d", id, position)] = true
					}
					seen, state, latest = true, now, position
				}
				for !p.live(func() error {
					_, err := p.e.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: position, State: []byte(now), Holds: holds})
					return err
				}) {
				}
			}
		})
		wg.Wait()

		// Let what is under way come to its end.
		q.fail, q.lose = nil, nil
		last := process(100)
		for range 50 {
			time.Sleep(commitment.MaxBackoff)
			_, err := last.e.Tick(ctx)
			require.NoError(t, err)
		}
		_, err = last.bank.Maintain(ctx)
		require.NoError(t, err)

		require.Empty(t, store.twice, "claimed twice")
		inYear := func(key string) bool { return want[key] }
		for key := range want {
			require.True(t, store.claimed[key], "never claimed: %s", key)
		}
		for key := range store.claimed {
			if !inYear(key) {
				at, err := strconv.ParseInt(key[strings.LastIndex(key, ".")+1:], 10, 64)
				require.NoError(t, err)
				require.GreaterOrEqual(t, at, end.UnixMilli(), "claimed without reason: %s", key)
			}
		}
		require.Equal(t, len(store.claimed), len(q.runs), "delivered")
		got := fired(log)
		require.Equal(t, len(store.claimed), len(got))
		require.Equal(t, len(got), len(log.All()), "each event once")
		for key, run := range q.runs {
			require.Equal(t, run, got[key].EnqueuedRunID)
		}
		require.Greater(t, len(want), 5*int(end.Sub(start)/(24*time.Hour)))
		require.Greater(t, len(q.calls), len(q.runs), "some were tried again")
	})
}

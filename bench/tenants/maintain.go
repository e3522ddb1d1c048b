package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/openwop/agentmemory/memory"
)

const (
	tickEvery     = 200 * time.Millisecond
	maintainEvery = 2 * time.Second

	// roundsTimed are the rounds of maintenance that are timed by themselves, each of which looks
	// at roundTenants. Of the first, in which the tenants are that the load writes to most,
	// the latencies are told.
	roundsTimed, firstRounds = 1250, 125
	roundTenants             = 16

	// ticksTimed are how many ticks that find nothing due are timed.
	ticksTimed = 200
)

// watched is what waited at an instant of the load.
type watched struct {
	Second  float64 `json:"second"`
	Waiting int     `json:"waiting"` // events in the outbox
	Overdue int     `json:"overdue"` // commitments that a tick has left, up to 1000
}

// keep does what [memory.Bank.Keep] does with a commitment engine beside it, in a loop
// that is timed: a tick five times a second and a round of maintenance every two seconds.
// It begins when clients have worked for so long in earlier turns.
func (w *world) keep(ctx context.Context, began time.Duration, over <-chan struct{}) error {
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	var last time.Time
	for start := time.Now(); ; {
		select {
		case <-over:
			return nil
		case <-ticks.C:
		}
		if _, err := w.tick(ctx); err != nil {
			return err
		}
		if time.Since(last) < maintainEvery {
			continue
		}
		last = time.Now()
		var done memory.Maintained
		err := w.latencies.time("maintain", func() (err error) { done, err = w.bank.Maintain(ctx); return err })
		if err != nil {
			return err
		}
		due, err := w.bank.Engines().Due(ctx, "commitment", 1000)
		if err != nil {
			return err
		}
		overdue := 0
		for _, d := range due {
			if w.now().Sub(d.Due) > 5*tickEvery {
				overdue++
			}
		}
		w.watched = append(w.watched, watched{(began + time.Since(start)).Seconds(), done.Waiting, overdue})
	}
}

// tick returns how many commitments have fired or lapsed.
func (w *world) tick(ctx context.Context) (int, error) {
	start := time.Now()
	done, err := w.engine.Tick(ctx)
	if err != nil {
		return 0, err
	}
	if done.Fired > 0 {
		w.latencies.add("tick, per firing", time.Since(start)/time.Duration(done.Fired))
	}
	w.settled.Add(int64(done.Fired + done.Lapsed))
	return done.Fired + done.Lapsed, nil
}

// note times rounds of maintenance before there is a load: each writes down the version of
// its tenants, so that a purge a horizon later can name it.
func note(ctx context.Context, worlds []*world) error {
	before := make([]int64, len(worlds))
	for i, w := range worlds {
		var err error
		if before[i], _, err = w.db.size(ctx); err != nil {
			return err
		}
	}
	if err := rounds(ctx, worlds, "round, noting", func(w *world) *swept { return &w.report.Noting }); err != nil {
		return err
	}
	for i, w := range worlds {
		after, _, err := w.db.size(ctx)
		if err != nil {
			return err
		}
		w.report.NotedBytes = float64(after-before[i]) / float64(w.report.Noting.Tenants)
	}
	return nil
}

// relayed is how many events are left to a relay that is timed.
const relayed = 500

// relay times the relay of events of fifty tenants, with no clients beside it.
func (w *world) relay(ctx context.Context, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 8))
	for i := range min(50, w.tenants) {
		secrets, err := registry()
		if err != nil {
			return err
		}
		name := tenantName(i)
		run, err := w.bank.Start(ctx, memory.RunConfig{ID: "run-left", Tenant: name, Redactor: secrets})
		for range relayed / min(50, w.tenants) {
			if err == nil {
				err = w.put(ctx, "put alone", r, run, name, &w.books[i])
			}
		}
		if err != nil {
			return err
		}
	}
	start := time.Now()
	done, err := w.bank.Maintain(ctx)
	w.report.RelayedPerSecond = float64(done.Delivered) / time.Since(start).Seconds()
	return err
}

// afterwards sets the clocks beyond the horizon, with no clients any more. It times the
// ticks that catch up, ticks that find nothing due, rounds of maintenance that remove what has ended before, and rounds
// that find nothing to do.
func afterwards(ctx context.Context, worlds []*world) error {
	for _, w := range worlds {
		w.ahead.Add(int64(memory.DefaultHorizon + 3*time.Hour))
		start := time.Now()
		for more := true; more; {
			settled, err := w.tick(ctx)
			if err != nil {
				return err
			}
			w.report.CaughtUp += settled
			more = settled > 0
		}
		w.report.FiringsPerSecond = float64(w.report.CaughtUp) / time.Since(start).Seconds()
		for range ticksTimed {
			if err := w.latencies.time("tick, nothing due", func() error { _, err := w.tick(ctx); return err }); err != nil {
				return err
			}
		}
	}
	err := rounds(ctx, worlds, "round, purging", func(w *world) *swept { return &w.report.Purging })
	if err != nil {
		return err
	}
	return rounds(ctx, worlds, "round, idle", func(w *world) *swept { return &w.report.Idle })
}

// swept is what rounds of maintenance did.
type swept struct {
	Tenants   int     `json:"tenants"`
	Purged    int     `json:"purged"` // entries
	Relayed   int     `json:"relayed"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"tenantsPerSecond"`
}

// rounds times some rounds of maintenance of new banks, which take turns and begin with the
// first tenant, as the next ones do.
func rounds(ctx context.Context, worlds []*world, name string, into func(*world) *swept) error {
	if err := reopen(ctx, worlds); err != nil {
		return err
	}
	for i := range roundsTimed {
		for _, w := range worlds {
			if i*roundTenants >= w.tenants {
				continue
			}
			s, start := into(w), time.Now()
			done, err := w.bank.Maintain(ctx)
			if err != nil {
				return err
			}
			took := time.Since(start)
			if i < firstRounds {
				w.latencies.add(name, took)
			}
			s.Tenants, s.Purged, s.Relayed = s.Tenants+done.Tenants, s.Purged+done.Purged, s.Relayed+done.Delivered
			s.Seconds += took.Seconds()
			s.PerSecond = float64(s.Tenants) / s.Seconds
		}
	}
	return reopen(ctx, worlds)
}

// reopen is the end of a process and the beginning of another.
func reopen(ctx context.Context, worlds []*world) error {
	for _, w := range worlds {
		if err := w.close(); err != nil {
			return err
		}
		if err := w.open(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

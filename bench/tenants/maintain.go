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

	// roundsTimed bounds the rounds of maintenance that are timed by themselves. Each looks
	// at a hundred tenants.
	roundsTimed = 20
)

// watched is what waited at an instant of the load.
type watched struct {
	Second  float64 `json:"second"`
	Waiting int     `json:"waiting"` // events in the outbox
	Overdue int     `json:"overdue"` // commitments that a tick has left, up to 1000
}

// keep does what [memory.Bank.Keep] does with a commitment engine beside it, in a loop
// that is timed: a tick five times a second and a round of maintenance every two seconds.
func (w *world) keep(ctx context.Context, over <-chan struct{}) error {
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	began, last := w.busy.Seconds(), time.Time{}
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
		if err == nil {
			err = w.latencies.time("recall sweep", func() error { return w.ranker.Sweep(ctx) })
		}
		if err != nil {
			return err
		}
		due, err := w.bank.Due(ctx, "commitment", 1000)
		if err != nil {
			return err
		}
		overdue := 0
		for _, d := range due {
			if w.now().Sub(d.Due) > 5*tickEvery {
				overdue++
			}
		}
		w.watched = append(w.watched, watched{began + time.Since(start).Seconds(), done.Relayed.Waiting, overdue})
	}
}

// tick returns how many commitments have fired or lapsed.
func (w *world) tick(ctx context.Context) (int, error) {
	start := time.Now()
	done, err := w.engine.Tick(ctx)
	if err != nil {
		return 0, err
	}
	if took := time.Since(start); done.Fired > 0 {
		w.latencies.add("tick, per firing", took/time.Duration(done.Fired))
	} else {
		w.latencies.add("tick, nothing due", took)
	}
	w.settled.Add(int64(done.Fired + done.Lapsed))
	return done.Fired + done.Lapsed, nil
}

// note times rounds of maintenance before there is a load: each writes down the version of
// a hundred tenants, so that a purge a horizon later can name it.
func (w *world) note(ctx context.Context) error {
	before, _, err := w.db.size(ctx)
	if err != nil {
		return err
	}
	if w.report.Noting, err = w.rounds(ctx, "round, noting"); err != nil {
		return err
	}
	after, _, err := w.db.size(ctx)
	w.report.NotedBytes = float64(after-before) / float64(w.report.Noting.Tenants)
	return err
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
	done, err := w.bank.Relay(ctx)
	w.report.RelayedPerSecond = float64(done.Delivered) / time.Since(start).Seconds()
	return err
}

// afterwards sets the clock beyond the horizon, with no clients any more. It times the
// ticks that catch up, rounds of maintenance that remove what has ended before, and rounds
// that find nothing to do.
func (w *world) afterwards(ctx context.Context) (err error) {
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
	if w.report.Purging, err = w.rounds(ctx, "round, purging"); err != nil {
		return err
	}
	w.report.Idle, err = w.rounds(ctx, "round, idle")
	return err
}

// swept is what rounds of maintenance did.
type swept struct {
	Tenants   int     `json:"tenants"`
	Purged    int     `json:"purged"` // entries
	Relayed   int     `json:"relayed"`
	PerSecond float64 `json:"tenantsPerSecond"`
}

// rounds times some rounds of maintenance of a new bank, which begins with the first
// tenant, as the next one does.
func (w *world) rounds(ctx context.Context, name string) (swept, error) {
	var s swept
	if err := w.reopen(ctx); err != nil {
		return s, err
	}
	start := time.Now()
	for range min(roundsTimed, (w.tenants+99)/100) {
		err := w.latencies.time(name, func() error {
			done, err := w.bank.Maintain(ctx)
			s.Tenants, s.Purged, s.Relayed = s.Tenants+done.Tenants, s.Purged+done.Purged, s.Relayed+done.Relayed.Delivered
			return err
		})
		if err != nil {
			return s, err
		}
	}
	s.PerSecond = float64(s.Tenants) / time.Since(start).Seconds()
	return s, w.reopen(ctx)
}

// reopen is the end of a process and the beginning of another.
func (w *world) reopen(ctx context.Context) error {
	if err := w.close(); err != nil {
		return err
	}
	return w.open(ctx, false)
}

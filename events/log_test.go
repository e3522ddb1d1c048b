package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// modelLog is what a run-event log is, said as plainly as possible.
type modelLog []RunEvent

func (m *modelLog) emit(recs []Record) {
next:
	for _, rec := range recs {
		var seq int64
		for _, ev := range *m {
			if ev.Tenant == rec.Tenant && ev.RunID == rec.RunID {
				if ev.ID == rec.ID {
					continue next
				}
				seq++
			}
		}
		*m = append(*m, RunEvent{rec, seq})
	}
}

func (m modelLog) events(tenant, run string) (out []RunEvent) {
	for _, ev := range m {
		if ev.Tenant == tenant && ev.RunID == run {
			out = append(out, ev)
		}
	}
	return out
}

// someBatch makes records whose tenants, runs and ids are few, so that ids repeat
// within a batch, over batches, over runs and over tenants. An id has one payload.
func someBatch(rng *rand.Rand) []Record {
	recs := make([]Record, 1+rng.IntN(4))
	for i := range recs {
		n := rng.IntN(12)
		recs[i] = record(fmt.Sprint("e", n), fmt.Sprint("t", rng.IntN(2)), fmt.Sprint("r", rng.IntN(3)), full[n%len(full)])
	}
	return recs
}

// E3: sequences without a gap from 0 for each run, an id once, redelivery changes
// nothing, and one bad record keeps its whole call out.
func TestE3_LogAgainstModel(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var log Log
		var model modelLog
		for range 20 {
			recs := someBatch(rng)
			if rng.IntN(5) == 0 {
				recs[rng.IntN(len(recs))].RunID = ""
				wantInvalid(t, log.Emit(t.Context(), recs...), "/runId")
				continue
			}
			for range 1 + rng.IntN(2) {
				if err := Emit(t.Context(), &log, recs...); err != nil {
					t.Fatal(err)
				}
				model.emit(recs)
			}
		}
		equal(t, fmt.Sprint("all events, seed ", seed), log.All(), []RunEvent(model))
		for tenant := range 3 {
			for run := range 4 {
				tenant, run := fmt.Sprint("t", tenant), fmt.Sprint("r", run)
				equal(t, "events of a run", log.Events(tenant, run), model.events(tenant, run))
			}
		}
	}
}

// E3: an id that comes again with another payload is an error, and its call leaves nothing,
// whether the log or the call itself has the first. The log goes on.
func TestE3_AnIDOfAnotherPayloadIsAnError(t *testing.T) {
	log := new(Log)
	emit := func(recs ...Record) error { return Emit(t.Context(), log, recs...) }
	first := record("e", "t", "r", full[0])
	if err := emit(first, first); err != nil {
		t.Fatal(err)
	}
	for _, other := range append(slices.Clone(full[1:]), minimal...) {
		if err := emit(record("new", "t", "r", full[1]), record("e", "t", "r", other)); !errors.Is(err, ErrTaken) {
			t.Fatalf("%T: %v", other, err)
		}
		if err := emit(record("new", "t", "r", full[0]), record("new", "t", "r", other)); !errors.Is(err, ErrTaken) {
			t.Fatalf("%T twice: %v", other, err)
		}
	}
	later := first
	later.Time = later.Time.Add(time.Hour)
	if err := emit(later, record("e", "t", "r2", full[1]), record("e", "t2", "r", full[1]), record("last", "t", "r", full[1])); err != nil {
		t.Fatal(err)
	}
	evs, err := log.Read(t.Context(), "t", "r", 0, 0)
	if err != nil || len(evs) != 2 || !evs[0].Time.Equal(first.Time) || evs[1].ID != "last" {
		t.Fatal(evs, err)
	}
}

func TestE3_LogConcurrent(t *testing.T) {
	var log Log
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 50 {
				_ = Emit(t.Context(), &log, record(fmt.Sprint(worker, "-", i/2), "t", "r", full[0]))
				_ = log.Events("t", "r")
			}
		})
	}
	wg.Wait()
	evs := log.Events("t", "r")
	equal(t, "number of events", len(evs), 100)
	for i, ev := range evs {
		equal(t, "sequence", ev.Sequence, int64(i))
	}
}

func TestLogCopies(t *testing.T) {
	var log Log
	for i, p := range full {
		src := record(fmt.Sprint(i), "t", "r", p).Clone()
		if err := log.Emit(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		spoil(src.Payload)
		spoil(log.Events("t", "r")[i].Payload)
		spoil(log.All()[i].Payload)
	}
	for i, ev := range log.Events("t", "r") {
		equal(t, "payload", ev.Payload, full[i])
	}
}

// spoil changes everything that a payload shares with its copies.
func spoil(p Payload) {
	switch p := p.(type) {
	case MemoryCompacted:
		p.SourceIDs[0] = "spoilt"
		*p.Distillation.IndexUpdated = false
		p.Distillation.TokensUsed = 0
	case MemoryConsolidated:
		p.MergedIDs[0] = "spoilt"
	case ProposalCreated:
		p.SourceRunIDs[0] = "spoilt"
	}
}

func TestLogDoneContext(t *testing.T) {
	var log Log
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Emit(ctx, &log, record("1", "t", "r", full[0])); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	equal(t, "events", len(log.All()), 0)
}

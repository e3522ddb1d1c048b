package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
)

// queue is where the host starts runs.
type queue struct {
	mu      sync.Mutex
	started []commitment.Firing
}

// Enqueue starts the run of a firing. A process that died may have asked for it before, so that one
// key is one run: here the key is the run's id.
func (q *queue) Enqueue(_ context.Context, f commitment.Firing) (runID string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.started = append(q.started, f)
	return f.Key, nil
}

func (s *story) commitment(ctx context.Context) (err error) {
	monday := time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)
	hits, err := s.host.bank.Search(ctx, acme, ref, memory.Search{Text: "call back on Monday", Subject: "customer:lena", Limit: 1})
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		return errors.New("no note says what was promised")
	}
	err = s.host.pass(ctx, acme, func(job *memory.Job) error {
		_, err := s.host.commitments.Arm(ctx, job, commitment.Source{Ref: ref, MemoryID: hits[0].Entry.ID}, commitment.Arm{At: monday})
		return err
	})
	if err != nil {
		return err
	}
	s.row("memory has", "%s", quote(hits[0].Entry.Content))
	s.row("armed by the host", "for %s (a model can read the day from the note)", monday.Format("Monday, 2 January 15:04"))
	s.row("two workers", "(two banks, each with a store of its own over the file) poll for what is due")

	other, err := s.boot(ctx) // a second process, over the same store
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, other.close()) }()
	for _, at := range []time.Time{monday.Add(-time.Second), monday, monday.Add(24 * time.Hour)} {
		s.now = at
		if err := fiveRounds(ctx, s.host, other); err != nil {
			return err
		}
		s.row(at.Format("Mon 15:04:05"), "each polls five times, both at once; runs started so far: %d", len(s.queue.started))
	}
	if len(s.queue.started) != 1 {
		return fmt.Errorf("%d runs were started", len(s.queue.started))
	}
	firing := s.queue.started[0]
	note, err := s.host.bank.Reader(firing.Tenant).Get(ctx, firing.Ref, firing.MemoryID)
	if err != nil {
		return err
	}
	s.row("the run reads", "%s", quote(note.Content))
	return nil
}

// fiveRounds lets processes look five times for what is due, all at once.
func fiveRounds(ctx context.Context, processes ...*process) error {
	var all sync.WaitGroup
	errs := make([]error, len(processes))
	for i, p := range processes {
		all.Go(func() {
			for range 5 {
				_, err := p.bank.Maintain(ctx)
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// runs is the host's queue: it starts one run for a key, however often it is asked.
type runs struct {
	mu    sync.Mutex
	byKey map[string]string
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[f.Key] == "" {
		r.byKey[f.Key] = fmt.Sprintf("due-%d", len(r.byKey)+1)
	}
	return r.byKey[f.Key], nil
}

// commitments infers what the tags of the notes intend, and lets three of it come true.
func (h *host) commitments(ctx context.Context) error {
	h.title("Commitments")
	queue := &runs{byKey: map[string]string{}}
	open := func() (*commitment.Engine, error) {
		return commitment.New(h.bank, commitment.Config{
			Enqueuer:  queue,
			Redactor:  func(_ context.Context, tenant string) (memory.Redactor, error) { return vault(tenant) },
			Predicate: func(_, name string) bool { return true }, // a host would look it up
		})
	}
	engine, err := open()
	if err != nil {
		return err
	}
	h.wired.Commitments = engine
	job, err := h.background(acme, "infer")
	if err != nil {
		return err
	}
	found, err := engine.Infer(ctx, job, acmeRef)
	if err != nil {
		return err
	}
	if err := job.End(ctx); err != nil {
		return err
	}
	why := map[commitment.Why]int{}
	for _, u := range found.Unread {
		why[u.Why]++
	}
	h.say("%d armed. Not armed: %d whose instant has passed, %d that could not be read.",
		len(found.Armed), why[commitment.WhyPast], len(found.Unread)-why[commitment.WhyPast])

	byTime := slices.DeleteFunc(slices.Clone(found.Armed), func(c commitment.Commitment) bool { return c.Due.IsZero() })
	slices.SortFunc(byTime, func(a, b commitment.Commitment) int { return a.Due.Compare(b.Due) })
	if i := slices.IndexFunc(byTime, func(c commitment.Commitment) bool { return c.Arm.Every > 0 }); i >= 0 {
		if _, err := engine.Cancel(ctx, acme, byTime[i].ID); err != nil {
			return err
		}
		h.say("Canceled, although it recurs: every %s from %s", byTime[i].Arm.Every, byTime[i].Due.Format("2006-01-02 15:04"))
		byTime = slices.Delete(byTime, i, i+1)
	}
	for _, c := range byTime[:min(2, len(byTime))] {
		h.now = c.Due
		if err := h.round(ctx); err != nil {
			return err
		}
		if err := h.sayFired(ctx, engine, c.ID); err != nil {
			return err
		}
	}
	for _, c := range found.Armed { // and by what the host sees
		if c.Arm.Predicate == "" {
			continue
		}
		for position := range int64(3) { // it looks three times, and sees the same
			if _, err := engine.Observe(ctx, commitment.Observation{Tenant: acme, Predicate: c.Arm.Predicate, Position: position, State: []byte("yes"), Holds: true}); err != nil {
				return err
			}
		}
		if err := h.round(ctx); err != nil {
			return err
		}
		if err := h.sayFired(ctx, engine, c.ID); err != nil {
			return err
		}
		break
	}
	return h.replayed(ctx, open, queue)
}

// round runs the host's one loop for one round, which fires what is due. A host that stays calls
// Keep in a goroutine.
func (h *host) round(ctx context.Context) error {
	_, err := h.bank.Maintain(ctx)
	return err
}

// sayFired shows a firing with what the run that it started reads in memory.
func (h *host) sayFired(ctx context.Context, engine *commitment.Engine, id string) error {
	for c, err := range engine.Commitments(ctx, acme) {
		if err != nil {
			return err
		}
		if c.ID != id {
			continue
		}
		note, err := h.bank.Reader(acme).Get(ctx, c.Ref, c.MemoryID)
		if err != nil {
			return err
		}
		h.say("  %s %-9s %s: %s", h.now.UTC().Format("2006-01-02 15:04"), c.Arm.Condition(), c.RunID, short(note.Content))
	}
	return nil
}

// replayed plays the firings' events back, and starts the host anew: nothing fires.
func (h *host) replayed(ctx context.Context, open func() (*commitment.Engine, error), queue *runs) error {
	var recorded []events.RunEvent
	for _, ev := range h.log.All() {
		if ev.Payload.EventType() == events.TypeCommitmentFired && !strings.HasPrefix(ev.RunID, "replay-") {
			recorded = append(recorded, ev)
		}
	}
	before := len(queue.byKey)
	if err := events.Emit(ctx, h.sink, events.Reemit(recorded, "replay-1")...); err != nil {
		return err
	}
	engine, err := open()
	if err != nil {
		return err
	}
	done, err := engine.Tick(ctx)
	if err != nil {
		return err
	}
	h.now = h.now.Add(-time.Hour) // a clock that steps back changes nothing
	again, err := engine.Tick(ctx)
	if err != nil {
		return err
	}
	h.say("%d fired. Replayed, and after a restart: %d fired, %d runs started.",
		len(recorded), done.Fired+again.Fired, len(queue.byKey)-before)
	return nil
}

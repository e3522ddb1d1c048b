package inspector

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// sample is what a tenant has at an instant.
type sample struct {
	At      time.Time `json:"at"`
	Entries int       `json:"entries"`
	Bytes   int       `json:"bytes"`
	// Waiting events are not with their sink yet, and Overdue commitments should have fired.
	Waiting int `json:"waiting"`
	Overdue int `json:"overdue"`
}

const (
	samplePause = 2 * time.Second // between two samples of a tenant
	ringLength  = 240
	mostRings   = 256
	// mostCounted entries are counted for one sample; a tenant that has more is shown with these.
	mostCounted = 100_000
)

// usages are the latest samples of each tenant that has asked lately.
type usages struct {
	mu    sync.Mutex
	rings map[string]*ring
}

type ring struct {
	next    time.Time // when the next sample may be taken
	samples []sample
}

// due tells whether it is time for a sample, which the caller then takes.
func (u *usages) due(tenant string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.rings[tenant]
	switch {
	case r != nil && now.Before(r.next):
		return false
	case r == nil:
		if len(u.rings) >= mostRings {
			oldest := tenant
			for t := range maps.Keys(u.rings) {
				if oldest == tenant || u.rings[t].next.Before(u.rings[oldest].next) {
					oldest = t
				}
			}
			delete(u.rings, oldest)
		}
		if u.rings == nil {
			u.rings = map[string]*ring{}
		}
		r = &ring{}
		u.rings[tenant] = r
	}
	r.next = now.Add(samplePause)
	return true
}

// add keeps a sample, if there is one, and returns those of the tenant, the oldest first.
func (u *usages) add(tenant string, taken ...sample) []sample {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.rings[tenant]
	if r == nil {
		return append([]sample{}, taken...) // so many tenants that this one's has gone
	}
	r.samples = append(r.samples, taken...)
	r.samples = r.samples[max(0, len(r.samples)-ringLength):]
	return append([]sample{}, r.samples...)
}

func (h *Handler) usage(q *request) (any, error) {
	if !h.usages.due(q.tenant, h.Bank.Now()) {
		return map[string]any{"samples": h.usages.add(q.tenant)}, nil
	}
	s, err := h.count(q)
	if err != nil {
		return nil, err
	}
	return map[string]any{"samples": h.usages.add(q.tenant, s)}, nil
}

// count takes a sample.
func (h *Handler) count(q *request) (s sample, err error) {
	s.At = h.Bank.Now()
	reader := h.Bank.Reader(q.tenant)
	for ref, err := range h.Bank.Refs(q, q.tenant) {
		if err != nil {
			return s, err
		}
		for o := (memory.ListOptions{Limit: memory.MaxListLimit}); s.Entries < mostCounted; {
			page, err := reader.List(q, ref, o)
			if err != nil {
				return s, err
			}
			for _, e := range page {
				s.Entries++
				s.Bytes += len(e.Content)
			}
			if len(page) < o.Limit {
				break
			}
			o.After = page[len(page)-1].Cursor()
		}
	}
	if h.Waiting != nil {
		s.Waiting, err = callHost(q, "the count of what waits", func(ctx context.Context) (int, error) { return h.Waiting(ctx, q.tenant, memory.DefaultMaxUndelivered) })
		if err != nil {
			return s, err
		}
	}
	if h.Commitments == nil {
		return s, nil
	}
	s.Overdue, err = callHost(q, theCommitments, func(ctx context.Context) (overdue int, err error) {
		for c, err := range h.Commitments(ctx, q.tenant) {
			if err != nil && c.ID == "" {
				return 0, err
			}
			if err == nil && !c.State.Final() && !c.Due.IsZero() && c.Due.Before(s.At) {
				overdue++
			}
		}
		return overdue, nil
	})
	return s, err
}

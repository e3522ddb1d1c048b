package inspector

import (
	"context"
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
	refs    map[string]int // the entries of each, of the latest sample
}

// of returns the ring of a tenant. The caller holds the lock.
func (u *usages) of(tenant string) *ring {
	r := u.rings[tenant]
	if r == nil {
		if u.rings == nil || len(u.rings) == mostRings { // so many tenants that all begin anew
			u.rings = map[string]*ring{}
		}
		r = &ring{}
		u.rings[tenant] = r
	}
	return r
}

// due tells whether it is time for a sample, which the caller then takes.
func (u *usages) due(tenant string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.of(tenant)
	if now.Before(r.next) {
		return false
	}
	r.next = now.Add(samplePause)
	return true
}

// add keeps a sample with the entries of each ref, if there is one, and returns the samples of the
// tenant, the oldest first, with the latest refs.
func (u *usages) add(tenant string, refs map[string]int, taken ...sample) map[string]any {
	u.mu.Lock()
	defer u.mu.Unlock()
	r := u.of(tenant)
	if refs != nil {
		r.refs = refs
	}
	r.samples = append(r.samples, taken...)
	r.samples = r.samples[max(0, len(r.samples)-ringLength):]
	return map[string]any{"samples": append([]sample{}, r.samples...), "refs": r.refs}
}

func (h *Handler) usage(q *request) (any, error) {
	if !h.usages.due(q.tenant, h.Bank.Now()) {
		return h.usages.add(q.tenant, nil), nil
	}
	refs := map[string]int{}
	s, err := h.count(q, refs)
	if err != nil {
		return nil, err
	}
	return h.usages.add(q.tenant, refs, s), nil
}

// count takes a sample, and the entries of each of the first refs.
func (h *Handler) count(q *request, refs map[string]int) (s sample, err error) {
	s.At = h.Bank.Now()
	job, err := h.job(q)
	if err != nil {
		return s, err
	}
	for ref, err := range h.Bank.Refs(q, q.tenant) {
		if err != nil {
			return s, err
		}
		for e, err := range job.Scan(q, ref) {
			if err != nil {
				return s, err
			}
			if s.Entries == mostCounted {
				break
			}
			s.Entries++
			s.Bytes += len(e.Content)
			if len(refs) < mostRefs || refs[ref] > 0 {
				refs[ref]++
			}
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

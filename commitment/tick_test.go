package commitment_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// armFor arms n instants for a tenant, from the given one on.
func (h *host) armFor(tenant string, n int, from time.Duration) {
	h.t.Helper()
	e, err := h.job(tenant).Put(ctx, "ref", memory.Draft{Content: "x"})
	require.NoError(h.t, err)
	for i := range n {
		_, err := h.Arm(ctx, h.job(tenant), commitment.Source{Ref: "ref", MemoryID: e.ID}, in(from+time.Duration(i)*time.Millisecond))
		require.NoError(h.t, err)
	}
}

// enqueuer is one that is a function.
type enqueuer func(ctx context.Context, f commitment.Firing) (string, error)

func (e enqueuer) Enqueue(ctx context.Context, f commitment.Firing) (string, error) {
	return e(ctx, f)
}

// A tenant for which no run can be started, though it has more due than a tick reads at a
// time and had it due first, does not keep the others from firing, also not what comes due
// while it hangs.
func TestASlowTenantHoldsUpItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const others, each, slow = 40, 5, 1000
		h := newHost(t)
		h.armFor("slow", slow, time.Hour)
		for i := range others {
			h.armFor(fmt.Sprint("t", i), each, 2*time.Hour)
		}
		h.armFor("late", each, 3*time.Hour)
		h.clock.Advance(2*time.Hour + 10*time.Minute)

		var fired, hung atomic.Int32
		free := make(chan struct{})
		h.restart(func(c *commitment.Config) {
			c.Lease = 24 * time.Hour
			c.Enqueuer = enqueuer(func(_ context.Context, f commitment.Firing) (string, error) {
				switch {
				case f.Tenant == "slow":
					hung.Add(1)
					select {
					case <-free:
					case <-time.After(time.Hour): // of the bubble
						t.Error("the others wait")
						close(free)
					}
				case fired.Add(1) == others*each:
					h.clock.Advance(time.Hour)
				case fired.Load() == (others+1)*each && !t.Failed():
					require.Equal(t, int32(1), hung.Load())
					close(free)
				}
				return "run-" + f.Key, nil
			})
		})
		done, err := h.Tick(ctx)
		require.NoError(t, err)
		require.Equal(t, commitment.Ticked{Fired: slow + (others+1)*each}, counts(t, done))
	})
}

// A tick has the secrets of eight tenants open at most, each once, and none when it is over.
func TestR6_SecretsAreOpenWhileTheyAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tenants = 50
		h := newHost(t)
		for i := range tenants {
			h.armFor(fmt.Sprint("t", i), 3, time.Hour)
		}
		h.clock.Advance(2 * time.Hour)
		var mu sync.Mutex
		open, most, opened := 0, 0, map[string]int{}
		h.restart(func(c *commitment.Config) {
			c.Redactor = func(_ context.Context, tenant string) (memory.Redactor, error) {
				mu.Lock()
				defer mu.Unlock()
				opened[tenant]++
				open++
				most = max(most, open)
				return closer{func() {
					mu.Lock()
					defer mu.Unlock()
					open--
				}}, nil
			}
			c.Enqueuer = enqueuer(func(_ context.Context, f commitment.Firing) (string, error) {
				time.Sleep(time.Millisecond) // of the bubble: the others come to their turn
				return "run-" + f.Key, nil
			})
		})
		require.Equal(t, 3*tenants, h.tick().Fired)
		require.Equal(t, 8, most)
		require.Zero(t, open)
		require.Len(t, opened, tenants)
		for _, n := range opened {
			require.Equal(t, 1, n)
		}
	})
}

type closer struct{ close func() }

func (closer) Redact(text string) (string, error)        { return text, nil }
func (closer) RedactDerived(text string) (string, error) { return text, nil }
func (c closer) Close() error                            { c.close(); return nil }

// A tick whose context ends on the way closes what it has opened.
func TestR6_ATickThatIsCutOffClosesItsRegistries(t *testing.T) {
	h := newHost(t)
	h.armFor("acme", 1, time.Hour)
	h.clock.Advance(2 * time.Hour)
	cut, cancel := context.WithCancel(ctx)
	closed := 0
	h.restart(func(c *commitment.Config) {
		c.Redactor = func(context.Context, string) (memory.Redactor, error) { return closer{func() { closed++ }}, nil }
		c.Enqueuer = enqueuer(func(context.Context, commitment.Firing) (string, error) {
			cancel()
			return "", context.Canceled
		})
	})
	_, err := h.Tick(cut)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, closed)
}

// A redactor that is called in place and ends its goroutine ends no more than the work on its tenant.
func TestATickEndsThoughARedactorEndsItsGoroutine(t *testing.T) {
	h := newHost(t)
	h.armFor("acme", 1, time.Hour)
	h.armFor("globex", 1, time.Hour)
	h.clock.Advance(2 * time.Hour)
	closed := 0
	h.restart(func(c *commitment.Config) {
		c.Redactor = func(_ context.Context, tenant string) (memory.Redactor, error) {
			if tenant == "acme" {
				return leaver{closer{func() { closed++ }}}, nil
			}
			return closer{func() {}}, nil
		}
	})
	over := make(chan commitment.Ticked, 1)
	go func() {
		done, _ := h.Tick(ctx)
		over <- done
	}()
	select {
	case done := <-over:
		require.Equal(t, 1, done.Fired)
		require.Equal(t, 1, closed)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the tick hangs")
	}
}

type leaver struct{ closer }

func (leaver) Inline() bool { return true }
func (leaver) Redact(string) (string, error) {
	runtime.Goexit()
	return "", nil
}

// A tick that takes as long as a lease begins nothing more, and the next goes on.
func TestATickEnds(t *testing.T) {
	h := newHost(t)
	h.armFor("acme", 10, time.Hour)
	h.clock.Advance(2 * time.Hour)
	h.restart(func(c *commitment.Config) {
		c.Enqueuer = enqueuer(func(_ context.Context, f commitment.Firing) (string, error) {
			h.clock.Advance(commitment.DefaultLease / 3)
			return "run-" + f.Key, nil
		})
	})
	for _, want := range []int{4, 4, 2, 0} {
		require.Equal(t, want, h.tick().Fired)
	}
}

// However many commitments this process cannot read, what comes due after them fires.
func TestWhatCannotBeReadStarvesNothing(t *testing.T) {
	h := newHost(t)
	var swaps []driver.DocumentSwap
	for i := range 20_000 { // more than a tick reads at a time while tenants are slow
		value := `{"format":2}`
		if i%2 > 0 {
			value = "damaged"
		}
		swaps = append(swaps, driver.DocumentSwap{Document: driver.Document{
			Scope: memory.Scope{Tenant: fmt.Sprint("t", i%3)}, Kind: commitment.DocumentKind, Key: fmt.Sprint("cmt_", i),
			Due: epoch.Add(time.Minute), Value: []byte(value),
		}})
	}
	for t3 := range 3 {
		var own []driver.DocumentSwap
		for i := t3; i < len(swaps); i += 3 {
			own = append(own, swaps[i])
		}
		for chunk := range slices.Chunk(own, 500) {
			_, err := h.store.(*audit).store.Apply(ctx, fmt.Sprint("t", t3), driver.Mutation{Documents: chunk})
			require.NoError(t, err)
		}
	}
	h.armFor("acme", 3, time.Hour)
	h.clock.Advance(2 * time.Hour)
	done, err := h.Tick(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, commitment.Ticked{Fired: 3}, counts(t, done))
}

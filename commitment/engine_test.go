package commitment_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// plain hides everything but the four operations of a store.
type plain struct{ driver.Adapter }

func TestNewRefuses(t *testing.T) {
	bank, err := memory.New(inmem.New(), memory.Config{})
	require.NoError(t, err)
	poor, err := memory.New(plain{inmem.New()}, memory.Config{})
	require.NoError(t, err)
	blind, err := memory.New(struct{ driver.Transactor }{inmem.New()}, memory.Config{})
	require.NoError(t, err)
	good := commitment.Config{Redactor: func(context.Context, string) (memory.Redactor, error) { return vault{}, nil }}
	with := func(change func(*commitment.Config)) commitment.Config {
		c := good
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		bank *memory.Bank
		cfg  commitment.Config
		want error
	}{
		"no bank":       {nil, good, memory.ErrValidation},
		"no redactor":   {bank, with(func(c *commitment.Config) { c.Redactor = nil }), memory.ErrValidation},
		"below zero":    {bank, with(func(c *commitment.Config) { c.Lease = -1 }), memory.ErrValidation},
		"odd policy":    {bank, with(func(c *commitment.Config) { c.Missed = "later" }), memory.ErrValidation},
		"no transactor": {poor, good, memory.ErrNotProvided},
		"no scheduler":  {blind, good, memory.ErrNotProvided},
	} {
		_, err := commitment.New(c.bank, c.cfg)
		require.ErrorIs(t, err, c.want, name)
	}
	e, err := commitment.New(bank, good)
	require.NoError(t, err)
	require.Equal(t, []events.Condition{"time"}, e.Conditions())
	require.Equal(t, []events.Condition{"time", "predicate"}, newHost(t).Conditions())
}

// R6: a pass opens the tenant's secrets, closes them, and without them does nothing.
func TestASecretSourceThatFails(t *testing.T) {
	h := newHost(t)
	c := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	for _, open := range []func(context.Context, string) (memory.Redactor, error){
		func(context.Context, string) (memory.Redactor, error) { return nil, errors.New("vault: hunter2") },
		func(context.Context, string) (memory.Redactor, error) { return nil, nil },
	} {
		h.restart(func(c *commitment.Config) { c.Redactor = open })
		done, err := h.Tick(ctx)
		require.ErrorIs(t, err, memory.ErrSecretLeakage)
		require.NotContains(t, err.Error(), "hunter2")
		require.Equal(t, commitment.Ticked{Failed: 1}, done)
		require.Equal(t, commitment.Claimed, h.get(c).State)
		require.Zero(t, h.get(c).Claim.Tries, "that is no try of a delivery")
		h.clock.Advance(time.Hour)
	}
	h.arm(h.note("y"), in(4*time.Hour))
	h.clock.Advance(2 * time.Hour)
	opened, closed := 0, new(atomic.Int32)
	h.restart(func(c *commitment.Config) {
		c.Redactor = func(context.Context, string) (memory.Redactor, error) {
			opened++
			return vault{closed: closed}, nil
		}
	})
	require.Equal(t, 2, h.tick().Fired)
	require.Equal(t, 1, opened, "once for a pass")
	require.Equal(t, int32(1), closed.Load())
	h.tick()
	require.Equal(t, 1, opened, "an idle tick opens nothing")
}

// An outage of memory kills nothing, and holds up nothing for longer than it lasts.
func TestAnOutageOfMemoryIsNoTry(t *testing.T) {
	s := &blindLookup{store: inmem.New()}
	h := newHostOn(t, s, func(c *commitment.Config) { c.GiveUpAfter = time.Second })
	armed := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	s.blind = true
	for range 10 {
		_, err := h.Tick(ctx)
		require.ErrorIs(t, err, memory.ErrInternal)
		h.clock.Advance(time.Hour)
	}
	s.blind = false
	require.Equal(t, 1, h.tick().Fired)
	require.Equal(t, commitment.Acknowledged, h.get(armed).State)
}

// blindLookup is a store that keeps documents and cannot find entries.
type blindLookup struct {
	store
	blind bool
}

func (s *blindLookup) Lookup(ctx context.Context, sc driver.Scope, ids []string) ([]driver.Record, error) {
	if s.blind {
		return nil, errCrash
	}
	return s.store.Lookup(ctx, sc, ids)
}

// One commitment's trouble is not another's.
func TestTroubleWithOneHoldsUpNoOther(t *testing.T) {
	h := newHost(t)
	s := h.note("x")
	for i := range 600 { // more than a tick reads at a time
		h.arm(s, in(time.Hour+time.Duration(i)*time.Millisecond))
	}
	last := h.arm(s, in(time.Hour+time.Minute))
	h.queue.fail = func(f commitment.Firing) error {
		if f.CommitmentID != last.ID {
			return errors.New("no")
		}
		return nil
	}
	h.clock.Advance(2 * time.Hour)
	require.Equal(t, commitment.Ticked{Fired: 1, Failed: 600}, h.tick())
}

func TestTheEnqueuerHasADeadline(t *testing.T) {
	h := newHost(t, func(c *commitment.Config) { c.Lease = 20 * time.Second; c.Enqueuer = deadline{t} })
	h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	require.Equal(t, 1, h.tick().Fired)
}

type deadline struct{ t *testing.T }

func (d deadline) Enqueue(ctx context.Context, _ commitment.Firing) (string, error) {
	at, ok := ctx.Deadline()
	require.True(d.t, ok)
	require.LessOrEqual(d.t, time.Until(at), 10*time.Second)
	return "run", nil
}

// Errors say which rule, and nothing else (M2).
func TestErrorsHoldNoText(t *testing.T) {
	h := newHost(t)
	s := h.note("x")
	h.store = brokenStore{h.store}
	h.restart()
	var all []error
	_, err := h.Arm(ctx, h.job("acme"), s, in(time.Hour))
	all = append(all, err)
	_, err = h.Tick(ctx)
	all = append(all, err)
	_, err = h.Cancel(ctx, "acme", "cmt_x")
	all = append(all, err)
	_, err = h.Infer(ctx, h.job("acme"), "ref")
	all = append(all, err)
	_, err = h.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: 1, State: nil, Holds: true})
	all = append(all, err)
	for _, err := range h.Commitments(ctx, "acme") {
		all = append(all, err)
	}
	require.Len(t, all, 6)
	for _, err := range all {
		require.ErrorIs(t, err, memory.ErrInternal)
		require.ErrorIs(t, err, errCrash, "reachable by Unwrap")
		require.Equal(t, memory.CodeInternal, memory.CodeOf(err))
		require.NotContains(t, err.Error(), "gone")
	}
}

// brokenStore fails at every document.
type brokenStore struct{ store }

func (s brokenStore) Apply(context.Context, string, driver.Mutation) (driver.Applied, error) {
	return driver.Applied{}, errCrash
}

func (s brokenStore) Due(context.Context, string, time.Time, int) ([]driver.Document, error) {
	return nil, errCrash
}

func (s brokenStore) Documents(context.Context, driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) { yield(driver.Document{}, errCrash) }
}

// Many engines at once on one store: every claim once, every key one run. Run it with
// the race detector.
func TestK2_ConcurrentEngines(t *testing.T) {
	store := newAudit(inmem.New())
	h := newHostOn(t, store)
	s := h.note("x")
	const n = 200
	for i := range n {
		h.arm(s, in(time.Hour+time.Duration(i)*time.Millisecond))
	}
	h.arm(s, signed)
	h.clock.Advance(2 * time.Hour)
	var wg sync.WaitGroup
	for range 8 {
		other := *h
		other.restart()
		wg.Go(func() {
			for i := range int64(10) {
				_, err := other.Tick(ctx)
				require.NoError(t, err)
				_, err = other.Observe(ctx, commitment.Observation{Tenant: "acme", Predicate: "signed", Position: i, State: []byte{byte(i)}, Holds: true})
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	h.clock.Advance(time.Hour)
	h.tick()
	require.Empty(t, store.twice)
	require.Equal(t, len(store.claimed), len(h.queue.runs))
	require.GreaterOrEqual(t, len(h.queue.runs), n+1)
	require.Equal(t, len(h.queue.runs), len(fired(h.log)))
}

// What was canceled while a process held it that then died does not fire: the next one
// lets it lapse.
func TestK6_CanceledWhileItsProcessDied(t *testing.T) {
	c := &crasher{}
	h := newHostOn(t, crashing{newAudit(inmem.New()), c})
	armed := h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	c.set(2, true) // after it has claimed
	_, err := h.Tick(ctx)
	require.ErrorIs(t, err, errCrash)
	c.set(0, false)
	h.restart()
	got, err := h.Cancel(ctx, "acme", armed.ID)
	require.NoError(t, err)
	require.True(t, got.Canceled)
	require.Equal(t, commitment.Claimed, got.State)
	h.clock.Advance(time.Hour)
	require.Equal(t, commitment.Ticked{Lapsed: 1}, h.tick())
	require.Equal(t, commitment.ReasonCanceled, h.get(armed).Reason)
	require.Empty(t, h.queue.calls)
	require.Empty(t, fired(h.log))
}

// A ref of another tenant cannot be told from one that no tenant has, nor a malformed one by
// reading.
func TestCTI1_AForeignRefIsAnUnknownOne(t *testing.T) {
	h := newHost(t)
	h.restartWith(memory.Config{Sink: h.log, Resolver: func(_ context.Context, ref string) (string, error) {
		switch ref {
		case "ref":
			return "acme", nil
		case "theirs":
			return "globex", nil
		}
		return "", memory.ErrNotFound
	}})
	e, err := h.job("globex").Put(ctx, "theirs", memory.Draft{Content: "call", Tags: []string{"every:24h"}})
	require.NoError(t, err)
	_, err = h.Infer(ctx, h.job("globex"), "theirs")
	require.NoError(t, err)
	before := h.store.(*audit).applied
	of := func(ref string) (read, write string) {
		done, err := h.Infer(ctx, h.job("acme"), ref)
		require.NoError(t, err)
		require.Empty(t, done)
		_, err = h.Arm(ctx, h.job("acme"), commitment.Source{Ref: ref, MemoryID: e.ID}, in(time.Hour))
		require.ErrorIs(t, err, memory.ErrNotFound)
		read = err.Error()
		_, err = h.Arm(ctx, h.job("acme"), commitment.Source{Ref: ref}, in(time.Hour))
		require.Error(t, err)
		return read, err.Error()
	}
	read, write := of("theirs")
	for _, ref := range []string{"nobody's", "a/../b"} {
		r, w := of(ref)
		require.Equal(t, read, r)
		if ref == "nobody's" {
			require.Equal(t, write, w)
		}
	}
	_, err = h.Arm(ctx, h.job("acme"), commitment.Source{Ref: "theirs"}, in(time.Hour))
	require.ErrorIs(t, err, memory.ErrForbidden)
	require.Equal(t, before, h.store.(*audit).applied)
}

// A ref that is not the tenant's any more has nothing to fire for, also without an entry.
func TestK6_ARefThatWasGivenAway(t *testing.T) {
	owner := "acme"
	h := newHost(t)
	h.restartWith(memory.Config{Sink: h.log, Resolver: func(context.Context, string) (string, error) { return owner, nil }})
	bare, noted := h.arm(commitment.Source{Ref: "ref"}, in(time.Hour)), h.arm(h.note("x"), in(time.Hour))
	h.clock.Advance(time.Hour)
	owner = "globex"
	require.Equal(t, commitment.Ticked{Lapsed: 2}, h.tick())
	require.Equal(t, commitment.ReasonGone, h.get(bare).Reason)
	require.Equal(t, commitment.ReasonGone, h.get(noted).Reason)
	require.Empty(t, h.queue.calls)
	require.Empty(t, h.log.All())
}

// SR-1: no identifier of a commitment holds a secret, however JSON writes it.
func TestK8_SecretsInIdentifiers(t *testing.T) {
	for _, secret := range []string{"hunter2-hunter2", `hun"ter2<\>`, "Europe/Berlin"} {
		h := newHost(t)
		s := h.note("x")
		job, err := h.bank.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: vault{secret: secret}})
		require.NoError(t, err)
		h.restart(func(c *commitment.Config) {
			c.Schedule = func(string) (commitment.Schedule, error) { return hourly{}, nil }
		})
		refused := 0
		for _, try := range []struct {
			s commitment.Source
			a commitment.Arm
		}{
			{commitment.Source{Ref: "ref/" + secret}, in(time.Hour)},
			{s, commitment.Arm{Spec: "at " + secret}},
			{s, commitment.Arm{Predicate: secret}},
		} {
			_, err := h.Arm(ctx, job, try.s, try.a)
			require.Error(t, err)
			require.NotContains(t, err.Error(), secret)
			if errors.Is(err, memory.ErrSecretLeakage) {
				refused++
			}
		}
		require.GreaterOrEqual(t, refused, 2, "the ref and the schedule at least; other names cannot hold every secret")
		for range h.Commitments(ctx, "acme") {
			t.Fatal("something was armed")
		}
		_, err = h.Arm(ctx, job, s, commitment.Arm{Spec: "hourly"})
		require.NoError(t, err)
	}
}

type hourly struct{}

func (hourly) Next(t time.Time) time.Time { return t.Add(time.Hour) }

package memory_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// wild is a redactor that panics once it has been let loose.
type wild struct {
	*vault
	loose *bool
}

func (w wild) Redact(text string) (string, error) {
	if *w.loose {
		panic("canary-of-the-redactor " + text)
	}
	return w.vault.Redact(text)
}

func (w wild) Close() error {
	if *w.loose {
		panic("closing")
	}
	return nil
}

// What a host plugs in may panic: the call fails, names the part, and nothing is half done.
func TestPluginsThatPanicAreContained(t *testing.T) {
	loose := false
	log := new(events.Log)
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(ctx context.Context, recs ...events.Record) error {
			if loose {
				panic("sink")
			}
			return log.Emit(ctx, recs...)
		})
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if ref == "panics" {
				panic("resolver")
			}
			return "acme", nil
		}
	})
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: wild{newVault(), &loose}})
	require.NoError(t, err)
	put(t, run, "m", "kept")
	require.Equal(t, []string{"kept"}, contents(t, run.Memory(), "m"))
	_, err = h.Reader("acme").List(ctx, "panics", memory.ListOptions{})
	require.ErrorIs(t, err, memory.ErrInternal, "nobody takes the ref for an empty one")
	_, err = run.Put(ctx, "panics", memory.Draft{Content: "x"})
	require.ErrorIs(t, err, memory.ErrInternal)

	loose = true
	_, err = run.Put(ctx, "m", memory.Draft{Content: "lost"})
	require.ErrorIs(t, err, memory.ErrInternal, "it fails closed")
	require.NotContains(t, err.Error(), "lost")
	require.NotContains(t, err.Error(), "canary")
	require.ErrorContains(t, err, "the redactor panicked")
	_, err = h.Scrub(ctx, "acme", wild{newVault("k", "kept"), &loose})
	require.ErrorContains(t, err, "the redactor panicked")
	relayed, err := h.Relay(ctx)
	require.ErrorIs(t, err, memory.ErrInternal)
	require.Equal(t, 1, relayed.Waiting)
	require.ErrorContains(t, run.End(ctx), "the redactor did not close")
	loose = false
	require.Equal(t, []string{"kept"}, contents(t, h.Reader("acme"), "m"))
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	require.Len(t, log.Events("acme", "r"), 1)
}

// A sink or a resolver that hangs is given up after its time.
func TestPluginsThatHangAreContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		h := newHost(t, func(c *memory.Config) {
			c.Sink = sinkFunc(func(context.Context, ...events.Record) error { <-gate; return nil })
			c.Resolver = func(_ context.Context, ref string) (string, error) {
				if ref == "hangs" {
					<-gate
				}
				return "acme", nil
			}
		})
		put(t, h.run("r", "acme"), "m", "x")
		_, err := h.Relay(ctx)
		require.ErrorIs(t, err, memory.ErrInternal)
		waiting, err := h.store.(interface {
			Waiting(context.Context, string, int) (int, error)
		}).Waiting(ctx, "acme", 10)
		require.NoError(t, err)
		require.Equal(t, 1, waiting)
		_, err = h.run("r", "acme").Put(ctx, "hangs", memory.Draft{Content: "x"})
		require.ErrorIs(t, err, memory.ErrInternal)
		_, err = h.Reader("acme").Get(ctx, "hangs", "mem_x")
		require.ErrorIs(t, err, memory.ErrInternal)
	})
}

// A resolver that cannot look is not taken for one that does not know a ref, and its text
// goes no further (M2).
func TestM1_AResolverThatCannotLookIsNoAbsence(t *testing.T) {
	var answer func() (string, error)
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) { return answer() }
	})
	known := func() (string, error) { return "acme", nil }
	answer = known
	e := put(t, h.job("acme"), "m", "x")
	token, err := h.run("r", "acme").Token(ctx)
	require.NoError(t, err)
	calls := map[string]func() error{
		"list":   func() error { _, err := h.Reader("acme").List(ctx, "m", memory.ListOptions{}); return err },
		"get":    func() error { _, err := h.Reader("acme").Get(ctx, "m", e.ID); return err },
		"search": func() error { _, err := h.Search(ctx, "acme", "m", memory.Search{}); return err },
		"trace":  func() error { _, err := h.Lineage(ctx, "acme", "m", e.ID); return err },
		"put":    func() error { _, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "y"}); return err },
		"delete": func() error { _, err := h.job("acme").Delete(ctx, "m", e.ID); return err },
		"rewrite": func() error {
			_, err := h.job("acme").Rewrite(ctx, "m", memory.Rewrite{Expect: []string{e.ID}})
			return err
		},
		"as of": func() error {
			r, err := h.AsOf(ctx, "acme", token)
			require.NoError(t, err)
			_, err = r.Get(ctx, "m", e.ID)
			return err
		},
		"swap": func() error {
			_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Kind: "k", Key: "k"}})
			return err
		},
		"scan": func() error {
			for _, err := range h.job("acme").Scan(ctx, "m") {
				return err
			}
			return nil
		},
	}
	for name, down := range map[string]func() (string, error){
		"a plain error":         func() (string, error) { return "", errors.New("dial directory-7: refused") },
		"a context of its own":  func() (string, error) { return "", context.DeadlineExceeded },
		"a refusal":             func() (string, error) { return "acme", fmt.Errorf("directory-7: %w", memory.ErrForbidden) },
		"a panic":               func() (string, error) { panic("directory-7") },
		"the end of its thread": func() (string, error) { runtime.Goexit(); return "", nil },
	} {
		for call, do := range calls {
			answer = down
			err := do()
			require.ErrorIs(t, err, memory.ErrInternal, "%s: %s", name, call)
			require.NotErrorIs(t, err, memory.ErrNotFound)
			require.ErrorContains(t, err, "the resolver ")
			require.NotContains(t, err.Error(), "directory")
		}
	}
	for name, absent := range map[string]func() (string, error){
		"not found":      func() (string, error) { return "", fmt.Errorf("directory-7: %w", memory.ErrNotFound) },
		"nobody's":       func() (string, error) { return "", nil },
		"another's":      func() (string, error) { return "globex", nil },
		"no tenant ever": func() (string, error) { return "ac\x00me", nil },
	} {
		answer = absent
		require.NoError(t, calls["list"](), name)
		require.NoError(t, calls["scan"](), name)
		require.ErrorIs(t, calls["get"](), memory.ErrNotFound, name)
		require.NoError(t, calls["trace"](), name)
		for _, write := range []string{"put", "delete", "rewrite", "swap"} {
			require.EqualError(t, calls[write](), "memory: not allowed: the memoryRef is not the tenant's", name)
		}
	}
	answer = known
	require.NoError(t, calls["get"]())
}

// Nothing of a plug-in that panics or hangs is half done, and the error says which it was.
func TestPluginsThatHangAreContained_Redactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		h := newHost(t)
		stuck := &hanging{vault: newVault(), gate: gate}
		run, err := h.Background(memory.JobConfig{ID: "r", Tenant: "acme", Redactor: stuck})
		require.NoError(t, err)
		put(t, run, "m", "kept")
		for _, on := range []string{"a word that hangs", "acme"} {
			stuck.on.Store(&on)
			_, err = run.Put(ctx, "m", memory.Draft{Content: "a word that hangs"})
			require.ErrorIs(t, err, memory.ErrInternal)
			require.ErrorContains(t, err, "the redactor did not answer in time")
		}
		require.Equal(t, []string{"kept"}, contents(t, h.Reader("acme"), "m"))
		kept, closing := "kept", "close"
		stuck.on.Store(&kept)
		_, err = h.Scrub(ctx, "acme", stuck)
		require.ErrorContains(t, err, "the redactor")
		stuck.on.Store(&closing)
		require.ErrorContains(t, run.End(ctx), "the redactor did not close")
		require.Equal(t, []string{"kept"}, contents(t, h.Reader("acme"), "m"))
	})
}

// nth is a redactor that panics when it is called for the nth time.
type nth struct {
	*vault
	left int
}

func (r *nth) Redact(text string) (string, error) {
	if r.left--; r.left == 0 {
		panic("canary")
	}
	return r.vault.Redact(text)
}

func (r *nth) RedactDerived(text string) (string, error) {
	if r.left--; r.left == 0 {
		panic("canary")
	}
	return r.vault.RedactDerived(text)
}

// Wherever the redactor of a Scrub misbehaves, the next one ends as if nothing had happened: no
// entry was erased without its copy.
func TestM10_AScrubWhoseRedactorMisbehavesLosesNothing(t *testing.T) {
	whole := []string{"beside it", "tell nobody of [REDACTED:k]", "who knows of [REDACTED:k]"}
	for calls, done := 1, false; !done; calls++ {
		h := newHost(t)
		job := h.job("acme")
		for _, text := range []string{"tell nobody of " + secret, "beside it", "who knows of " + secret} {
			put(t, job, "m", text)
		}
		_, err := h.Scrub(ctx, "acme", &nth{newVault("k", secret), calls})
		if done = err == nil; !done {
			require.ErrorContains(t, err, "the redactor panicked")
			require.NotContains(t, err.Error(), "canary")
			_, err = h.Scrub(ctx, "acme", newVault("k", secret))
			require.NoError(t, err)
		}
		left := contents(t, h.Reader("acme"), "m")
		slices.Sort(left)
		require.Equal(t, whole, left, "call %d", calls)
	}
}

// hanging is a redactor that waits at a gate when it sees a text.
type hanging struct {
	*vault
	on   atomic.Pointer[string]
	gate chan struct{}
}

func (r *hanging) Redact(text string) (string, error) {
	if on := r.on.Load(); on != nil && text == *on {
		<-r.gate
	}
	return r.vault.Redact(text)
}

func (r *hanging) Close() error {
	if on := r.on.Load(); on != nil && *on == "close" {
		<-r.gate
	}
	return nil
}

// rankerFunc is a ranker made of a function.
type rankerFunc func(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error)

func (f rankerFunc) Version() string { return "test/1" }
func (f rankerFunc) Model() string   { return "" }
func (f rankerFunc) Rank(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	return f(ctx, v, q)
}

// A ranker that changes what it is asked gets past no filter, and ids that cannot be do not
// reach the store. When the caller gives up, that is what it is told.
func TestS1_RankersAreContained(t *testing.T) {
	var rank rankerFunc
	h := newHost(t, func(c *memory.Config) {
		c.Ranker = rankerFunc(func(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
			return rank(ctx, v, q)
		})
	})
	e, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "x", Tags: []string{"private"}})
	require.NoError(t, err)
	hit := func(id string) memory.Hit { return memory.Hit{Entry: memory.Entry{ID: id}} }
	rank = func(_ context.Context, _ *memory.View, q memory.Search) ([]memory.Hit, error) {
		q.Tags[0] = "private"
		return []memory.Hit{hit(e.ID)}, nil
	}
	tags := []string{"public"}
	hits, err := h.Search(ctx, "acme", "m", memory.Search{Text: "x", Tags: tags})
	require.NoError(t, err)
	require.Empty(t, hits)
	require.Equal(t, []string{"public"}, tags)

	rank = func(_ context.Context, v *memory.View, _ memory.Search) ([]memory.Hit, error) {
		return []memory.Hit{hit("\x00"), hit("\xff"), hit(""), hit(e.ID)}, nil
	}
	hits, err = h.Search(ctx, "acme", "m", memory.Search{Text: "x"})
	require.NoError(t, err)
	require.Len(t, hits, 1)

	ended, end := context.WithCancel(ctx)
	rank = func(ctx context.Context, _ *memory.View, _ memory.Search) ([]memory.Hit, error) {
		end()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, err = h.Search(ended, "acme", "m", memory.Search{Text: "x"})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, memory.CodeCanceled, memory.CodeOf(err))
	rank = func(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) { panic("canary") }
	_, err = h.Search(ctx, "acme", "m", memory.Search{Text: "x"})
	require.EqualError(t, err, "memory: internal failure: the ranker panicked")
}

package hostcall_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/hostcall"
)

var ctx = context.Background()

func answer(after time.Duration) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		time.Sleep(after)
		return "answer", nil
	}
}

func TestCall_TheTimeOfThePartAndThatOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			patience, limit, after time.Duration
			want                   error
		}{
			{time.Hour, time.Second, time.Second - 1, nil},
			{time.Hour, 0, time.Hour - 1, nil},
			{time.Minute, time.Hour, time.Minute + 1, context.DeadlineExceeded},
			{time.Minute, 0, time.Minute + 1, context.DeadlineExceeded},
		} {
			ctx, cancel := context.WithTimeout(ctx, c.patience)
			got, err := hostcall.Call(ctx, "the part", c.limit, answer(c.after))
			cancel()
			require.Equal(t, c.want, err, "as it is")
			require.Equal(t, err == nil, got == "answer")
			require.False(t, hostcall.Misbehaved(err))
		}
		got, err := hostcall.Call(ctx, "the part", time.Second, answer(time.Second+1))
		require.Empty(t, got)
		require.EqualError(t, err, "the part did not answer in time")
		require.True(t, hostcall.Late(err))
		require.NotErrorIs(t, err, context.DeadlineExceeded, "it is not the caller's")
		// A part that obeys its context is late like one that does not.
		_, err = hostcall.Call(ctx, "the part", time.Second, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		require.True(t, hostcall.Late(err))
		time.Sleep(time.Hour) // until the parts have ended
	})
}

// At the very moment at which the time is over, the answer counts if it is there.
func TestCall_AtTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			got, err := hostcall.Call(ctx, "the part", time.Second, answer(time.Second))
			require.True(t, err == nil && got == "answer" || hostcall.Late(err) && got == "")
		}
	})
}

func TestCall_WhatThePartReturns(t *testing.T) {
	own := errors.New("own")
	for name, c := range map[string]struct {
		f    func(context.Context) (int, error)
		want string
	}{
		"answers":            {func(context.Context) (int, error) { return 1, nil }, ""},
		"fails":              {func(context.Context) (int, error) { return 1, own }, "own"},
		"panics":             {func(context.Context) (int, error) { panic(own) }, "the part panicked"},
		"panics with nil":    {func(context.Context) (int, error) { panic(nil) }, "the part panicked"},
		"ends its goroutine": {func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }, "the part did not return"},
		"a context's error":  {func(context.Context) (int, error) { return 1, context.Canceled }, "context canceled"},
	} {
		got, err := hostcall.Call(ctx, "the part", time.Minute, c.f)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, 1, got)
			continue
		}
		require.EqualError(t, err, c.want, name)
		require.Zero(t, got, name)
		require.NotErrorIs(t, errors.Unwrap(err), own, "a panic carries no class")
	}
}

func TestInline(t *testing.T) {
	got, err := hostcall.Inline("the part", func() (int, error) { return 1, nil })
	require.NoError(t, err)
	require.Equal(t, 1, got)
	got, err = hostcall.Inline("the part", func() (int, error) { panic("canary") })
	require.EqualError(t, err, "the part panicked")
	require.EqualError(t, errors.Unwrap(err), "panic: canary")
	require.True(t, hostcall.Misbehaved(err))
	require.Zero(t, got)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = hostcall.Inline("the part", func() (int, error) { return 1, nil })
	}), "a call in place costs no memory")
}

func TestDescribe(t *testing.T) {
	_, err := hostcall.Inline("the part", func() (int, error) { panic("canary") })
	require.Equal(t, "the part panicked", hostcall.Describe("the part", err))
	require.Equal(t, "the part failed", hostcall.Describe("the part", errors.New("canary")))
}

func BenchmarkPrice(b *testing.B) {
	f := func() (int, error) { return 1, nil }
	b.Run("inline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = hostcall.Inline("the part", f)
		}
	})
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = hostcall.Call(ctx, "the part", time.Minute, func(context.Context) (int, error) { return f() })
		}
	})
}

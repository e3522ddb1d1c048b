package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/openwop/agentmemory/internal/hostcall"
)

// Hooks are where a bank tells what it does. The zero value has no listener. It must not be copied
// after its first use, and is safe for concurrent use.
type Hooks struct {
	// Tracer is told of every operation; nil for none.
	Tracer Tracer
	// Logger has a line for every operation of maintenance, and for every pass of an engine, that
	// did something: its name, what is not zero of its counts, how long it took, and the code if it
	// failed as well. The line is at slog.LevelInfo, at slog.LevelDebug for what happens with
	// each round, and at slog.LevelWarn if it gave firings up. Nil is none.
	Logger *slog.Logger
	// Code returns the code of an error. It is required with a Tracer or a Logger.
	Code func(error) string

	panicked sync.Once // a panic has been logged
}

// level is that of the operation's line in the log; ok is false for one that has none. A round of
// maintenance has its line from the loop that makes the rounds.
func (o Op) level() (level slog.Level, ok bool) {
	switch o {
	case Purge, Forget, Scrub, EraseAgain, DropTenant, Consolidate, Undo, Distill, Compact, Infer, Sweep:
		return slog.LevelInfo, true
	case Tick, Embed:
		return slog.LevelDebug, true
	}
	return 0, false
}

// Span is an operation under way.
type Span struct {
	Result
	op    Op
	hooks *Hooks // nil if there is neither a tracer nor a logger
	ctx   context.Context
	began time.Time
	end   func(Result)
}

// Begin tells that an operation begins, and returns the context in which it continues. The caller
// defers [Span.Done].
func (h *Hooks) Begin(ctx context.Context, op Op) (context.Context, Span) {
	if h.Tracer == nil {
		if _, logged := op.level(); !logged || h.Logger == nil {
			return ctx, Span{}
		}
	}
	s := Span{op: op, hooks: h, began: time.Now()}
	within := ctx
	if h.Tracer != nil {
		h.contain(ctx, func() { within, s.end = h.Tracer.Start(ctx, op) })
	}
	s.ctx = cmp.Or(within, ctx)
	return s.ctx, s
}

// contain calls a part of the host, of which a panic is logged the first time.
func (h *Hooks) contain(ctx context.Context, f func()) {
	if panics("the tracer", f) && h.Logger != nil {
		h.panicked.Do(func() {
			panics("the logger", func() { // it may be what panicked
				h.Logger.LogAttrs(ctx, slog.LevelWarn, "the tracer or the logger of memory panicked")
			})
		})
	}
}

// panics calls a part of the host in place, and reports whether it panicked.
func panics(part string, f func()) bool {
	_, err := hostcall.Inline(part, func() (struct{}, error) { f(); return struct{}{}, nil })
	return err != nil
}

// Add names counts of the operation, which it has not named before. Without a Tracer and a Logger it
// does nothing.
func (s *Span) Add(counts ...Counted) {
	if s.hooks != nil {
		s.Counts = append(s.Counts, counts...)
	}
}

// Done tells that the operation has ended, by which error if there is one. It is deferred directly,
// so that it sees a panic, which is told of as internal_error and goes on.
func (s *Span) Done(err *error) {
	if s.hooks == nil {
		return
	}
	panicked := recover()
	s.Took = time.Since(s.began)
	switch {
	case panicked != nil:
		s.Code = "internal_error"
	case *err != nil:
		s.Code = closed(s.hooks.Code(*err))
	}
	if s.end != nil {
		s.hooks.contain(s.ctx, func() { s.end(s.Result) })
	}
	if level, logged := s.op.level(); logged && s.hooks.Logger != nil {
		s.hooks.contain(s.ctx, func() { s.log(level) })
	}
	if panicked != nil {
		panic(panicked)
	}
}

// log writes a line if the operation did something.
func (s *Span) log(level slog.Level) {
	var attrs []slog.Attr
	for _, c := range s.Counts {
		if c.N > 0 && c.Count != Due {
			attrs = append(attrs, slog.Int(c.Count.String(), c.N))
			if c.Count == GivenUp {
				level = slog.LevelWarn // a person has to look
			}
		}
	}
	if len(attrs) == 0 {
		return
	}
	attrs = append(attrs, slog.Duration("took", s.Took))
	if s.Code != "" {
		attrs = append(attrs, slog.String("code", s.Code))
	}
	s.hooks.Logger.LogAttrs(s.ctx, level, "memory "+s.op.String(), attrs...)
}

// closed returns the code if it is one that this project has for a bank or an engine. What else a
// part of the host may have made up could hold anything.
func closed(code string) string {
	switch code {
	case "validation_error", "forbidden", "not_found", "secret_leakage", "replay_memory_snapshot_unavailable",
		"capability_not_provided", "storage_limit_exceeded", "conflict", "canceled",
		"token_budget_exceeded", "schedule_horizon_exceeded":
		return code
	}
	return "internal_error"
}

package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/telemetry"
)

var ctx = context.Background()

// tracer is told by functions.
type tracer struct {
	start func(context.Context, telemetry.Op) context.Context
	end   func(telemetry.Result)
}

func (t tracer) Start(ctx context.Context, op telemetry.Op) (context.Context, func(telemetry.Result)) {
	return t.start(ctx, op), t.end
}

func same(ctx context.Context, _ telemetry.Op) context.Context { return ctx }

func coded(err error) string { return err.Error() }

// perform is an operation that ends with err.
func perform(h *telemetry.Hooks, op telemetry.Op, err error) (within context.Context) {
	within, span := h.Begin(ctx, op)
	defer span.Done(&err)
	span.Add(telemetry.Erased.Of(2), telemetry.Restored.Of(0))
	return within
}

// What begins is a number, and of what ends the code is the only text.
func TestTypesHoldNoContent(t *testing.T) {
	require.Equal(t, reflect.Uint8, reflect.TypeFor[telemetry.Op]().Kind())
	result := reflect.TypeFor[telemetry.Result]()
	for i := range result.NumField() {
		f := result.Field(i)
		kind := f.Type.Kind()
		if kind == reflect.Slice {
			counted := f.Type.Elem()
			require.Equal(t, 2, counted.NumField())
			require.Equal(t, reflect.Uint8, counted.Field(0).Type.Kind())
			kind = counted.Field(1).Type.Kind()
		}
		if f.Name != "Code" {
			require.Contains(t, []reflect.Kind{reflect.Int, reflect.Int64}, kind, f.Name)
		}
	}
}

// For any code that an error says it has, the code that is told is one of a closed list.
func TestCodesAreClosed(t *testing.T) {
	var got telemetry.Result
	h := &telemetry.Hooks{Tracer: tracer{same, func(r telemetry.Result) { got = r }}, Code: coded}
	perform(h, telemetry.Put, nil)
	require.Empty(t, got.Code)
	perform(h, telemetry.Put, errors.New("storage_limit_exceeded"))
	require.Equal(t, "storage_limit_exceeded", got.Code)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, random.IntN(24))
		for i := range text {
			text[i] = "abcdefghijklmnopqrstuvwxyz_"[random.IntN(27)]
		}
		perform(h, telemetry.Put, errors.New(string(text)))
		require.Equal(t, "internal_error", got.Code, "%s", text)
	}
}

func TestNamesAreDistinct(t *testing.T) {
	names := map[string]bool{}
	for _, op := range telemetry.Ops() {
		names[op.String()] = true
	}
	require.Len(t, names, 26)
	require.Len(t, telemetry.Ops(), 26)
	counts := map[string]bool{}
	for c := range telemetry.Due + 1 {
		counts[c.String()] = true
	}
	require.Len(t, counts, 27)
	for _, name := range []string{telemetry.Op(0).String(), telemetry.Op(200).String(), telemetry.Count(200).String()} {
		require.Equal(t, "unknown", name)
		require.False(t, names[name] || counts[name])
	}
}

// Without a tracer, an operation costs no memory.
func TestNobodyToldCostsNoMemory(t *testing.T) {
	h := &telemetry.Hooks{}
	require.Zero(t, testing.AllocsPerRun(1000, func() { perform(h, telemetry.Put, nil) }))
	logging := &telemetry.Hooks{Logger: slog.New(slog.DiscardHandler)}
	require.Zero(t, testing.AllocsPerRun(1000, func() { perform(logging, telemetry.Put, nil) }))
}

// The context of Start is that of the operation, and a tracer that gives none leaves it as it is.
func TestContext(t *testing.T) {
	type key struct{}
	h := &telemetry.Hooks{Tracer: tracer{start: func(ctx context.Context, op telemetry.Op) context.Context {
		return context.WithValue(ctx, key{}, op)
	}}}
	require.Equal(t, telemetry.Forget, perform(h, telemetry.Forget, nil).Value(key{}))
	h = &telemetry.Hooks{Tracer: tracer{start: func(context.Context, telemetry.Op) context.Context { return nil }}}
	require.Equal(t, ctx, perform(h, telemetry.Forget, nil))
}

// A tracer or a logger that panics changes nothing, wherever it does.
func TestPanicsAreContained(t *testing.T) {
	var log bytes.Buffer
	h := &telemetry.Hooks{
		Tracer: tracer{
			start: func(context.Context, telemetry.Op) context.Context { panic("canary") },
			end:   func(telemetry.Result) { t.Error("what has not begun does not end") },
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	for range 3 {
		require.Equal(t, ctx, perform(h, telemetry.Put, nil))
	}
	require.Equal(t, 1, strings.Count(log.String(), "panicked"), "%s", &log)
	ends := 0
	h = &telemetry.Hooks{Tracer: tracer{same, func(telemetry.Result) { ends++; panic("canary") }}, Logger: slog.New(rude{slog.DiscardHandler}), Code: coded}
	perform(h, telemetry.Forget, nil)
	perform(h, telemetry.Forget, errors.New("conflict"))
	require.Equal(t, 2, ends)
	require.NotContains(t, log.String(), "canary")
}

// rude panics at every line.
type rude struct{ slog.Handler }

func (rude) Enabled(context.Context, slog.Level) bool  { return true }
func (rude) Handle(context.Context, slog.Record) error { panic("canary") }

// A panic of the operation itself is told of, and goes on.
func TestPanicsOfTheOperationGoOn(t *testing.T) {
	var got []telemetry.Result
	h := &telemetry.Hooks{Tracer: tracer{same, func(r telemetry.Result) { got = append(got, r) }}}
	require.PanicsWithValue(t, "the store", func() {
		var err error
		_, span := h.Begin(ctx, telemetry.Put)
		defer span.Done(&err)
		panic("the store")
	})
	require.Len(t, got, 1)
	require.Equal(t, "internal_error", got[0].Code)
}

// Maintenance and passes have a line if they did something, and single reads and writes have none.
func TestLog(t *testing.T) {
	var log bytes.Buffer
	handler := slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "took" {
			a.Value = slog.StringValue("-")
		}
		return a
	}})
	h := &telemetry.Hooks{Logger: slog.New(handler), Code: coded}
	line := func(op telemetry.Op, err error) string {
		defer log.Reset()
		perform(h, op, err)
		return log.String()
	}
	require.Equal(t, "time=- level=INFO msg=\"memory forget\" erased=2 took=-\n", line(telemetry.Forget, nil))
	require.Equal(t, "time=- level=INFO msg=\"memory forget\" erased=2 took=- code=internal_error\n", line(telemetry.Forget, errors.New("canary")))
	require.Equal(t, "time=- level=DEBUG msg=\"memory tick\" erased=2 took=-\n", line(telemetry.Tick, nil))
	for _, op := range []telemetry.Op{telemetry.Put, telemetry.Get, telemetry.Search, telemetry.Rewrite, telemetry.Start, telemetry.Maintain, telemetry.Relay} {
		require.Empty(t, line(op, nil), "%v", op)
	}
	func() {
		var err error
		_, span := h.Begin(ctx, telemetry.Tick)
		defer span.Done(&err)
		span.Add(telemetry.Due.Of(3), telemetry.Fired.Of(0))
	}()
	require.Empty(t, log.String(), "nothing was done")
}

package adaptertest

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
)

func TestRunLog_InMemory(t *testing.T) {
	again := func(_ context.Context, log events.RunLog) (events.RunLog, error) { return log, nil }
	RunLog(t, LogConfig{New: func(context.Context) (events.RunLog, error) { return new(events.Log), nil }, Reopen: again, Crash: again})
}

// brokenLog is a log in memory with one defect.
type brokenLog struct {
	*events.Log
	emit func(l *events.Log, ctx context.Context, recs []events.Record) error
	read func(l *events.Log, ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error)
}

func (b brokenLog) Emit(ctx context.Context, recs ...events.Record) error {
	if b.emit != nil {
		return b.emit(b.Log, ctx, recs)
	}
	return b.Log.Emit(ctx, recs...)
}

func (b brokenLog) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	if b.read != nil {
		return b.read(b.Log, ctx, tenant, run, from, limit)
	}
	return b.Log.Read(ctx, tenant, run, from, limit)
}

// Each of these logs is wrong in one way, which the named case finds.
func TestRunLog_Broken(t *testing.T) {
	type emitter = func(l *events.Log, ctx context.Context, recs []events.Record) error
	type reader = func(l *events.Log, ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error)
	changed := func(f func(evs []events.RunEvent) []events.RunEvent) reader {
		return func(l *events.Log, ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
			evs, err := l.Read(ctx, tenant, run, from, limit)
			return f(evs), err
		}
	}
	for _, c := range []struct {
		name, finds string
		emit        emitter
		read        reader
	}{
		{name: "loses the last of a batch", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			return l.Emit(ctx, recs[:max(1, len(recs)-1)*min(1, len(recs))]...)
		}},
		{name: "keeps doubles", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			recs = slices.Clone(recs)
			for i := range recs {
				recs[i].ID += string(rune('A' + len(l.All())%26))
			}
			return l.Emit(ctx, recs...)
		}},
		{name: "reverses a batch", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			recs = slices.Clone(recs)
			slices.Reverse(recs)
			return l.Emit(ctx, recs...)
		}},
		{name: "folds the case of tenants", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			recs = slices.Clone(recs)
			for i := range recs {
				if recs[i].Tenant == "A" {
					recs[i].Tenant = "a"
				}
			}
			return l.Emit(ctx, recs...)
		}},
		{name: "writes a batch one by one", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			for _, r := range recs {
				if err := l.Emit(ctx, r); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "acknowledges what it has not taken", finds: "model", emit: func(l *events.Log, ctx context.Context, recs []events.Record) error {
			if ctx.Err() != nil {
				return nil
			}
			return l.Emit(ctx, recs...)
		}},
		{name: "numbers from 1", finds: "model", read: changed(func(evs []events.RunEvent) []events.RunEvent {
			for i := range evs {
				evs[i].Sequence++
			}
			return evs
		})},
		{name: "drops the payload's list", finds: "model", read: changed(func(evs []events.RunEvent) []events.RunEvent {
			for i := range evs {
				if p, ok := evs[i].Payload.(events.MemoryConsolidated); ok {
					p.MergedIDs = nil
					evs[i].Payload = p
				}
			}
			return evs
		})},
		{name: "knows no events of a host", finds: "model", read: changed(func(evs []events.RunEvent) []events.RunEvent {
			return slices.DeleteFunc(evs, func(ev events.RunEvent) bool { _, own := ev.Payload.(events.HostPayload); return own })
		})},
		{name: "begins behind the sequence", finds: "model", read: func(l *events.Log, ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
			return l.Read(ctx, tenant, run, from+1, limit)
		}},
		{name: "knows no limit", finds: "model", read: func(l *events.Log, ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
			return l.Read(ctx, tenant, run, from, 1000)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := LogConfig{New: func(context.Context) (events.RunLog, error) { return brokenLog{new(events.Log), c.emit, c.read}, nil }}
			i := slices.IndexFunc(logCases, func(l logCase) bool { return l.name == c.finds })
			err := cfg.prove(t.Context(), logCases[i])
			require.Error(t, err)
			t.Log(err)
		})
	}
	// Batches that come one by one are seen by half, by a reader that is lucky.
	oneByOne := LogConfig{New: func(context.Context) (events.RunLog, error) {
		return brokenLog{Log: new(events.Log), emit: func(l *events.Log, ctx context.Context, recs []events.Record) (err error) {
			for _, r := range recs {
				err = errors.Join(err, l.Emit(ctx, r))
				runtime.Gosched() // so that a reader comes between
			}
			return err
		}}, nil
	}}
	i := slices.IndexFunc(logCases, func(l logCase) bool { return l.name == "racing" })
	caught := false
	for n := 0; n < 500 && !caught; n++ {
		caught = oneByOne.prove(t.Context(), logCases[i]) != nil
	}
	require.True(t, caught)
	forgets := LogConfig{
		New:    func(context.Context) (events.RunLog, error) { return new(events.Log), nil },
		Reopen: func(context.Context, events.RunLog) (events.RunLog, error) { return new(events.Log), nil },
	}
	i = slices.IndexFunc(logCases, func(l logCase) bool { return l.name == "reopened" })
	require.Error(t, forgets.prove(t.Context(), logCases[i]))
	panics := LogConfig{New: func(context.Context) (events.RunLog, error) { return nil, io.EOF }}
	require.Error(t, panics.prove(t.Context(), logCases[0]))
}

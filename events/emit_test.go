package events

import (
	"context"
	"errors"
	"testing"
)

type sinkFunc func(recs []Record) error

func (f sinkFunc) Emit(_ context.Context, recs ...Record) error { return f(recs) }

// E2: one invalid record anywhere in a call, and the sink sees none of them.
func TestE2_EmitChecksBeforeTheSink(t *testing.T) {
	for bad := range 3 {
		recs := []Record{record("1", "t", "r", full[0]), record("2", "t", "r", full[1]), record("3", "t", "r", full[2])}
		recs[bad].Payload = WorkspaceUpdated{Path: "p"}
		calls := 0
		err := Emit(t.Context(), sinkFunc(func([]Record) error { calls++; return nil }), recs...)
		wantInvalid(t, err, "/version")
		equal(t, "calls of the sink", calls, 0)
	}
}

func TestE2_EmitPassesOn(t *testing.T) {
	var got []Record
	boom := errors.New("boom")
	sink := sinkFunc(func(recs []Record) error { got = append(got, recs...); return boom })
	if err := Emit(t.Context(), sink); err != nil || got != nil {
		t.Fatal("no records are no call", err, got)
	}
	recs := []Record{record("1", "t", "r", full[0]), record("2", "t", "r", full[1])}
	if err := Emit(t.Context(), sink, recs...); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	equal(t, "records", got, recs)
	if err := Emit(t.Context(), nil, recs...); err == nil {
		t.Fatal("no sink is an error")
	}
}

type nullSink struct{}

func (nullSink) Emit(context.Context, ...Record) error { return nil }

// From a typed event to the sink: one allocation puts the payload in its
// interface, one the records in their slice. Checking costs none.
func TestEmitAllocations(t *testing.T) {
	ctx := t.Context()
	var sink Sink = nullSink{}
	rec := record("id", "tenant", "run", nil)
	for name, emit := range map[string]func(){
		"written": func() {
			r := rec
			r.Payload = MemoryWritten{MemoryRef: rec.RunID, MemoryID: rec.ID}
			_ = Emit(ctx, sink, r)
		},
		"compacted": func() {
			r := rec
			r.Payload = MemoryCompacted{MemoryRef: rec.RunID, OutputID: rec.ID, SourceCount: 101, Trigger: CompactionBoth}
			_ = Emit(ctx, sink, r)
		},
	} {
		if n := testing.AllocsPerRun(100, emit); n > 2 {
			t.Errorf("%s: %v allocations, at most 2 are allowed", name, n)
		}
	}
}

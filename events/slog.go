package events

import (
	"context"
	"log/slog"
)

// Slog returns a sink that writes one line at [slog.LevelInfo] for each record, for
// people to read. The message is the event's type; the attributes are named as in
// the protocol's RunEventDoc, with the tenant beside them. The line's time is the
// event's.
//
// Unlike [Log] and [File] it is no run-event log: it gives no sequences, and a
// record that is delivered twice is written twice. The handler's first error ends
// the call.
func Slog(h slog.Handler) Sink { return slogSink{h} }

type slogSink struct{ h slog.Handler }

func (s slogSink) Emit(ctx context.Context, recs ...Record) error {
	if err := validate(recs); err != nil {
		return err
	}
	if s.h == nil {
		return errNoSink
	}
	if !s.h.Enabled(ctx, slog.LevelInfo) {
		return nil
	}
	for _, rec := range recs {
		line := slog.NewRecord(rec.Time, slog.LevelInfo, string(rec.Payload.EventType()), 0)
		line.AddAttrs(slog.String("eventId", rec.ID), slog.String("tenant", rec.Tenant), slog.String("runId", rec.RunID))
		if rec.NodeID != "" {
			line.AddAttrs(slog.String("nodeId", rec.NodeID))
		}
		line.AddAttrs(slog.Any("payload", rec.Payload))
		if err := s.h.Handle(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

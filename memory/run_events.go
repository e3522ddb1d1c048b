package memory

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/telemetry"
)

// Emit puts events of the host into the run's log, in one batch behind everything that the
// run has announced so far: run.started, node.completed and the like as
// [events.HostPayload], or payloads of package events. It returns when the sink has them, or
// they are kept. The strings of a host's payload are redacted; an event in which
// the redactor finds a secret elsewhere, in a name or a number of its JSON, say, is refused.
//
// Of each record the Payload counts, the NodeID, CausationID, EngineVersion and
// SchemaVersion, the Time unless it is zero, which is now, and the ID for one that may be emitted again after an error; the bank issues an ID where
// there is none. A RunID, if there is one, is that of the run. So [events.Reemit] gives
// what a replay emits.
//
// Errors: [ErrValidation], [ErrSecretLeakage], [ErrEnded], [ErrNotProvided] if the bank has
// neither a Sink nor KeepEvents. After [ErrInternal] the events may be in the log.
func (r *Run) Emit(ctx context.Context, recs ...events.Record) (err error) {
	ctx, span := r.bank.begin(ctx, telemetry.Emit)
	defer span.Done(&err)
	if err := r.enter(); err != nil {
		return err
	}
	defer r.life.RUnlock()
	own, err := r.hostEvents(ctx, recs)
	if err != nil {
		return err
	}
	if err = r.bank.emit(ctx, r.writer, own); err == nil {
		span.Add(telemetry.Events.Of(len(own)))
	}
	return err
}

// hostEvents are the events of a host as they go into the log.
func (w writer) hostEvents(ctx context.Context, recs []events.Record) ([]events.Record, error) {
	if len(recs) > 0 && !w.bank.takesEvents() {
		return nil, fail(ErrNotProvided, "an event of the host needs Config.Sink or Config.KeepEvents, which this bank has not")
	}
	if err := w.bank.checkClock(); len(recs) > 0 && err != nil {
		return nil, err
	}
	var out []events.Record
	for _, given := range recs {
		if given.Payload == nil {
			return nil, fail(ErrValidation, "an event has no payload: set Record.Payload")
		}
		if given.RunID != "" && given.RunID != w.runID {
			return nil, fail(ErrValidation, "an event names another run: leave Record.RunID empty")
		}
		rec, err := w.wrapEvent(ctx, given)
		if err != nil {
			return nil, err
		}
		rec.NodeID, rec.CausationID = given.NodeID, given.CausationID
		rec.EngineVersion, rec.SchemaVersion = given.EngineVersion, given.SchemaVersion
		if !given.Time.IsZero() {
			rec.Time = millis(given.Time)
		}
		if err := w.identifiers(ctx, name{"Record.NodeID", rec.NodeID}, name{"Record.CausationID", rec.CausationID}, name{"Record.EngineVersion", rec.EngineVersion}, w.run(), w.owner()); err != nil {
			return nil, err
		}
		if err := rec.Validate(); err != nil {
			return nil, invalidEvent(err)
		}
		out = append(out, rec)
	}
	return out, nil
}

// emit gives events to the log, behind those of the run that wait.
func (b *Bank) emit(ctx context.Context, w writer, recs []events.Record) error {
	if len(recs) == 0 {
		return nil
	}
	if err := b.flush(ctx, w.tenant, w.runID); err != nil {
		return err
	}
	return b.appendToLog(ctx, w.tenant, recs)
}

// appendToLog gives events to the log.
func (b *Bank) appendToLog(ctx context.Context, tenant string, recs []events.Record) error {
	if b.cfg.KeepEvents > 0 {
		_, err := b.commit(ctx, tenant, driver.Mutation{At: b.Now(), Events: recs})
		return err
	}
	if err := b.emitTo(ctx, b.cfg.Sink, recs); err != nil {
		return hostFailed(ctx, "the sink", err)
	}
	return nil
}

// cleanJSON redacts the strings of a valid JSON value, but for the names of fields.
func (w writer) cleanJSON(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, failWith(ErrValidation, "the payload is not JSON", err)
	}
	changed := false
	v, err := w.cleanValue(ctx, v, &changed)
	if err != nil || !changed {
		return raw, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, failWith(ErrValidation, "the payload is not JSON", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (w writer) cleanValue(ctx context.Context, v any, changed *bool) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		out, err := w.redacted(ctx, Redactor.Redact, v)
		if err != nil {
			return nil, w.refused(ctx, err)
		}
		*changed = *changed || out != v
		return out, nil
	case []any:
		for i := range v {
			if v[i], err = w.cleanValue(ctx, v[i], changed); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = w.cleanValue(ctx, v[name], changed); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Emit puts events into the log of their runs, all or none, behind those of mutations that
// were committed before, see [events.RunLog]. It makes no version, and waits for no transaction but
// those who write to the log of one of the runs. It is repeated if the connection is lost,
// so that its outcome is known unless the database stays away.
func (st *Store) Emit(ctx context.Context, recs ...events.Record) error {
	docs, err := runEvents(recs)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	// A snapshot from before the lock, as some isolation levels have, meets a number that is
	// taken meanwhile.
	allows := func(err error) bool { return idempotent(err) || codeOf(err) == uniqueViolation }
	return st.db.write(ctx, tenantSetting(recs[0].Tenant), allows, func(b *pgx.Batch) { st.db.log(b, recs, docs) })
}

// runEvents are the documents of events, without their sequences.
func runEvents(recs []events.Record) (docs []string, err error) {
	for _, r := range recs {
		doc, err := json.Marshal(events.RunEvent{Record: r})
		if err != nil {
			return nil, driver.ErrValidation.With("an event breaks its schema, and no run log takes it", errors.Unwrap(err))
		}
		docs = append(docs, string(doc))
	}
	return docs, nil
}

// payloads are those of events, as the outbox has them.
func payloads(recs []events.Record) (texts []string, err error) {
	for _, r := range recs {
		text, err := json.Marshal(r.Payload)
		if err != nil {
			return nil, driver.ErrValidation.With("the payload of an event cannot be written as JSON", err)
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// log queues the locks of the runs of events, in one order for everybody, and then the
// events, which get the next sequences of their runs but for those that are there.
func (db *DB) log(b *pgx.Batch, recs []events.Record, docs []string) {
	var locks []int64
	for i := range recs {
		locks = append(locks, runLock(&recs[i]))
	}
	slices.Sort(locks)
	for _, key := range slices.Compact(locks) {
		b.Queue(`SELECT pg_advisory_xact_lock($1)`, key)
	}
	tenant := recs[0].Tenant
	for i := range recs {
		r := &recs[i]
		if r.Tenant != tenant {
			db.setTenant(b, tenantSetting(r.Tenant))
		}
		tenant = r.Tenant
		b.Queue(addEvent, []byte(r.Tenant), []byte(r.RunID), []byte(r.ID), docs[i])
	}
}

var addEvent = `
	INSERT INTO agentmemory.run_events (tenant, run_id, sequence, event_id, document)
	SELECT $1, $2, COALESCE((SELECT max(sequence) + 1 FROM agentmemory.run_events WHERE tenant = $1 AND run_id = $2), 0), $3, $4
	ON CONFLICT (tenant, run_id, event_id) DO UPDATE SET document = NULL -- which it cannot be: see notNull
		WHERE ` + said("run_events.document") + ` <> ` + said("excluded.document")

// said is the SQL of an event's type and payload, which stand in its document between the ids and
// the instant. JSON functions of PostgreSQL are of no use here: they refuse an escaped U+0000.
func said(document string) string {
	return `regexp_replace(substr(` + document + `, position('"type":' IN ` + document + `)), '"timestamp":"[^"]*","sequence":0}$', '')`
}

// runLock is the key of the advisory lock of a run, under which its events are numbered.
// Runs that share one wait for each other, and no more than that.
func runLock(r *events.Record) int64 {
	b := binary.AppendUvarint([]byte("run"), uint64(len(r.Tenant)))
	sum := sha256.Sum256(append(append(b, r.Tenant...), r.RunID...))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Read returns events of a run from a sequence on, see [events.RunLog]. A page ends once it
// has four megabytes of text.
func (st *Store) Read(ctx context.Context, tenant, runID string, from int64, limit int) ([]events.RunEvent, error) {
	const read = `
		SELECT sequence, document FROM (
			SELECT *, sum(octet_length(document)) OVER (ORDER BY sequence) - octet_length(document) AS before FROM (
				SELECT * FROM agentmemory.run_events WHERE tenant = $1 AND run_id = $2 AND sequence >= $3 ORDER BY sequence LIMIT $4) p
		) q WHERE before < 4194304 ORDER BY sequence`
	var page []events.RunEvent
	err := st.db.query(ctx, tenant, rowsInto(&page, func(row pgx.Row, ev *events.RunEvent) error {
		var sequence int64
		var doc []byte
		err := row.Scan(&sequence, &doc)
		if err != nil {
			return err
		}
		if err := ev.UnmarshalJSON(doc); err != nil {
			return driver.ErrInternal.With("an event cannot be read", err)
		}
		ev.Tenant, ev.Sequence = tenant, sequence
		return nil
	}), read, []byte(tenant), []byte(runID), from, events.PageSize(limit))
	return page, err
}

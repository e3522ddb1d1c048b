package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

var _ distill.Workspace = (*Workspace)(nil)

// Workspace is the [distill.Workspace] in a database: files of text, the last version
// of each. The event of a version commits with it, and waits in the database until
// the sink took it.
type Workspace struct {
	db   *DB
	sink events.Sink
}

// Workspace returns the workspace in the database. It emits workspace.updated to
// sink, which may be nil: then no event is made.
func (db *DB) Workspace(sink events.Sink) *Workspace { return &Workspace{db: db, sink: sink} }

// ReadFile returns a file, or [memory.ErrNotFound].
func (w *Workspace) ReadFile(ctx context.Context, tenant, path string) (distill.File, error) {
	if err := ctx.Err(); err != nil {
		return distill.File{}, err
	}
	if err := distill.CheckPath(path); err != nil {
		return distill.File{}, err
	}
	f := distill.File{Path: path}
	var at int64
	err := w.db.get(ctx, []any{&f.Content, &f.ContentType, &f.Version, &f.ETag, &at},
		`SELECT content, type, version, etag, at FROM files WHERE tenant = ? AND path = ?`, tenant, path)
	if errors.Is(err, sql.ErrNoRows) {
		err = memory.ErrNotFound
	}
	if err != nil {
		return distill.File{}, err
	}
	f.UpdatedAt = instant(at)
	return f, nil
}

// WriteFile makes the next version of a file, or returns [memory.ErrConflict]. Its
// event is delivered before WriteFile returns if the sink takes it, otherwise by the
// next write of the same run or by [Workspace.Flush], of this process or another. That
// the sink refused is no error of WriteFile, whose file is there: Flush tells it.
func (w *Workspace) WriteFile(ctx context.Context, x distill.Write) (distill.File, error) {
	if err := ctx.Err(); err != nil {
		return distill.File{}, err
	}
	if err := distill.CheckPath(x.Path); err != nil {
		return distill.File{}, err
	}
	f := distill.File{Path: x.Path, Content: x.Content, ContentType: x.ContentType, UpdatedAt: instant(x.At.UnixMilli())}
	err := w.db.write(ctx, func(t *tx) error {
		var old string
		err := t.get([]any{&f.Version, &old}, `SELECT version, etag FROM files WHERE tenant = ? AND path = ?`, x.Tenant, x.Path)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if old != x.IfMatch {
			return memory.ErrConflict
		}
		f.Version++
		f.ETag = etag(x, f.Version)
		_, err = t.exec(`INSERT INTO files (tenant, path, type, version, etag, at, content) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET type = excluded.type, version = excluded.version, etag = excluded.etag,
				at = excluded.at, content = excluded.content`,
			x.Tenant, x.Path, f.ContentType, f.Version, f.ETag, f.UpdatedAt.UnixMilli(), f.Content)
		if f.Version > 1 {
			t.erased = fileTables // the text of the version before
		}
		if err != nil || w.sink == nil {
			return err
		}
		r := updated(x.Tenant, x.RunID, "evt_ws_"+f.ETag, f.UpdatedAt.UnixMilli(), f.Path, f.Version)
		if err := r.Validate(); err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO file_events (tenant, run, event, at, path, version) VALUES (?, ?, ?, ?, ?, ?)`,
			r.Tenant, r.RunID, r.ID, r.Time.UnixMilli(), f.Path, f.Version)
		return err
	})
	if err != nil {
		return distill.File{}, err
	}
	_ = w.deliver(ctx, memory.RunName{Tenant: x.Tenant, RunID: x.RunID}) // the file is written; its event waits, and comes again
	return f, nil
}

// etag differs from one version of a file to the next, and from file to file.
func etag(x distill.Write, version int64) string {
	sum := sha256.Sum256([]byte(x.Tenant + "\x00" + x.Path + "\x00" + x.Content))
	return hex.EncodeToString(sum[:8]) + "-" + strconv.FormatInt(version, 10)
}

func updated(tenant, run, id string, at int64, path string, version int64) events.Record {
	return events.Record{
		ID: id, Tenant: tenant, RunID: run, Time: instant(at),
		Payload: events.WorkspaceUpdated{Path: path, Version: version},
	}
}

// Flush gives the sink what no sink has taken yet, each run's oldest first, whichever
// process wrote it. A run whose events the sink refuses holds up no other; Flush then
// returns what the sink said at last. A host calls it from time to time, as it calls
// [memory.Bank.Relay]. Others, of this process or another, may send the same at the same
// time: a sink drops what it has. The sink may use the workspace.
func (w *Workspace) Flush(ctx context.Context) error {
	if w.sink == nil {
		return ctx.Err()
	}
	var runs []memory.RunName
	err := w.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		var run memory.RunName
		err := rows.Scan(&run.Tenant, &run.RunID)
		runs = append(runs, run)
		return true, wrap(readFailed, err)
	}, `SELECT DISTINCT tenant, run FROM file_events`)
	if err != nil {
		return err
	}
	var refused error
	for _, run := range runs {
		if err := w.deliver(ctx, run); err != nil {
			refused = err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return refused
}

// deliver gives the sink what waits of a run. An event leaves the database when the sink
// has it, and each call begins with the oldest that is left: so none overtakes another,
// however many deliver at the same time.
func (w *Workspace) deliver(ctx context.Context, run memory.RunName) error {
	for w.sink != nil {
		recs, seqs, err := w.waiting(ctx, run)
		if err != nil || len(recs) == 0 {
			return err
		}
		if err := events.Emit(ctx, w.sink, recs...); err != nil {
			return wrap("the sink failed", err)
		}
		err = w.db.write(ctx, func(t *tx) error {
			for _, seq := range seqs {
				if _, err := t.exec(`DELETE FROM file_events WHERE seq = ?`, seq); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eventsOfRun reads what waits of a run.
const eventsOfRun = `SELECT seq, event, at, path, version FROM file_events INDEXED BY file_events_run
	WHERE tenant = ? AND run = ? ORDER BY seq LIMIT 256`

// waiting reads the events of a run that wait, at most 256, and their numbers.
func (w *Workspace) waiting(ctx context.Context, run memory.RunName) (recs []events.Record, seqs []int64, err error) {
	err = w.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		var id, path string
		var seq, at, version int64
		err := rows.Scan(&seq, &id, &at, &path, &version)
		recs, seqs = append(recs, updated(run.Tenant, run.RunID, id, at, path, version)), append(seqs, seq)
		return true, wrap(readFailed, err)
	}, eventsOfRun, run.Tenant, run.RunID)
	return recs, seqs, err
}

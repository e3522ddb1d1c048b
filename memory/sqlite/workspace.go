package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"
	"sync"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

var _ distill.Workspace = (*Workspace)(nil)

// Workspace is the [distill.Workspace] in a database: files of text, the last version
// of each. The event of a version commits with it, and waits in the database until
// the sink took it.
type Workspace struct {
	db      *DB
	sink    events.Sink
	sending sync.Mutex // keeps the order of what this process sends
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
// next write or [Workspace.Flush], of this process or another.
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
	_ = w.Flush(ctx) // what the sink refuses stays, and comes again
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

// Flush gives the sink what no sink has taken yet, oldest first, whichever process
// wrote it. Another process may send the same at the same time; a sink drops what it
// has.
func (w *Workspace) Flush(ctx context.Context) error {
	if w.sink == nil {
		return ctx.Err()
	}
	w.sending.Lock()
	defer w.sending.Unlock()
	for {
		recs, last, err := w.waiting(ctx)
		if err != nil || len(recs) == 0 {
			return err
		}
		if err := events.Emit(ctx, w.sink, recs...); err != nil {
			return wrap("the sink failed", err)
		}
		err = w.db.write(ctx, func(t *tx) error {
			_, err := t.exec(`DELETE FROM file_events WHERE seq <= ?`, last)
			return err
		})
		if err != nil {
			return err
		}
	}
}

// waiting reads the events that wait, at most 256, and the number of the last one.
func (w *Workspace) waiting(ctx context.Context) (recs []events.Record, last int64, err error) {
	err = w.db.query(ctx, func(rows *sql.Rows) (bool, error) {
		var tenant, run, id, path string
		var at, version int64
		err := rows.Scan(&last, &tenant, &run, &id, &at, &path, &version)
		recs = append(recs, updated(tenant, run, id, at, path, version))
		return true, wrap(readFailed, err)
	}, `SELECT seq, tenant, run, event, at, path, version FROM file_events ORDER BY seq LIMIT 256`)
	return recs, last, err
}

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
)

// Workspace is a workspace whose events go to sink, which may be nil.
func (db *DB) Workspace(sink events.Sink) *Workspace { return &Workspace{db, sink} }

// Workspace keeps files. It is what [DB.Workspace] returns. One workspace.updated for
// each version is committed with it and waits in a table until the sink has taken it,
// from whatever process: none is lost, and one may come twice under its id. A sink may
// use the workspace.
type Workspace struct {
	db   *DB
	sink events.Sink
}

var _ distill.Workspace = (*Workspace)(nil)

// ReadFile returns a file, or [memory.ErrNotFound].
func (w *Workspace) ReadFile(ctx context.Context, tenant, path string) (distill.File, error) {
	const read = `
		SELECT path, content, content_type, version, etag, updated_at FROM agentmemory.files WHERE tenant = $1 AND path = $2`
	if err := ctx.Err(); err != nil {
		return distill.File{}, err
	}
	if err := distill.CheckPath(path); err != nil {
		return distill.File{}, err
	}
	var found []distill.File
	err := w.db.read(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(read, []byte(tenant), path).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, scanFile)
			return err
		})
	})
	switch {
	case err != nil:
		return distill.File{}, err
	case len(found) == 0:
		return distill.File{}, memory.ErrNotFound
	}
	return found[0], nil
}

func scanFile(row pgx.CollectableRow) (f distill.File, err error) {
	var at int64
	err = row.Scan(&f.Path, (*name)(&f.Content), (*name)(&f.ContentType), &f.Version, &f.ETag, &at)
	f.UpdatedAt = instant(at)
	return f, err
}

// WriteFile makes the next version of a file. Its event is delivered before WriteFile
// returns if the sink takes it, otherwise by the next write of the same run or
// [Workspace.Flush], of this process or another. If the connection is lost meanwhile
// the error is [ErrOutcomeUnknown].
func (w *Workspace) WriteFile(ctx context.Context, x distill.Write) (distill.File, error) {
	if err := ctx.Err(); err != nil {
		return distill.File{}, err
	}
	if err := distill.CheckPath(x.Path); err != nil {
		return distill.File{}, err
	}
	if len(x.Tenant) > maxTenant {
		return distill.File{}, memory.ErrValidation
	}
	version, ok := versionBehind(x.IfMatch)
	if !ok {
		return distill.File{}, memory.ErrConflict
	}
	f := distill.File{
		Path: x.Path, Content: x.Content, ContentType: x.ContentType, Version: version,
		ETag: etag(&x, version), UpdatedAt: instant(x.At.UnixMilli()),
	}
	rec := updated(x.Tenant, x.RunID, f.ETag, f.UpdatedAt, f.Path, f.Version)
	if w.sink != nil {
		if err := rec.Validate(); err != nil {
			return distill.File{}, err
		}
	}
	if err := w.put(ctx, &x, &f, rec); err != nil {
		return distill.File{}, err
	}
	_ = w.flushRun(ctx, memory.RunName{Tenant: x.Tenant, RunID: x.RunID}) // what the sink refuses stays
	return f, nil
}

// put commits a version and its event, in one statement so that the event depends on
// the version.
func (w *Workspace) put(ctx context.Context, x *distill.Write, f *distill.File, rec events.Record) error {
	const (
		first = `INSERT INTO agentmemory.files (tenant, path, content, content_type, version, etag, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING version`
		next = `UPDATE agentmemory.files SET content = $3, content_type = $4, version = $5, etag = $6, updated_at = $7
			WHERE tenant = $1 AND path = $2 AND etag = $8 RETURNING version`
		announce = `INSERT INTO agentmemory.file_events (tenant, path, version, time, run_id, event_id)
			SELECT $1, $2, $5, $7, `
	)
	args := []any{[]byte(x.Tenant), f.Path, []byte(f.Content), []byte(f.ContentType), f.Version, f.ETag, f.UpdatedAt.UnixMilli()}
	sql := first
	if x.IfMatch != "" {
		sql = next
		args = append(args, x.IfMatch)
	}
	if w.sink != nil {
		sql = `WITH f AS (` + sql + `) ` + announce + `$` + strconv.Itoa(len(args)+1) + `, $` + strconv.Itoa(len(args)+2) + ` FROM f`
		args = append(args, []byte(rec.RunID), []byte(rec.ID))
	}
	made := false
	err := w.db.write(ctx, tenantSetting(x.Tenant), unsent, func(b *pgx.Batch) { b.Queue(sql, args...).Exec(affects(&made)) })
	if err == nil && !made {
		err = memory.ErrConflict
	}
	return err
}

// etag names a version of a file. It ends with the number of the version.
func etag(x *distill.Write, version int64) string {
	sum := sha256.Sum256([]byte(x.Tenant + "\x00" + x.Path + "\x00" + x.Content))
	return hex.EncodeToString(sum[:8]) + "-" + strconv.FormatInt(version, 10)
}

// versionBehind is the version that follows the one an ETag names: 1 for none. What is
// no ETag of a workspace matches no file.
func versionBehind(tag string) (int64, bool) {
	if tag == "" {
		return 1, true
	}
	if len(tag) < 18 || tag[16] != '-' || !isText(tag) {
		return 0, false
	}
	n, err := strconv.ParseInt(tag[17:], 10, 64)
	return n + 1, err == nil && n > 0 && n < events.MaxInteger
}

func updated(tenant, runID, tag string, at time.Time, path string, version int64) events.Record {
	return events.Record{
		ID: "evt_ws_" + tag, Tenant: tenant, RunID: runID, Time: at,
		Payload: events.WorkspaceUpdated{Path: path, Version: version},
	}
}

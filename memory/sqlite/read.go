package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory"
)

// selection is what a list, a scan or a search asks for.
type selection struct {
	scope  memory.Scope
	at     int64
	since  int64                    // no entry that was created earlier
	behind int64                    // only entries behind the position (behind, id)
	id     string                   // the id of that position
	limit  int                      // 0 means all
	filter func(*memory.Entry) bool // nil keeps all
}

func selectionOf(s memory.Scope, q memory.Query) selection {
	sel := selection{scope: s, at: q.At.UnixMilli(), since: math.MinInt64, behind: math.MaxInt64, limit: max(0, q.Limit)}
	if !q.After.IsZero() {
		sel.behind, sel.id = q.After.CreatedAt.UnixMilli(), q.After.ID
	}
	if q.Tag != "" {
		sel.filter = func(e *memory.Entry) bool { return slices.Contains(e.Tags, q.Tag) }
	}
	return sel
}

const (
	// What is live is a range of one index, in the order of a list.
	listLive = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6
		ORDER BY e.created DESC, e.id DESC LIMIT ?7 + 0`

	// What was live at a version is live still, or has died since: both are few steps
	// from a list of what is live.
	shown     = `(e.born <= ?8 OR EXISTS (SELECT 1 FROM former f WHERE f.entry = e.entry AND f.born <= ?8 AND ?8 < f.died))`
	listShown = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6 AND ` + shown
	listGone = `SELECT * FROM (SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_past
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died > ?8 AND e.died < 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6 AND ` + shown + `
		ORDER BY e.created DESC, e.id DESC LIMIT ?7 + 0)`
	listAt = listShown + ` UNION ALL ` + listGone + ` ORDER BY 4 DESC, 1 DESC LIMIT ?7 + 0`

	getLive = `SELECT ` + entryColumns + ` FROM entries e
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id = ?3 AND e.died = 9223372036854775807 AND e.expires > ?4`
	getAt = `SELECT ` + entryColumns + ` FROM entries e
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id = ?3 AND e.expires > ?4 AND e.died > ?8 AND ` + shown
)

// list reads what the selection asks for in one state of the database: at a version,
// or what is live if there is none.
func (db *DB) list(ctx context.Context, sel selection, version ...int64) ([]memory.Entry, error) {
	limit := sel.limit
	if limit == 0 || sel.filter != nil {
		limit = -1
	}
	text := listLive
	args := []any{sel.scope.Tenant, sel.scope.Ref, sel.at, sel.behind, sel.id, sel.since, limit}
	if len(version) > 0 {
		text, args = listAt, append(args, version[0])
	}
	var entries []memory.Entry
	row := newScanner()
	err := db.query(ctx, func(rows *sql.Rows) (bool, error) {
		e, err := row.read(rows)
		if err != nil {
			return false, err
		}
		if sel.filter == nil || sel.filter(&e) {
			entries = append(entries, e)
		}
		return len(entries) != sel.limit || sel.limit == 0, nil
	}, text, args...)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// List returns the live entries of s that q asks for (M5).
func (st *Store) List(ctx context.Context, s memory.Scope, q memory.Query) ([]memory.Entry, error) {
	return st.db.list(ctx, selectionOf(s, q))
}

// ListAt is List over the entries that were not retired at v (M6). Beside what it
// returns it looks at what was put or has ended since v.
func (st *Store) ListAt(ctx context.Context, s memory.Scope, v memory.Version, q memory.Query) ([]memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n, err := st.db.number(s.Tenant, v)
	if err != nil {
		return nil, err
	}
	entries, err := st.db.list(ctx, selectionOf(s, q), n)
	if err == nil {
		err = st.available(ctx, s.Tenant, n)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Get returns the entry, or [memory.ErrNotFound].
func (st *Store) Get(ctx context.Context, s memory.Scope, id string, at time.Time) (memory.Entry, error) {
	return st.db.one(ctx, getLive, s.Tenant, s.Ref, id, at.UnixMilli())
}

// GetAt is Get over the entries that were not retired at v.
func (st *Store) GetAt(ctx context.Context, s memory.Scope, v memory.Version, id string, at time.Time) (memory.Entry, error) {
	if err := ctx.Err(); err != nil {
		return memory.Entry{}, err
	}
	n, err := st.db.number(s.Tenant, v)
	if err != nil {
		return memory.Entry{}, err
	}
	e, err := st.db.one(ctx, getAt, s.Tenant, s.Ref, id, at.UnixMilli(), nil, nil, nil, n)
	if gone := st.available(ctx, s.Tenant, n); gone != nil {
		return memory.Entry{}, gone
	}
	return e, err
}

// one reads an entry, or returns [memory.ErrNotFound].
func (db *DB) one(ctx context.Context, text string, args ...any) (e memory.Entry, err error) {
	found := false
	err = db.query(ctx, func(rows *sql.Rows) (bool, error) {
		found = true
		e, err = newScanner().read(rows)
		return false, err
	}, text, args...)
	if err == nil && !found {
		err = memory.ErrNotFound
	}
	return e, err
}

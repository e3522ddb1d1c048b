package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// selection is what a list, a scan or a search asks for.
type selection struct {
	scope  driver.Scope
	at     int64
	since  int64                    // no entry that was created earlier; of what is live only
	behind int64                    // only entries behind the position (behind, id)
	id     string                   // the id of that position
	limit  int                      // 0 means all
	filter func(*driver.Entry) bool // nil keeps all
}

func selectionOf(s driver.Scope, q driver.Query) selection {
	sel := selection{scope: s, at: q.At.UnixMilli(), since: math.MinInt64, behind: math.MaxInt64, limit: max(0, q.Limit)}
	if !q.After.IsZero() {
		sel.behind, sel.id = q.After.CreatedAt.UnixMilli(), q.After.ID
	}
	if q.Tag != "" {
		sel.filter = func(e *driver.Entry) bool { return slices.Contains(e.Tags, q.Tag) }
	}
	return sel
}

const (
	// What is live is a range of one index, in the order of a list.
	listLive = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6
		ORDER BY e.created DESC, e.id DESC LIMIT ?7 + 0`

	// What was live at a version is live still, or has died since: both are few steps
	// from a list of what is live.
	shown     = `(e.born <= ?8 OR EXISTS (SELECT 1 FROM former f WHERE f.entry = e.entry AND f.born <= ?8 AND ?8 < f.died))`
	listShown = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND ` + shown
	listGone = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_past` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died > ?8 AND e.died < 9223372036854775807 AND e.expires > ?3
		AND (e.created, e.id) < (?4, ?5) AND ` + shown
	listAt = listShown + ` UNION ALL ` + listGone + ` ORDER BY 4 DESC, 1 DESC LIMIT ?7 + 0`

	getLive = `SELECT ` + entryColumns + ` FROM entries e` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.id = ?3 AND e.died = 9223372036854775807 AND e.expires > ?4`
	getAt = `SELECT ` + entryColumns + ` FROM ` + listed + withText + `
		WHERE e.expires > ?4 AND e.died > ?8 AND ` + shown
)

// list reads what the selection asks for in one state of the database: at a version,
// or what is live if there is none.
func (db *DB) list(ctx context.Context, sel selection, version ...int64) ([]driver.Entry, error) {
	limit := sel.limit
	if limit == 0 || sel.filter != nil {
		limit = -1
	}
	text := listLive
	args := []any{sel.scope.Tenant, sel.scope.Ref, sel.at, sel.behind, sel.id, sel.since, limit}
	if len(version) > 0 {
		text, args = listAt, append(args, version[0])
	}
	var entries []driver.Entry
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
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	return st.db.list(ctx, selectionOf(s, q))
}

// ListAt is List over the entries that were not retired at v (M6). Beside what it
// returns it looks at what was put or has ended since v.
func (st *Store) ListAt(ctx context.Context, s driver.Scope, v driver.Version, q driver.Query) ([]driver.Entry, error) {
	p, err := pointOf(ctx, s.Tenant, v)
	if err != nil {
		return nil, err
	}
	return st.listAt(ctx, p, selectionOf(s, q))
}

// listAt reads what the selection asks for at a point.
func (st *Store) listAt(ctx context.Context, p point, sel selection) ([]driver.Entry, error) {
	entries, err := st.db.list(ctx, sel, p.n)
	if err == nil {
		err = st.db.available(st.db.queries(ctx), p)
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	found, err := st.db.entries(ctx, getLive, s.Tenant, s.Ref, id, at.UnixMilli())
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Entry{}, err
	}
	return found[0], nil
}

// GetAt returns those of the entries that were not retired at v and are live at the
// instant at, in the order of the ids.
func (st *Store) GetAt(ctx context.Context, s driver.Scope, v driver.Version, ids []string, at time.Time) ([]driver.Entry, error) {
	p, err := pointOf(ctx, s.Tenant, v)
	if err != nil {
		return nil, err
	}
	found, err := st.db.entries(ctx, getAt, s.Tenant, s.Ref, idList(ids), at.UnixMilli(), nil, nil, nil, p.n)
	if gone := st.db.available(st.db.queries(ctx), p); gone != nil {
		return nil, gone
	}
	return found, err
}

// entries reads all rows of a statement.
func (db *DB) entries(ctx context.Context, text string, args ...any) ([]driver.Entry, error) {
	return collect(db.queries(ctx), newScanner().read, text, args...)
}

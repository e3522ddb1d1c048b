package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// The statements that read entries. What is live is a range of one index, in the order of a
// list. What was live at a version is live still, or has died since: the latter is a range of
// another one, and is sorted. Ids are looked up one by one, and sorted.
const (
	asked   = ` AND e.expires > ?3 AND (e.created, e.id) < (?4, ?5) AND e.created >= ?6`
	inOrder = ` ORDER BY e.created DESC, e.id DESC LIMIT ?7 + 0`
	shown   = ` AND (e.born <= ?8 OR EXISTS (SELECT 1 FROM json_each(e.former) f WHERE f.value ->> 0 <= ?8 AND ?8 < f.value ->> 1))`

	fromLive = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_live` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died = 9223372036854775807` + asked
	fromPast = `SELECT ` + entryColumns + ` FROM entries e INDEXED BY entries_past` + withText + `
		WHERE e.tenant = ?1 AND e.ref = ?2 AND e.died > ?8 AND e.died < 9223372036854775807` + asked
	fromIDs = `SELECT ` + entryColumns + ` FROM ` + named + withText

	listLive = fromLive + inOrder
	listAt   = fromLive + shown + ` UNION ALL ` + fromPast + shown + ` ORDER BY 4 DESC, 1 DESC LIMIT ?7 + 0`
	idsLive  = fromIDs + ` WHERE +e.died = 9223372036854775807` + asked + inOrder // the + keeps it from entries_live
	idsAt    = fromIDs + ` WHERE e.died > ?8` + asked + shown + inOrder
)

// List returns the entries of s that q asks for (M5), live or as they were at a version (M6).
// Where q asks for tags or a subject, it reads entries until enough of them carry these.
func (st *Store) List(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
	var at point
	if q.Version != "" {
		var err error
		if at, err = pointOf(ctx, s.Tenant, q.Version); err != nil {
			return nil, err
		}
	}
	text, args := readOf(s, &q, at.n)
	filtered := len(q.Tags) > 0 || q.Subject != ""
	var entries []driver.Entry
	row := newScanner()
	err := st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
		e, err := row.read(rows)
		if err != nil {
			return false, err
		}
		if !filtered || q.Matches(&e) {
			entries = append(entries, e)
		}
		return len(entries) != q.Limit || q.Limit <= 0, nil
	}, text, args...)
	if q.Version != "" { // it was whole before if it can be read now
		if gone := st.db.available(st.db.reads(ctx), at); gone != nil {
			err = gone
		}
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// readOf returns the statement that reads what q asks for, apart from tags and the subject.
func readOf(s driver.Scope, q *driver.Query, version int64) (string, []any) {
	texts, names := [2]string{listLive, listAt}, s.Ref
	if len(q.IDs) > 0 {
		texts, names = [2]string{idsLive, idsAt}, namesIn(s, slices.Compact(slices.Sorted(slices.Values(q.IDs))))
	}
	since, limit := int64(math.MinInt64), -1
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	if q.Limit > 0 && len(q.Tags) == 0 && q.Subject == "" {
		limit = q.Limit
	}
	// Entries are before the cursor in the order of the index, and no id is before "".
	behind, id := int64(math.MaxInt64), ""
	if !q.Until.IsZero() {
		behind = q.Until.UnixMilli()
	}
	if last := q.After.CreatedAt.UnixMilli(); !q.After.IsZero() && last < behind {
		behind, id = last, q.After.ID
	}
	args := []any{s.Tenant, names, q.At.UnixMilli(), behind, id, since, limit}
	if q.Version == "" {
		return texts[0], args
	}
	return texts[1], append(args, version)
}

// Get returns the entry, or [driver.ErrNotFound].
func (st *Store) Get(ctx context.Context, s driver.Scope, id string, at time.Time) (driver.Entry, error) {
	found, err := st.List(ctx, s, driver.Query{At: at, IDs: []string{id}})
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Entry{}, err
	}
	return found[0], nil
}

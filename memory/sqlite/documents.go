package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// documentColumns are of a row d of documents and its row b of bodies, which fromDocuments
// joins if there is one.
const (
	documentColumns = `SELECT d.rev, d.tenant, d.ref, d.kind, d.key, d.class, d.grp, d.due, d.origin, d.whole, b.subjects, `
	fromDocuments   = ` FROM documents d LEFT JOIN bodies b ON b.body = d.body`
	withValue       = `coalesce(d.value, b.value, x'')`
)

func scanDocument(rows *sql.Rows) (d driver.Document, err error) {
	var due *int64
	var of, subjects sql.RawBytes
	err = rows.Scan(&d.Rev, &d.Tenant, &d.Ref, &d.Kind, &d.Key, &d.Class, &d.Group, &due, &of, &d.Whole, &subjects, &d.Value)
	if err != nil {
		return d, wrap(readFailed, err)
	}
	if due != nil {
		d.Due = instant(*due)
	}
	ok := [3]bool{2: true}
	d.Of, ok[0] = unpack(of)
	d.Subjects, ok[1] = unpack(subjects)
	if d.Value != nil { // it was asked for
		d.Value, ok[2] = unsummed(d.Value)
	}
	if ok != [3]bool{true, true, true} {
		err = fail(damaged, nil)
	}
	return d, err
}

// enough is how many bytes of documents are read at a time, so that large values are not
// all held at once.
const enough = 1 << 20

// Documents yields the documents that q asks for, in the byte order of their refs,
// kinds and keys. The body of the loop may use the store. It reads 512 documents at a
// time, or fewer that have some megabyte.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		last, left := q.After, q.Limit
		driver.Pages(func(*driver.Document) (page []driver.Document, more bool, err error) {
			text, args := documentsBehind(&q, last)
			read, size := 0, 0
			err = st.db.reads(ctx)(func(rows *sql.Rows) (bool, error) {
				d, err := scanDocument(rows)
				if err == nil && (q.Subject == "" || slices.Contains(d.Subjects, q.Subject)) {
					page = append(page, d)
				}
				last, read, size = &d, read+1, size+len(d.Value)
				more = q.Limit <= 0 || len(page) < left
				return more && size < enough && read < ahead, err
			}, text, args...)
			left -= len(page)
			return page, more && (size >= enough || read == ahead), err
		})(yield)
	}
}

// documentsBehind selects what q asks for behind a document, if there is one, in order.
func documentsBehind(q *driver.DocumentQuery, last *driver.Document) (string, []any) {
	text := documentColumns + withValue
	if q.Bare {
		text = documentColumns + `NULL`
	}
	text += fromDocuments
	where := []string{`d.tenant = ?`}
	if q.Subject != "" { // the label leads: the sign keeps the tenant's other documents from being read
		where = []string{`+d.tenant = ?`}
	}
	args := []any{q.Tenant}
	narrow := func(term string, values ...any) { where, args = append(where, term), append(args, values...) }
	if !q.EveryRef {
		narrow(`d.ref = ?`, q.Ref)
	}
	if q.Kind != "" {
		narrow(`d.kind = ?`, q.Kind)
	}
	if q.Key != "" {
		narrow(`d.key = ?`, q.Key)
	}
	if q.Group != "" {
		narrow(`d.grp = ? AND d.grp <> ''`, q.Group)
	}
	if q.Subject != "" {
		narrow(`d.rev IN (SELECT rev FROM document_labels WHERE label = unhex(?))`, labelOf(q.Tenant, q.Subject))
	}
	if last != nil {
		columns, bound := boundOf(q, last)
		narrow(`(`+strings.Join(columns, `, `)+`) > (?`+strings.Repeat(`, ?`, len(bound)-1)+`)`, bound...)
	}
	return text + ` WHERE ` + strings.Join(where, ` AND `) + ` ORDER BY d.ref, d.kind, d.key`, args
}

// beyond is behind all text, as SQLite orders values.
var beyond = []byte{0}

// boundOf returns what is behind a document in terms of the index in use: without the columns
// that q fixes. If the fixed one is not that of the document, all of what it has is behind, or
// nothing.
func boundOf(q *driver.DocumentQuery, last *driver.Document) (columns []string, bound []any) {
	var rest any
	for _, c := range []struct {
		name, last, fixed string
		isFixed           bool
	}{{`d.ref`, last.Ref, q.Ref, !q.EveryRef}, {`d.kind`, last.Kind, q.Kind, q.Kind != ""}, {`d.key`, last.Key, "", false}} {
		switch {
		case !c.isFixed && rest == nil:
			columns, bound = append(columns, c.name), append(bound, c.last)
		case !c.isFixed:
			columns, bound = append(columns, c.name), append(bound, rest)
		case rest == nil && c.last < c.fixed:
			rest = ""
		case rest == nil && c.last > c.fixed:
			rest = beyond
		}
	}
	return columns, bound
}

const dueDocuments = documentColumns + withValue + fromDocuments + `
	WHERE d.kind = ?1 AND d.due <= ?2 ORDER BY d.due LIMIT ?3 + 0`

// Due returns machinery of a kind, of all tenants, that is due at the instant at, by a
// range of an index of what is due at all.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return collect(st.db.reads(ctx), scanDocument, dueDocuments, kind, at.UnixMilli(), max(0, limit))
}

package postgres

import (
	"cmp"
	"context"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// documentColumns are the columns of a document d, but for its value, in the order of
// scanDocument.
const documentColumns = `d.tenant, d.ref, d.kind, d.key, d.class, d.rev, d.grp, d.due, array_send(d.made_of), array_send(d.subjects), d.whole`

// scanDocument reads a row of the documentColumns, the value and further columns.
func scanDocument(row pgx.Row, d *driver.Document, further ...any) error {
	var class int16
	var due *int64
	err := row.Scan(append([]any{(*name)(&d.Tenant), (*name)(&d.Ref), (*name)(&d.Kind), (*name)(&d.Key), &class, &d.Rev,
		(*name)(&d.Group), &due, (*textList)(&d.Of), (*textList)(&d.Subjects), &d.Whole, &d.Value}, further...)...)
	d.Class = driver.Class(class)
	if due != nil {
		d.Due = instant(*due)
	}
	return err
}

// A page of documents ends after so many, and after the one whose value reaches so many
// bytes.
const (
	documentPage      = 256
	documentPageBytes = 4 << 20
)

// Documents yields the documents that q asks for, in the byte order of their refs, kinds
// and keys, a page at a time. The body of the loop may use the store.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	var left int
	return driver.Pages(func(behind *driver.Document) (found []driver.Document, more bool, err error) {
		if behind == nil {
			behind, left = q.After, cmp.Or(q.Limit, math.MaxInt)
		}
		size := min(documentPage, left)
		sql, args := documentsSQL(&q, behind, size)
		var asked int64 // how many the page would have without its bound of bytes
		err = st.db.query(ctx, tenantSetting(q.Tenant), rowsInto(&found, func(row pgx.Row, d *driver.Document) error {
			return scanDocument(row, d, &asked)
		}), sql, args...)
		left -= len(found)
		return found, left > 0 && (int(asked) == size || len(found) < int(asked)), err
	})
}

// documentsSQL is the statement of a page of so many documents behind one.
func documentsSQL(q *driver.DocumentQuery, behind *driver.Document, size int) (string, []any) {
	args := []any{[]byte(q.Tenant), []byte{}, []byte{}, []byte{}}
	if behind != nil {
		args = []any{args[0], []byte(behind.Ref), []byte(behind.Kind), []byte(behind.Key)}
	}
	where := ` WHERE d.tenant = $1 AND (d.ref, d.kind, d.key) > ($2, $3, $4)`
	narrow := func(condition string, arg []byte) {
		args = append(args, arg)
		where += condition + "$" + strconv.Itoa(len(args))
	}
	if !q.EveryRef {
		narrow(` AND d.ref = `, []byte(q.Ref))
	}
	switch {
	case q.Kind == "":
	case q.Group != "": // which names fewer: no plan is to go by the kind
		narrow(` AND d.kind || '' = `, []byte(q.Kind))
	default:
		narrow(` AND d.kind = `, []byte(q.Kind))
	}
	if q.Key != "" {
		narrow(` AND d.key = `, []byte(q.Key))
	}
	if q.Group != "" {
		narrow(` AND d.grp = `, []byte(q.Group))
	}
	from := `agentmemory.documents d`
	if q.Subject != "" {
		// Subjects have no statistics. So that no plan reads all documents of the tenant, the
		// OFFSET has each one that carries the label looked up by its names.
		from = `agentmemory.document_subjects s, LATERAL (
			SELECT * FROM agentmemory.documents d WHERE d.tenant = s.tenant AND d.ref = s.ref AND d.kind = s.kind AND d.key = s.key OFFSET 0) d`
		narrow(` AND s.tenant = $1 AND (s.ref, s.kind, s.key) > ($2, $3, $4) AND s.subject = `, keyOf(q.Subject))
		narrow(` AND array_position(d.subjects, `, []byte(q.Subject))
		where += `) IS NOT NULL`
	}
	value := `d.value`
	if q.Bare {
		value = `NULL::bytea AS value`
	}
	const order = ` ORDER BY d.ref, d.kind, d.key`
	return `
		SELECT ` + documentColumns + `, d.value, d.asked FROM (
			SELECT *, count(*) OVER () AS asked, sum(COALESCE(octet_length(d.value), 0)::bigint) OVER (` + order + `) AS bytes FROM (
				SELECT d.tenant, d.ref, d.kind, d.key, d.class, d.rev, d.grp, d.due, d.made_of, d.subjects, d.whole, ` + value + `
				FROM ` + from + where + order + ` LIMIT $` + strconv.Itoa(len(args)+1) + `) d) d
		WHERE d.bytes - COALESCE(octet_length(d.value), 0) < ` + strconv.Itoa(documentPageBytes) + order, append(args, size)
}

const dueSQL = `
	SELECT ` + documentColumns + `, d.value FROM agentmemory.documents d
	WHERE d.kind = $1 AND d.due IS NOT NULL AND d.due <= $2 ORDER BY d.due LIMIT $3`

// Due returns machinery of a kind, of all tenants, whose Due is not after the instant at,
// by Due.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	var found []driver.Document
	err := st.db.query(ctx, everyTenant, rowsInto(&found, func(row pgx.Row, d *driver.Document) error { return scanDocument(row, d) }),
		dueSQL, []byte(kind), at.UnixMilli(), max(limit, 0))
	return found, err
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

// documentColumns are of a row d of documents and its row b of bodies, which withBody
// joins if there is one.
const (
	documentColumns = `SELECT d.rev, d.tenant, d.ref, d.kind, d.key, d.class, d.grp, d.due, d.origin, b.subjects, `
	fromDocuments   = ` FROM documents d LEFT JOIN bodies b ON b.body = d.body`
	withValue       = `coalesce(d.value, b.value, x'')`
)

func scanDocument(rows *sql.Rows) (d driver.Document, err error) {
	var due *int64
	var of, subjects sql.RawBytes
	err = rows.Scan(&d.Rev, &d.Tenant, &d.Ref, &d.Kind, &d.Key, &d.Class, &d.Group, &due, &of, &subjects, &d.Value)
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
		err = &failure{damaged, nil}
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
		for last := new(driver.Document); last != nil; {
			text, args := documentsAfter(&q, last)
			var page []driver.Document
			size := 0
			err := st.db.query(ctx, func(rows *sql.Rows) (bool, error) {
				d, err := scanDocument(rows)
				page, size = append(page, d), size+len(d.Value)
				return size < enough && len(page) < ahead, err
			}, text, args...)
			if err != nil {
				yield(driver.Document{}, err)
				return
			}
			full := size >= enough || len(page) == ahead
			last = nil
			for i := range page {
				d := &page[i]
				if (q.Subject == "" || slices.Contains(d.Subjects, q.Subject)) && !yield(*d, nil) {
					return
				}
				if full {
					last = d
				}
			}
		}
	}
}

// documentsAfter selects what q asks for behind a document, in order.
func documentsAfter(q *driver.DocumentQuery, last *driver.Document) (string, []any) {
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
		narrow(`d.rev IN (SELECT rev FROM document_labels WHERE label = ?)`, labelOf(q.Tenant, q.Subject))
	}
	switch { // behind the last one, in terms of the index in use
	case last.Rev == 0:
	case q.EveryRef && q.Kind != "":
		narrow(`(d.ref, d.key) > (?, ?)`, last.Ref, last.Key)
	case q.EveryRef:
		narrow(`(d.ref, d.kind, d.key) > (?, ?, ?)`, last.Ref, last.Kind, last.Key)
	case q.Kind == "":
		narrow(`(d.kind, d.key) > (?, ?)`, last.Kind, last.Key)
	default:
		narrow(`d.key > ?`, last.Key)
	}
	return text + ` WHERE ` + strings.Join(where, ` AND `) + ` ORDER BY d.ref, d.kind, d.key`, args
}

const dueDocuments = documentColumns + withValue + fromDocuments + `
	WHERE d.kind = ?1 AND d.due <= ?2 ORDER BY d.due LIMIT ?3 + 0`

// Due returns machinery of a kind, of all tenants, that is due at the instant at, by a
// range of an index of what is due at all.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	return collect(st.db.queries(ctx), scanDocument, dueDocuments, kind, at.UnixMilli(), max(0, limit))
}

// storedDocument is what the database has of a document: nothing if rev is 0.
type storedDocument struct {
	rev   int64
	class driver.Class
	body  *int64
}

func scanStoredDocument(rows *sql.Rows) (d storedDocument, err error) {
	return d, wrap(readFailed, rows.Scan(&d.rev, &d.body))
}

func (t *tx) document(tenant, ref, kind, key string) (d storedDocument, err error) {
	err = t.get([]any{&d.rev, &d.class, &d.body}, `SELECT rev, class, body FROM documents
		WHERE tenant = ? AND ref = ? AND kind = ? AND key = ?`, tenant, ref, kind, key)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return d, err
}

package postgres

import (
	"context"
	"encoding/binary"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// revision is the next one that a document gets. An update has it from nextRevision: a
// cluster takes no function there that is called for each row, wherever that is.
const (
	revision     = `nextval('agentmemory.revisions')`
	nextRevision = `WITH r AS MATERIALIZED (SELECT ` + revision + ` AS next) `
)

// swapSQL is a statement that does what a swap says if it holds. It returns one row then,
// with the revision that the document has, 0 if none is there; if not it returns none. A
// document that was not to be there and is, is a uniqueViolation.
func swapSQL(x *driver.DocumentSwap) (string, []any) {
	const (
		named = ` WHERE d.tenant = $1 AND d.ref = $2 AND d.kind = $3 AND d.key = $4`
		held  = named + ` AND d.class = $5 AND d.rev = $6`
	)
	args := []any{[]byte(x.Tenant), []byte(x.Ref), []byte(x.Kind), []byte(x.Key)}
	if x.Rev == 0 && x.Act != driver.Set {
		return `SELECT 0::bigint WHERE NOT EXISTS (SELECT FROM agentmemory.documents d` + named + `)`, args
	}
	args = append(args, int16(x.Class))
	if x.Rev != 0 {
		args = append(args, x.Rev)
	}
	switch x.Act {
	case driver.Check:
		return `SELECT d.rev FROM agentmemory.documents d` + held, args
	case driver.Remove:
		return `DELETE FROM agentmemory.documents d` + held + ` RETURNING 0::bigint`, args
	}
	args = append(args, attributes(x)...)
	const retain = nextRevision + `UPDATE agentmemory.documents d SET rev = r.next, grp = $7, due = $8, made_of = $9, subjects = $10, whole = $11`
	if x.Act == driver.Retain {
		return retain + ` FROM r` + held + ` RETURNING d.rev`, args
	}
	value := x.Value
	if value == nil {
		value = []byte{}
	}
	if args = append(args, value); x.Rev != 0 {
		return retain + `, value = $12 FROM r` + held + ` RETURNING d.rev`, args
	}
	return `INSERT INTO agentmemory.documents AS d (tenant, ref, kind, key, class, grp, due, made_of, subjects, whole, value, rev)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + revision + `) RETURNING d.rev`, args
}

// attributes are the group, the due, the entries and the subjects of a document, and whether it
// is made of its whole ref.
func attributes(x *driver.DocumentSwap) []any {
	var group []byte
	if x.Group != "" {
		group = []byte(x.Group)
	}
	var due *int64
	if !x.Due.IsZero() {
		ms := x.Due.UnixMilli()
		due = &ms
	}
	return []any{group, due, sqlstore.Pack(x.Of), sqlstore.Pack(x.Subjects), x.Whole}
}

// namedSQL is a statement that gives a staged document its name.
func namedSQL(x *driver.DocumentSwap, key []byte) (string, []any) {
	return nextRevision + `UPDATE agentmemory.documents d SET ref = $2, kind = $3, key = $4, class = $5, grp = $6, due = $7, made_of = $8, subjects = $9,
			whole = $10, rev = r.next FROM r WHERE d.tenant = $1 AND d.ref = '' AND d.kind = '' AND d.key = $11 RETURNING d.rev`,
		append(append([]any{[]byte(x.Tenant), []byte(x.Ref), []byte(x.Kind), []byte(x.Key), int16(x.Class)}, attributes(x)...), key)
}

// swapAlone commits a mutation that changes one piece of machinery, in one statement. One that only checks
// writes to the log, so that its commit waits for the synchronous standby as others do: what it was
// judged by may be a change that the standby has not got.
func (w *writes) swapAlone(ctx context.Context) error {
	err := w.db.writeOnce(ctx, tenantSetting(w.Tenant), func(b *pgx.Batch) {
		sql, args := swapSQL(&w.M.Documents[0])
		b.Queue(sql, args...).Query(rowsInto(&w.Done.Revs, scanRev))
		if w.M.Documents[0].Act == driver.Check {
			b.Queue(`SELECT pg_logical_emit_message(true, 'agentmemory', '')`)
		}
	})
	if codeOf(err) == uniqueViolation || err == nil && len(w.Done.Revs) == 0 {
		return driver.ErrConflict
	}
	return err
}

func scanRev(row pgx.Row, rev *int64) error { return row.Scan(rev) }

// stagedBytes is from which size on a value is written before the tenant's row is taken.
const stagedBytes = 64 << 10

func (w *writes) staged(x *driver.DocumentSwap) bool {
	return !w.M.Unversioned() && x.Act == driver.Set && len(x.Value) >= stagedBytes
}

// stagedKey is under which key, of no kind, the i-th document is found until it gets its
// name. No other transaction ever sees it.
func (w *writes) stagedKey(i int) []byte { return binary.BigEndian.AppendUint32(w.Mark[:], uint32(i)) }

// stage queues the large values, so that the tenant's row is not held while they are on
// their way. A row that only changes its name keeps a large value where it is.
func (w *writes) stage(b *pgx.Batch) {
	for _, i := range w.InOrder(w.staged) {
		b.Queue(`INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, rev, value) VALUES ($1, '', '', $2, 0, 0, $3)`,
			[]byte(w.Tenant), w.stagedKey(i), w.M.Documents[i].Value)
	}
}

// swap queues those swaps of which the act is or is not Set, in the order of their names.
// What is set comes before erasures: it is made of other entries from then on.
func (w *writes) swap(b *pgx.Batch, set bool) {
	for _, i := range w.InOrder(func(x *driver.DocumentSwap) bool { return (x.Act == driver.Set) == set }) {
		x := &w.M.Documents[i]
		sql, args := swapSQL(x)
		if w.staged(x) {
			if x.Rev != 0 {
				gone := *x
				gone.Act = driver.Remove
				sql, args := swapSQL(&gone)
				b.Queue(sql, args...)
			}
			sql, args = namedSQL(x, w.stagedKey(i))
		}
		b.Queue(sql, args...).Query(eachRow(func(row pgx.Row) error { return row.Scan(&w.Done.Revs[i]) }))
		if x.Act == driver.Set || x.Act == driver.Retain {
			labels := make([][]byte, len(x.Subjects))
			for i, s := range x.Subjects {
				labels[i] = sqlstore.Label(w.Tenant, s)
			}
			queueLabels(b, x, "document_of", "id", idKeys(x.Of))
			queueLabels(b, x, "document_subjects", "subject", labels)
		}
	}
}

// queueLabels queues what finds a document by its entries or its subjects.
func queueLabels(b *pgx.Batch, x *driver.DocumentSwap, table, column string, labels [][]byte) {
	at := []any{[]byte(x.Tenant), []byte(x.Ref), []byte(x.Kind), []byte(x.Key)}
	const named = ` WHERE tenant = $1 AND ref = $2 AND kind = $3 AND key = $4`
	if x.Rev != 0 && x.Class != driver.Machinery {
		b.Queue(`DELETE FROM agentmemory.`+table+named, at...)
	}
	if len(labels) == 0 {
		return
	}
	b.Queue(`INSERT INTO agentmemory.`+table+` (tenant, ref, kind, key, `+column+`)
		SELECT tenant, ref, kind, key, l FROM agentmemory.documents, unnest($5::bytea[]) AS l`+named+` ON CONFLICT DO NOTHING`,
		append(at, labels)...)
}

package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// swapSQL is a statement that does what a swap says if it holds. It returns one row then,
// with the revision that the document has, 0 if none is there; if not it returns none. A
// document that was not to be there and is, is a uniqueViolation.
func swapSQL(x *driver.DocumentSwap) (string, []any) {
	const (
		named    = ` WHERE d.tenant = $1 AND d.ref = $2 AND d.kind = $3 AND d.key = $4`
		held     = named + ` AND d.class = $5 AND d.rev = $6`
		revision = `nextval('agentmemory.revisions')`
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
	var group []byte
	if x.Group != "" {
		group = []byte(x.Group)
	}
	var due *int64
	if !x.Due.IsZero() {
		ms := x.Due.UnixMilli()
		due = &ms
	}
	args = append(args, group, due, names(x.Of), names(x.Subjects))
	const retain = `UPDATE agentmemory.documents d SET rev = ` + revision + `, grp = $7, due = $8, made_of = $9, subjects = $10`
	if x.Act == driver.Retain {
		return retain + held + ` RETURNING d.rev`, args
	}
	value := x.Value
	if value == nil {
		value = []byte{}
	}
	if args = append(args, value); x.Rev != 0 {
		return retain + `, value = $11` + held + ` RETURNING d.rev`, args
	}
	return `INSERT INTO agentmemory.documents (tenant, ref, kind, key, class, grp, due, made_of, subjects, value, rev)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ` + revision + `) RETURNING rev`, args
}

// swapAlone commits a mutation that changes one piece of machinery, in one statement.
func (w *writes) swapAlone(ctx context.Context, allows func(error) bool) error {
	err := w.db.write(ctx, tenantSetting(w.tenant), allows, func(b *pgx.Batch) {
		w.done.Revs = w.done.Revs[:0]
		sql, args := swapSQL(&w.m.Documents[0])
		b.Queue(sql, args...).Query(rowsInto(&w.done.Revs, scanRev))
	})
	if codeOf(err) == uniqueViolation || err == nil && len(w.done.Revs) == 0 {
		return driver.ErrConflict
	}
	return err
}

func scanRev(row pgx.Row, rev *int64) error { return row.Scan(rev) }

// loadDocuments reads and locks the documents that the mutation names, in the order of
// their names: machinery may be changed by others that do not have the tenant's row.
func (w *writes) loadDocuments(b *pgx.Batch) {
	n := len(w.m.Documents)
	if n == 0 {
		return
	}
	refs, kinds, keys := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i := range w.m.Documents {
		d := &w.m.Documents[i]
		refs[i], kinds[i], keys[i] = []byte(d.Ref), []byte(d.Kind), []byte(d.Key)
	}
	const load = `
		SELECT d.ref, d.kind, d.key, d.rev, d.class FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS n (ref, kind, key)
		JOIN agentmemory.documents d ON d.tenant = $1 AND d.ref = n.ref AND d.kind = n.kind AND d.key = n.key
		ORDER BY d.ref, d.kind, d.key FOR UPDATE OF d`
	b.Queue(load, []byte(w.tenant), refs, kinds, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var at title
			var h heldDocument
			var class int16
			if err := rows.Scan((*name)(&at.ref), (*name)(&at.kind), (*name)(&at.key), &h.rev, &class); err != nil {
				return err
			}
			h.class = driver.Class(class)
			w.documents[at] = h
		}
		return rows.Err()
	})
}

// title names a document within a tenant.
type title struct{ ref, kind, key string }

// heldDocument is a document as a mutation meets it.
type heldDocument struct {
	rev   int64
	class driver.Class
}

// swap queues those swaps of which the act is or is not Set, in the order of their names.
// What is set comes before erasures: it is made of other entries from then on.
func (w *writes) swap(b *pgx.Batch, set bool) {
	order := make([]int, 0, len(w.m.Documents))
	for i := range w.m.Documents {
		if (w.m.Documents[i].Act == driver.Set) == set {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := &w.m.Documents[i], &w.m.Documents[j]
		return cmp.Or(cmp.Compare(x.Ref, y.Ref), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Key, y.Key))
	})
	for _, i := range order {
		x := &w.m.Documents[i]
		sql, args := swapSQL(x)
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				if err := rows.Scan(&w.done.Revs[i]); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		if x.Act == driver.Set || x.Act == driver.Retain {
			queueLabels(b, x, "document_of", "id", x.Of)
			queueLabels(b, x, "document_subjects", "subject", x.Subjects)
		}
	}
}

// queueLabels queues what finds a document by its entries or its subjects.
func queueLabels(b *pgx.Batch, x *driver.DocumentSwap, table, column string, labels []string) {
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
		append(at, keysOf(labels))...)
}

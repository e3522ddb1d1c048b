package postgres

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// queueAll queues all writes of a mutation that holds.
func (w *writes) queueAll(b *pgx.Batch) {
	if len(w.Plan.Insert) > 0 {
		w.insert(b)
	} else if !w.M.Unversioned() {
		w.addVersion(b, addVersionAlone)
	}
	w.retire(b)
	w.restore(b)
	w.swap(b, true)
	w.erase(b)
	w.swap(b, false)
	w.queueEvents(b)
}

// insertEntries is a statement that inserts entries of the tenant and a version of t. In FROM each array
// would be written down first.
func insertEntries(version, t string) string {
	return `
	INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, run_id, content, tags, subjects, sources, born)
	SELECT t.tenant, p.ref, p.id, p.created, p.expires, p.run, p.content, p.tags::text[], p.subjects::bytea[], p.sources::bytea[], ` + version + `
	FROM ` + t + `, (
		SELECT unnest($2::bytea[]) AS ref, unnest($3::bytea[]) AS id, unnest($4::bigint[]) AS created, unnest($5::bigint[]) AS expires, unnest($6::bytea[]) AS run,
			unnest($7::text[]) AS content, unnest($8::text[]) AS tags, unnest($9::text[]) AS subjects, unnest($10::text[]) AS sources) p
	WHERE t.tenant = $1`
}

// The statement of a server makes their version, too. A cluster inserts into one table at a time: there
// the row of the tenant, which the transaction has, says with each entry that it belongs on the node of
// that tenant.
var (
	insertWithVersion = `WITH t AS (` + addVersionSQL(11) + `, made.tenant)` + insertEntries(`t.version`, `t`) + ` RETURNING born`
	insertAlone       = insertEntries(current, `agentmemory.tenants t`)
)

// insert queues entries and their labels, and the version that they come with.
func (w *writes) insert(b *pgx.Batch) {
	put := w.Plan.Insert
	var refs, ids, runs [][]byte
	var created, expires []int64
	var contents []string
	var tags, subjects, sources []*string
	for i := range put {
		e := &put[i].Entry
		refs, ids, runs = append(refs, []byte(put[i].Ref)), append(ids, []byte(e.ID)), append(runs, []byte(e.RunID))
		created, expires = append(created, e.CreatedAt.UnixMilli()), append(expires, sqlstore.Expiry(e.ExpiresAt))
		contents, tags = append(contents, e.Content), append(tags, arrayText(e.Tags, quoted.Replace))
		subjects, sources = append(subjects, arrayText(e.Subjects, bytesText)), append(sources, arrayText(e.Sources, bytesText))
	}
	args := []any{refs, ids, created, expires, runs, contents, tags, subjects, sources}
	if w.db.distributed {
		w.addVersion(b, addVersionAlone)
		b.Queue(insertAlone, append([]any{[]byte(w.Tenant)}, args...)...)
	} else {
		w.addVersion(b, insertWithVersion, args...)
	}
	w.label(b, put)
}

// arrayText is an array as PostgreSQL writes one as text, of elements that are escaped, since no array has
// arrays of several lengths. It is nil for an empty list.
func arrayText(list []string, escape func(string) string) *string {
	if len(list) == 0 {
		return nil
	}
	elements := make([]string, len(list))
	for i, s := range list {
		elements[i] = escape(s)
	}
	return new(`{"` + strings.Join(elements, `","`) + `"}`)
}

// quoted escapes a text in such an array, and bytesText writes bytes.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func bytesText(s string) string { return `\\x` + hex.EncodeToString([]byte(s)) }

// label queues what finds entries by their subjects.
func (w *writes) label(b *pgx.Batch, put []driver.Placed) {
	var labels, refs, ids [][]byte
	var created []int64
	for _, p := range put {
		for _, s := range p.Entry.Subjects {
			labels, refs, ids = append(labels, sqlstore.Label(w.Tenant, s)), append(refs, []byte(p.Ref)), append(ids, []byte(p.Entry.ID))
			created = append(created, p.Entry.CreatedAt.UnixMilli())
		}
	}
	if len(labels) == 0 {
		return
	}
	const label = `
		INSERT INTO agentmemory.subjects (tenant, subject, ref, created_at, id)
		SELECT t.tenant, l.* FROM agentmemory.tenants t, unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::bytea[]) AS l WHERE t.tenant = $1
		ON CONFLICT DO NOTHING`
	b.Queue(label, []byte(w.Tenant), labels, refs, created, ids)
}

// ofTenant is the condition that a row is of the tenant $1, in words that lead no plan into
// an index, unless a cluster has to be told by them where the row is.
func (db *DB) ofTenant() string {
	if db.distributed {
		return ` tenant = $1`
	}
	return ` CASE WHEN tenant = $1 THEN 1 END IS NOT NULL`
}

// located are the entries that $2 and $3 name.
const located = `unnest((SELECT $2::bytea[]), (SELECT $3::bytea[])) AS n (ref, id)`

// these is the condition that a row of a table is about one of the entries that $1 to $3
// name. Joined with them, or compared with all, the planner could choose to read the
// whole scope; the OFFSET has each looked up. A transaction that has the tenant's row may go by ctid:
// no other changes what is about entries.
func (db *DB) these(table string) string {
	return db.ofTenant() + ` AND ctid = ANY (ARRAY(SELECT x.ctid FROM ` + located + `, LATERAL (
		SELECT x.ctid FROM agentmemory.` + table + ` x WHERE x.tenant = $1 AND x.ref = n.ref AND x.id = n.id OFFSET 0) x))`
}

// theseArgs are the parameters of these.
func theseArgs(tenant string, entries []driver.Located) []any {
	refs, ids := namesOf(entries)
	return []any{[]byte(tenant), refs, ids}
}

func (w *writes) retire(b *pgx.Batch) {
	for _, x := range w.Plan.Retire {
		b.Queue(`UPDATE agentmemory.entries SET died = `+current+`, state = $4, successor = NULLIF($5::bytea, '') WHERE tenant = $1 AND ref = $2 AND id = $3`,
			[]byte(w.Tenant), []byte(x.Ref), []byte(x.ID), int16(x.State), []byte(x.For))
	}
}

func (w *writes) restore(b *pgx.Batch) {
	if len(w.Plan.Restore) == 0 {
		return
	}
	args := theseArgs(w.Tenant, w.Plan.Restore)
	b.Queue(`
		INSERT INTO agentmemory.former (tenant, ref, id, born, died)
		SELECT tenant, ref, id, born, died FROM agentmemory.entries WHERE`+w.db.these("entries")+` AND born < died
		ON CONFLICT DO NOTHING`, args...)
	b.Queue(`
		UPDATE agentmemory.entries SET born = `+current+`, died = 9223372036854775807, state = 0, successor = NULL
		WHERE`+w.db.these("entries"), args...)
}

func (w *writes) erase(b *pgx.Batch) {
	if len(w.Plan.Erase) == 0 {
		return
	}
	args := theseArgs(w.Tenant, w.Plan.Erase)
	// A live entry was there up to this version. Of spans that end together the
	// longest says all.
	b.Queue(`
		INSERT INTO agentmemory.erased_spans AS s (tenant, ref, died, born)
		SELECT x.tenant, x.ref, x.died, min(x.born) FROM (
			SELECT tenant, ref, LEAST(died, `+current+`) AS died, born FROM agentmemory.entries WHERE`+w.db.these("entries")+` AND NOT erased
			UNION ALL
			SELECT tenant, ref, died, born FROM agentmemory.former WHERE`+w.db.these("former")+`
		) x WHERE x.born < x.died GROUP BY x.tenant, x.ref, x.died
		ON CONFLICT (tenant, ref, died) DO UPDATE SET born = LEAST(s.born, excluded.born)`, args...)
	b.Queue(`
		UPDATE agentmemory.entries
		SET erased = true, content = '', run_id = '', tags = NULL, subjects = NULL, sources = NULL
		WHERE`+w.db.these("entries")+` AND NOT erased`, args...)
	w.db.removeAbout(b, w.Tenant, w.Plan.Erase, "former", "subjects")
	removeWhole(b, w.Tenant, w.Plan.Erase)
}

// removeAbout queues the removal of the rows of some tables that are about entries, and of the
// documents that were made of them.
func (db *DB) removeAbout(b *pgx.Batch, tenant string, entries []driver.Located, tables ...string) {
	for _, table := range tables {
		b.Queue(`DELETE FROM agentmemory.`+table+` WHERE`+db.these(table), theseArgs(tenant, entries)...)
	}
	documents := `
		DELETE FROM agentmemory.documents WHERE` + db.ofTenant() + ` AND ctid = ANY (ARRAY(
			SELECT d.ctid FROM ` + located + `, LATERAL (
				SELECT o.ref, o.kind, o.key FROM agentmemory.document_of o WHERE o.tenant = $1 AND o.ref = n.ref AND o.id = n.id OFFSET 0) o, LATERAL (
				SELECT d.ctid FROM agentmemory.documents d WHERE d.tenant = $1 AND d.ref = o.ref AND d.kind = o.kind AND d.key = o.key OFFSET 0) d))`
	b.Queue(documents, theseArgs(tenant, entries)...)
}

// removeWhole queues the removal of the documents that were made of the whole refs of entries.
func removeWhole(b *pgx.Batch, tenant string, entries []driver.Located) {
	of := map[string]bool{}
	for _, l := range entries {
		of[l.Ref] = true
	}
	b.Queue(`DELETE FROM agentmemory.documents WHERE tenant = $1 AND ref = ANY ($2) AND whole`, []byte(tenant), idKeys(slices.Collect(maps.Keys(of))))
}

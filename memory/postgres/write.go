package postgres

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/internal/sqlstore"
	"github.com/openwop/agentmemory/memory/driver"
)

// queueAll queues all writes of a mutation that holds.
func (w *writes) queueAll(b *pgx.Batch) {
	if !w.m.Unversioned() {
		w.addVersion(b)
	}
	w.insert(b)
	w.retire(b)
	w.restore(b)
	w.swap(b, true)
	w.erase(b)
	w.swap(b, false)
	w.queueEvents(b)
}

// inserted is an entry as insertEntries is given it, in JSON.
type inserted struct {
	Ref      string   `json:"ref"`
	ID       string   `json:"id"`
	Created  int64    `json:"created"`
	Expires  int64    `json:"expires"`
	Run      string   `json:"run"`
	Content  string   `json:"content"`
	Tags     []string `json:"tags,omitempty"`
	Subjects []string `json:"subjects,omitempty"`
	Sources  []string `json:"sources,omitempty"`
}

// insertEntries: the row of the tenant, which the transaction has, says with each entry that it belongs on
// the node of that tenant, where a cluster then does all.
const insertEntries = `
	INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, run_id, content, tags, subjects, sources, born)
	SELECT t.tenant, p.ref, p.id, p.created, p.expires, p.run, p.content, p.tags, p.subjects, p.sources, ` + current + `
	FROM agentmemory.tenants t, json_to_recordset($2::text::json)
		AS p (ref bytea, id bytea, created bigint, expires bigint, run bytea, content text, tags text[], subjects bytea[], sources bytea[])
	WHERE t.tenant = $1`

// insert queues entries and their labels.
func (w *writes) insert(b *pgx.Batch) {
	put := w.plan.Insert
	if len(put) == 0 {
		return
	}
	rows := make([]inserted, len(put))
	for i := range put {
		e := &put[i].Entry
		rows[i] = inserted{inHex(put[i].Ref), inHex(e.ID), e.CreatedAt.UnixMilli(), sqlstore.Expiry(e.ExpiresAt), inHex(e.RunID), e.Content,
			e.Tags, allInHex(e.Subjects), allInHex(e.Sources)}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // it has no such type
	}
	b.Queue(insertEntries, []byte(w.tenant), string(text))
	w.label(b, put)
}

// inHex writes a name as PostgreSQL reads BYTEA.
func inHex(s string) string { return `\x` + hex.EncodeToString([]byte(s)) }

func allInHex(list []string) (coded []string) {
	for _, s := range list {
		coded = append(coded, inHex(s))
	}
	return coded
}

// label queues what finds entries by their subjects.
func (w *writes) label(b *pgx.Batch, put []driver.Placed) {
	var labels, refs, ids [][]byte
	for _, p := range put {
		for _, s := range p.Entry.Subjects {
			labels, refs, ids = append(labels, sqlstore.Label(w.tenant, s)), append(refs, []byte(p.Ref)), append(ids, []byte(p.Entry.ID))
		}
	}
	if len(labels) == 0 {
		return
	}
	const label = `
		INSERT INTO agentmemory.subjects (tenant, subject, ref, id)
		SELECT t.tenant, l.* FROM agentmemory.tenants t, unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS l WHERE t.tenant = $1
		ON CONFLICT DO NOTHING`
	b.Queue(label, []byte(w.tenant), labels, refs, ids)
}

// ofTenant is the condition that a row is of the tenant $1, in words that lead no plan into
// an index, unless a cluster has to be told by them where the row is.
func (db *DB) ofTenant() string {
	if db.distributed {
		return ` tenant = $1`
	}
	return ` CASE WHEN tenant = $1 THEN 1 END IS NOT NULL`
}

// these is the condition that a row of a table is about one of the entries that $1 to $3
// name. Joined with them, or compared with all, the planner could choose to read the
// whole scope; the OFFSET has each looked up. A transaction that has the tenant's row may go by ctid:
// no other changes what is about entries.
func (db *DB) these(table string) string {
	return db.ofTenant() + ` AND ctid = ANY (ARRAY(SELECT x.ctid FROM unnest($2::bytea[], $3::bytea[]) AS n (ref, id), LATERAL (
		SELECT x.ctid FROM agentmemory.` + table + ` x WHERE x.tenant = $1 AND x.ref = n.ref AND x.id = n.id OFFSET 0) x))`
}

// theseArgs are the parameters of these.
func theseArgs(tenant string, entries []driver.Located) []any {
	refs, ids := namesOf(entries)
	return []any{[]byte(tenant), refs, ids}
}

func (w *writes) retire(b *pgx.Batch) {
	for _, x := range w.plan.Retire {
		b.Queue(`UPDATE agentmemory.entries SET died = `+current+`, state = $4, successor = NULLIF($5::bytea, '') WHERE tenant = $1 AND ref = $2 AND id = $3`,
			[]byte(w.tenant), []byte(x.Ref), []byte(x.ID), int16(x.State), []byte(x.For))
	}
}

func (w *writes) restore(b *pgx.Batch) {
	if len(w.plan.Restore) == 0 {
		return
	}
	args := theseArgs(w.tenant, w.plan.Restore)
	b.Queue(`
		INSERT INTO agentmemory.former (tenant, ref, id, born, died)
		SELECT tenant, ref, id, born, died FROM agentmemory.entries WHERE`+w.db.these("entries")+` AND born < died
		ON CONFLICT DO NOTHING`, args...)
	b.Queue(`
		UPDATE agentmemory.entries SET born = `+current+`, died = 9223372036854775807, state = 0, successor = NULL
		WHERE`+w.db.these("entries"), args...)
}

func (w *writes) erase(b *pgx.Batch) {
	if len(w.plan.Erase) == 0 {
		return
	}
	args := theseArgs(w.tenant, w.plan.Erase)
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
	w.db.removeAbout(b, w.tenant, w.plan.Erase, "former", "subjects")
	removeWhole(b, w.tenant, w.plan.Erase, w.m.Documents)
}

// removeAbout queues the removal of the rows of some tables that are about entries, and of the
// documents that were made of them.
func (db *DB) removeAbout(b *pgx.Batch, tenant string, entries []driver.Located, tables ...string) {
	for _, table := range tables {
		b.Queue(`DELETE FROM agentmemory.`+table+` WHERE`+db.these(table), theseArgs(tenant, entries)...)
	}
	documents := `
		DELETE FROM agentmemory.documents WHERE` + db.ofTenant() + ` AND ctid = ANY (ARRAY(
			SELECT d.ctid FROM unnest($2::bytea[], $3::bytea[]) AS n (ref, id), LATERAL (
				SELECT o.ref, o.kind, o.key FROM agentmemory.document_of o WHERE o.tenant = $1 AND o.ref = n.ref AND o.id = n.id OFFSET 0) o, LATERAL (
				SELECT d.ctid FROM agentmemory.documents d WHERE d.tenant = $1 AND d.ref = o.ref AND d.kind = o.kind AND d.key = o.key OFFSET 0) d))`
	b.Queue(documents, theseArgs(tenant, entries)...)
}

// removeWhole queues the removal of the documents that were made of the whole refs of entries, but
// for those that swaps set.
func removeWhole(b *pgx.Batch, tenant string, entries []driver.Located, swaps []driver.DocumentSwap) {
	of := map[string]bool{}
	for _, l := range entries {
		of[l.Ref] = true
	}
	kept, kinds, keys := [][]byte{}, [][]byte{}, [][]byte{}
	for i := range swaps {
		if x := &swaps[i]; of[x.Ref] && x.Act == driver.Set {
			kept, kinds, keys = append(kept, []byte(x.Ref)), append(kinds, []byte(x.Kind)), append(keys, []byte(x.Key))
		}
	}
	b.Queue(`DELETE FROM agentmemory.documents d WHERE d.tenant = $1 AND d.ref = ANY ($2) AND d.whole
		AND (d.ref, d.kind, d.key) NOT IN (SELECT * FROM unnest($3::bytea[], $4::bytea[], $5::bytea[]))`,
		[]byte(tenant), idKeys(slices.Collect(maps.Keys(of))), kept, kinds, keys)
}

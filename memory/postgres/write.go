package postgres

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

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

// insert queues entries and their labels. The row of the tenant, which the transaction has,
// says with each that it belongs on the node of that tenant, where a cluster then does all.
func (w *writes) insert(b *pgx.Batch) {
	put := w.plan.Insert
	switch len(put) {
	case 0:
		return
	case 1:
		const one = `
			INSERT INTO agentmemory.entries (tenant, ref, long_ref, id, created_at, expires_at, run_id, content, tags, subjects, sources, born)
			SELECT t.tenant, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + current + ` FROM agentmemory.tenants t WHERE t.tenant = $1`
		p := &put[0]
		e := &p.Entry
		b.Queue(one, []byte(w.tenant), keyOf(p.Ref), wholeOf(p.Ref), []byte(e.ID), e.CreatedAt.UnixMilli(), expiry(e),
			[]byte(e.RunID), e.Content, orNil(e.Tags), idKeys(e.Subjects), idKeys(e.Sources))
	default:
		w.insertMany(b, put)
	}
	w.label(b, put)
}

func (w *writes) insertMany(b *pgx.Batch, put []driver.Placed) {
	const many = `
		INSERT INTO agentmemory.entries (tenant, ref, long_ref, id, created_at, expires_at, run_id, content, tags, subjects, sources, born)
		SELECT t.tenant, p.ref, p.long_ref, p.id, p.created_at, p.expires_at, p.run_id, p.content,
			NULLIF(p.tags, '')::text[], NULLIF(p.subjects, '')::bytea[], NULLIF(p.sources, '')::bytea[], ` + current + `
		FROM agentmemory.tenants t,
			unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bytea[], $8::text[], $9::text[], $10::text[], $11::text[])
				AS p (ref, long_ref, id, created_at, expires_at, run_id, content, tags, subjects, sources)
		WHERE t.tenant = $1`
	n := len(put)
	refs, wholes, ids, runs := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	created, expires := make([]int64, n), make([]int64, n)
	contents, tags, subjects, sources := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	for i := range put {
		e := &put[i].Entry
		refs[i], wholes[i], ids[i], runs[i] = keyOf(put[i].Ref), wholeOf(put[i].Ref), []byte(e.ID), []byte(e.RunID)
		created[i], expires[i], contents[i] = e.CreatedAt.UnixMilli(), expiry(e), e.Content
		tags[i], subjects[i], sources[i] = textArray(e.Tags), nameArray(e.Subjects), nameArray(e.Sources)
	}
	b.Queue(many, []byte(w.tenant), refs, wholes, ids, created, expires, runs, contents, tags, subjects, sources)
}

// label queues what finds entries by their subjects.
func (w *writes) label(b *pgx.Batch, put []driver.Placed) {
	var labels, refs, ids [][]byte
	for _, p := range put {
		for _, s := range p.Entry.Subjects {
			labels, refs, ids = append(labels, keyOf(s)), append(refs, keyOf(p.Ref)), append(ids, []byte(p.Entry.ID))
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

// theseArgs are the parameters of these, and further ones.
func theseArgs(tenant string, entries []driver.Located, further ...any) []any {
	refs, ids := namesOf(entries)
	return append([]any{[]byte(tenant), refs, ids}, further...)
}

func (w *writes) retire(b *pgx.Batch) {
	type fate struct {
		state     driver.State
		successor string
	}
	alike := map[fate][]driver.Located{}
	var fates []fate
	for _, x := range w.plan.Retire {
		f := fate{x.State, x.For}
		if alike[f] == nil {
			fates = append(fates, f)
		}
		alike[f] = append(alike[f], x.Located)
	}
	for _, f := range fates {
		b.Queue(`UPDATE agentmemory.entries SET died = `+current+`, state = $4, successor = NULLIF($5::bytea, '') WHERE`+w.db.these("entries"),
			theseArgs(w.tenant, alike[f], int16(f.state), []byte(f.successor))...)
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
	var refs, ids [][]byte
	for _, l := range entries {
		refs, ids = append(refs, []byte(l.Ref)), append(ids, keyOf(l.ID))
	}
	b.Queue(documents, []byte(tenant), refs, ids)
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

func idKeys(list []string) [][]byte {
	if len(list) == 0 {
		return nil
	}
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

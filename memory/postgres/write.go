package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// current is the version that the transaction is making.
const current = `(SELECT version FROM agentmemory.tenants WHERE tenant = $1)`

// queueAll queues all writes of a mutation that holds.
func (w *writes) queueAll(b *pgx.Batch) {
	fresh := w.fresh()
	if !w.machinery {
		const note = `
			INSERT INTO agentmemory.versions (tenant, version, mark, changes)
			SELECT tenant, version, $2, $3 FROM agentmemory.tenants WHERE tenant = $1`
		b.Queue(note, []byte(w.tenant), w.mark[:], w.journal(fresh))
	}
	w.insert(b, fresh, ` ON CONFLICT DO NOTHING`)
	if u := usageOf(fresh); u.Entries > 0 {
		const count = `UPDATE agentmemory.tenants SET entries = entries + $2, bytes = bytes + $3 WHERE tenant = $1`
		b.Queue(count, []byte(w.tenant), u.Entries, u.Bytes)
	}
	w.retire(b)
	w.restore(b)
	w.swap(b, true)
	w.erase(b)
	w.swap(b, false)
	w.queueEvents(b)
}

// journal is what the mutation touches, of which fresh are the entries that it puts.
func (w *writes) journal(fresh []driver.Placed) []byte {
	j := journal{data: []byte{}}
	there := map[place]bool{}
	for i := range fresh {
		j.add(wasPut, fresh[i].Ref, fresh[i].Entry.ID)
		there[place{fresh[i].Ref, fresh[i].Entry.ID}] = true
	}
	for _, x := range w.m.Retire {
		j.add(wasRetired, x.Ref, x.ID)
	}
	for _, l := range w.m.Restore {
		j.add(wasRestored, l.Ref, l.ID)
	}
	for _, l := range w.m.Erase {
		at := place{l.Ref, l.ID}
		if h := w.held[at]; there[at] || h != nil && !h.Erased {
			j.add(wasErased, l.Ref, l.ID)
		}
	}
	return j.data
}

// fresh are the entries to put that are not there.
func (w *writes) fresh() []driver.Placed {
	var fresh []driver.Placed
	seen := map[place]bool{}
	for _, p := range w.m.Put {
		at := place{p.Ref, p.Entry.ID}
		if w.held[at] == nil && !seen[at] {
			fresh = append(fresh, p)
		}
		seen[at] = true
	}
	return fresh
}

// usageOf is what new entries come to. Triggers count whatever becomes of them later.
func usageOf(put []driver.Placed) (u driver.Limits) {
	for i := range put {
		u.Add(&put[i].Entry, 1)
	}
	return u
}

// insert queues entries and their labels, which are counted apart: a trigger would cost a
// put a fifth of its time.
func (w *writes) insert(b *pgx.Batch, put []driver.Placed, onConflict string) {
	switch len(put) {
	case 0:
		return
	case 1:
		const one = `
			INSERT INTO agentmemory.entries (tenant, ref, long_ref, id, created_at, expires_at, run_id, content, tags, subjects, sources, born)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ` + current + `)`
		p := &put[0]
		e := &p.Entry
		b.Queue(one+onConflict, []byte(w.tenant), keyOf(p.Ref), wholeOf(p.Ref), []byte(e.ID), e.CreatedAt.UnixMilli(), expiry(e),
			[]byte(e.RunID), e.Content, orNil(e.Tags), names(e.Subjects), names(e.Sources))
	default:
		w.insertMany(b, put, onConflict)
	}
	w.label(b, put)
}

func (w *writes) insertMany(b *pgx.Batch, put []driver.Placed, onConflict string) {
	const (
		into = `
			INSERT INTO agentmemory.entries (tenant, ref, id, created_at, expires_at, run_id, content, tags, born`
		values = `)
			SELECT $1, p.ref, p.id, p.created_at, p.expires_at, p.run_id, p.content, NULLIF(p.tags, '')::text[], ` + current
		from = `
			FROM unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[], $7::text[], $8::text[]`
		as = `) AS p (ref, id, created_at, expires_at, run_id, content, tags`

		common = into + values + from + as + `)`
		whole  = into + `, long_ref, subjects, sources` +
			values + `, p.long_ref, NULLIF(p.subjects, '')::bytea[], NULLIF(p.sources, '')::bytea[]` +
			from + `, $9::bytea[], $10::text[], $11::text[]` + as + `, long_ref, subjects, sources)`
	)
	n := len(put)
	refs, ids, runs := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	created, expires := make([]int64, n), make([]int64, n)
	contents, tags := make([]string, n), make([]string, n)
	rare := false
	for i := range put {
		e := &put[i].Entry
		refs[i], ids[i], runs[i] = keyOf(put[i].Ref), []byte(e.ID), []byte(e.RunID)
		created[i], expires[i], contents[i], tags[i] = e.CreatedAt.UnixMilli(), expiry(e), e.Content, textArray(e.Tags)
		rare = rare || len(e.Subjects)+len(e.Sources) > 0 || len(put[i].Ref) > maxKey
	}
	args := []any{[]byte(w.tenant), refs, ids, created, expires, runs, contents, tags}
	if !rare {
		b.Queue(common+onConflict, args...)
		return
	}
	wholes, subjects, sources := make([][]byte, n), make([]string, n), make([]string, n)
	for i := range put {
		wholes[i], subjects[i], sources[i] = wholeOf(put[i].Ref), nameArray(put[i].Entry.Subjects), nameArray(put[i].Entry.Sources)
	}
	b.Queue(whole+onConflict, append(args, wholes, subjects, sources)...)
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
		SELECT $1, l.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS l ON CONFLICT DO NOTHING`
	b.Queue(label, []byte(w.tenant), labels, refs, ids)
}

func (w *writes) retire(b *pgx.Batch) {
	if len(w.m.Retire) == 0 {
		return
	}
	var refs, ids, heirs [][]byte
	var states []int16
	for _, x := range w.m.Retire {
		refs, ids, states = append(refs, keyOf(x.Ref)), append(ids, []byte(x.ID)), append(states, int16(x.State))
		var heir []byte
		if x.For != "" {
			heir = []byte(x.For)
		}
		heirs = append(heirs, heir)
	}
	const retire = `
		UPDATE agentmemory.entries e SET died = ` + current + `, state = r.state, heir = r.heir
		FROM unnest($2::bytea[], $3::bytea[], $4::smallint[], $5::bytea[]) AS r (ref, id, state, heir)
		WHERE e.tenant = $1 AND e.ref = r.ref AND e.id = r.id`
	b.Queue(retire, []byte(w.tenant), refs, ids, states, heirs)
}

func (w *writes) restore(b *pgx.Batch) {
	if len(w.m.Restore) == 0 {
		return
	}
	refs, ids := located(w.m.Restore)
	const remember = `
		INSERT INTO agentmemory.former (tenant, ref, id, born, died)
		SELECT e.tenant, e.ref, e.id, e.born, e.died
		FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
		JOIN agentmemory.entries e ON e.tenant = $1 AND e.ref = r.ref AND e.id = r.id
		WHERE e.born < e.died ON CONFLICT DO NOTHING`
	b.Queue(remember, []byte(w.tenant), refs, ids)
	const restore = `
		UPDATE agentmemory.entries e SET born = ` + current + `, died = 9223372036854775807, state = 0, heir = NULL
		FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
		WHERE e.tenant = $1 AND e.ref = r.ref AND e.id = r.id`
	b.Queue(restore, []byte(w.tenant), refs, ids)
}

func (w *writes) erase(b *pgx.Batch) {
	if len(w.m.Erase) == 0 {
		return
	}
	refs, ids := located(w.m.Erase)
	queue := func(sql string) { b.Queue(sql, []byte(w.tenant), refs, ids) }
	// A live entry was there up to this version. Of spans that end together the
	// longest says all.
	queue(`
		INSERT INTO agentmemory.scars AS s (tenant, ref, died, born)
		SELECT $1, x.ref, x.died, min(x.born) FROM (
			SELECT r.ref, LEAST(e.died, ` + current + `) AS died, e.born
			FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
			JOIN agentmemory.entries e ON e.tenant = $1 AND e.ref = r.ref AND e.id = r.id WHERE NOT e.erased
			UNION ALL
			SELECT r.ref, f.died, f.born
			FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
			JOIN agentmemory.former f ON f.tenant = $1 AND f.ref = r.ref AND f.id = r.id
		) x WHERE x.born < x.died GROUP BY x.ref, x.died
		ON CONFLICT (tenant, ref, died) DO UPDATE SET born = LEAST(s.born, excluded.born)`)
	queue(`
		UPDATE agentmemory.entries e
		SET erased = true, content = '', run_id = '', tags = NULL, subjects = NULL, sources = NULL
		FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
		WHERE e.tenant = $1 AND e.ref = r.ref AND e.id = r.id AND NOT e.erased`)
	for _, table := range []string{"former", "subjects"} {
		queue(deleteNamed(table))
	}
	wholes, keys := make([][]byte, len(w.m.Erase)), make([][]byte, len(w.m.Erase))
	for i, l := range w.m.Erase {
		wholes[i], keys[i] = []byte(l.Ref), keyOf(l.ID)
	}
	b.Queue(removeDocumentsOf, []byte(w.tenant), wholes, keys)
}

// removeDocumentsOf removes the documents that were made of entries. A plan that is made
// for any tenant would read all documents of this one, but for the OFFSETs, by which each is
// looked up. Who has the tenant's row may go by ctid: nobody else changes content.
const removeDocumentsOf = `
	DELETE FROM agentmemory.documents WHERE tenant = $1 AND ctid = ANY (ARRAY(
		SELECT d.ctid FROM unnest($2::bytea[], $3::bytea[]) AS r (ref, id), LATERAL (
			SELECT o.kind, o.key FROM agentmemory.document_of o WHERE o.tenant = $1 AND o.ref = r.ref AND o.id = r.id OFFSET 0) o, LATERAL (
			SELECT d.ctid FROM agentmemory.documents d WHERE d.tenant = $1 AND d.ref = r.ref AND d.kind = o.kind AND d.key = o.key OFFSET 0) d))`

// deleteNamed deletes the rows of a table that are about the entries named by $2, $3.
func deleteNamed(table string) string {
	return `
		DELETE FROM agentmemory.` + table + ` x USING unnest($2::bytea[], $3::bytea[]) AS r (ref, id)
		WHERE x.tenant = $1 AND x.ref = r.ref AND x.id = r.id`
}

func (w *writes) queueEvents(b *pgx.Batch) {
	n := len(w.m.Events)
	if n == 0 {
		return
	}
	tenants, runs, ids, nodes := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	times := make([]int64, n)
	types, payloads := make([]string, n), make([]string, n)
	for i := range w.m.Events {
		r := &w.m.Events[i]
		tenants[i], runs[i], ids[i], nodes[i] = []byte(r.Tenant), []byte(r.RunID), []byte(r.ID), []byte(r.NodeID)
		times[i], types[i] = r.Time.UnixMilli(), string(r.Payload.EventType())
		payload, err := json.Marshal(r.Payload)
		if err != nil {
			panic(err) // payloads are structs of strings and numbers
		}
		payloads[i] = string(payload)
	}
	const queue = `
		INSERT INTO agentmemory.outbox (tenant, run_id, event_id, node_id, time, type, payload)
		SELECT v.tenant, v.run, v.id, v.node, v.time, v.type, v.payload
		FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[], $6::text[], $7::text[])
			WITH ORDINALITY AS v (tenant, run, id, node, time, type, payload, place)
		ORDER BY v.place
		ON CONFLICT (tenant, run_id, event_id) DO NOTHING`
	b.Queue(queue, tenants, runs, ids, nodes, times, types, payloads)
}

func located(ls []driver.Located) (refs, ids [][]byte) {
	for _, l := range ls {
		refs, ids = append(refs, keyOf(l.Ref)), append(ids, []byte(l.ID))
	}
	return refs, ids
}

func names(list []string) [][]byte {
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

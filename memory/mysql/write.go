package mysql

import (
	"strconv"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// writeCall adds all writes of a mutation that holds, but for its events.
func (g *group) writeCall(b *batch, c *sqlstore.Call) {
	if g.versioned {
		g.made++
		addVersion(b, g.tenant, g.base, g.made, c)
	}
	g.insert(b, c.Plan.Insert)
	for _, x := range c.Plan.Retire {
		b.exec(`UPDATE agentmemory_entries SET died = `+g.base+` + $4, state = $5, successor = $6 WHERE`+ofEntry,
			append(at(x.Located), g.made, uint8(x.State), []byte(x.For))...)
	}
	for _, l := range c.Plan.Restore {
		b.exec(`INSERT IGNORE INTO agentmemory_former (tenant, ref, id, born, died)
			SELECT tenant, ref, id, born, died FROM agentmemory_entries WHERE`+ofEntry+` AND born < died`, at(l)...)
		b.exec(`UPDATE agentmemory_entries SET born = `+g.base+` + $4, died = 9223372036854775807, state = 0, successor = '' WHERE`+ofEntry,
			append(at(l), g.made)...)
	}
	g.swap(b, c, true)
	for _, l := range c.Plan.Erase {
		g.erase(b, l)
	}
	removeWhole(b, c.Plan.Erase)
	g.swap(b, c, false)
	if len(c.Plan.Erase) > 0 {
		readRevs(b, c)
	}
}

// addVersion adds the version of a mutation, the n-th behind that of base.
func addVersion(b *batch, tenant []byte, base string, n int64, c *sqlstore.Call) {
	b.exec(`INSERT INTO agentmemory_versions (tenant, version, mark, changes) VALUES ($1, `+base+` + $2, $3, $4)`, tenant, n, c.Mark[:], c.Plan.Journal())
}

// ofEntry is the condition that a row is about the entry that $1 to $3 name, see at.
const ofEntry = ` tenant = $1 AND ref = $2 AND id = $3`

func at(l driver.Located) []any { return []any{[]byte(l.Tenant), []byte(l.Ref), []byte(l.ID)} }

// insert adds entries and their labels.
func (g *group) insert(b *batch, put []driver.Placed) {
	var entries, labels [][]any
	for i := range put {
		x, e := &put[i], &put[i].Entry
		entries = append(entries, append(at(x.Located()), e.CreatedAt.UnixMilli(), sqlstore.Expiry(e.ExpiresAt), headOf(e), []byte(e.Content)))
		for _, s := range e.Subjects {
			labels = append(labels, append(at(x.Located()), sqlstore.Label(x.Tenant, s), e.CreatedAt.UnixMilli()))
		}
	}
	b.rows(`INSERT INTO agentmemory_entries (born, tenant, ref, id, created_at, expires_at, head, content) VALUES`, `(`+g.base+` + `+strconv.FormatInt(g.made, 10)+`, `, entries)
	b.rows(`INSERT IGNORE INTO agentmemory_subjects (tenant, ref, id, subject, created_at) VALUES`, `(`, labels)
}

// erase removes the text of an entry and what is about it, and records at which versions it is missed.
// A live entry was there up to this version. Of spans that end together the longest says all.
func (g *group) erase(b *batch, l driver.Located) {
	const longest = ` ON DUPLICATE KEY UPDATE born = LEAST(agentmemory_erased_spans.born, VALUES(born))`
	b.exec(`INSERT INTO agentmemory_erased_spans (tenant, ref, died, born)
		SELECT e.tenant, e.ref, LEAST(e.died, `+g.base+` + $4), e.born FROM agentmemory_entries e WHERE`+ofEntry+` AND e.born < LEAST(e.died, `+g.base+` + $4)`+longest,
		append(at(l), g.made)...)
	b.exec(`INSERT INTO agentmemory_erased_spans (tenant, ref, died, born)
		SELECT f.tenant, f.ref, f.died, f.born FROM agentmemory_former f WHERE`+ofEntry+longest, at(l)...)
	b.exec(`UPDATE agentmemory_entries SET died = 0, head = '', content = '' WHERE`+ofEntry, at(l)...)
	removeAbout(b, l)
}

// removeAbout adds the removal of what is about an entry, and of the documents that were made of it.
func removeAbout(b *batch, l driver.Located) {
	b.exec(`DELETE FROM agentmemory_former WHERE`+ofEntry, at(l)...)
	b.exec(`DELETE FROM agentmemory_subjects WHERE`+ofEntry, at(l)...)
	b.exec(`DELETE d FROM agentmemory_document_of o FORCE INDEX (document_of_entry)
		STRAIGHT_JOIN agentmemory_documents d ON d.tenant = o.tenant AND d.ref = o.ref AND d.kind = o.kind AND d.key = o.key
		WHERE o.tenant = $1 AND o.ref = $2 AND o.id = $3`, at(l)...)
}

// removeWhole adds the removal of the documents that were made of the whole refs of entries.
func removeWhole(b *batch, entries []driver.Located) {
	done := map[driver.Scope]bool{}
	for _, l := range entries {
		if !done[l.Scope] {
			done[l.Scope] = true
			b.exec(`DELETE FROM agentmemory_documents WHERE tenant = $1 AND whole = 1 AND ref = $2`, []byte(l.Tenant), []byte(l.Ref))
		}
	}
}

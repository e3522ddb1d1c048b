package mysql

import (
	"encoding/binary"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// ofDocument is the condition that a row is about the document that $1 to $4 name, see named.
const ofDocument = ` d.tenant = $1 AND d.ref = $2 AND d.kind = $3 AND d.key = $4`

func nameOf(d *driver.Document) []any {
	return []any{[]byte(d.Tenant), []byte(d.Ref), []byte(d.Kind), []byte(d.Key)}
}

// stagedBytes is from which size on a value is written before the tenant's row is taken.
const stagedBytes = 64 << 10

func isStaged(c *sqlstore.Call, x *driver.DocumentSwap) bool {
	return !c.M.Unversioned() && x.Act == driver.Set && len(x.Value) >= stagedBytes
}

// stagedKey is under which key, of no kind, the i-th document is found until it gets its name. No other
// transaction ever sees it.
func stagedKey(c *sqlstore.Call, i int) []byte {
	return binary.BigEndian.AppendUint32(c.Mark[:], uint32(i))
}

// addDocument is a statement that adds a document, with the parameters of nameOf, its class, what attributes
// has, and the size of its value, and it.
const addDocument = `INSERT INTO agentmemory_documents VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`

// stage adds the large values, so that the tenant's row is not held while they are on their way.
func stage(b *batch, c *sqlstore.Call) {
	for _, i := range c.InOrder(func(x *driver.DocumentSwap) bool { return isStaged(c, x) }) {
		staged := []any{[]byte(c.Tenant), []byte{}, []byte{}, stagedKey(c, i), 0}
		b.exec(addDocument, append(append(staged, attributes(new(driver.DocumentSwap), 0)...), valueOf(&c.M.Documents[i])...)...)
	}
}

// attributes are the revision, the group, the due, the entries of a document, whether it is made of its
// whole ref, and its subjects.
func attributes(x *driver.DocumentSwap, rev int64) []any {
	var group, due any
	if x.Group != "" {
		group = []byte(x.Group)
	}
	if !x.Due.IsZero() {
		due = x.Due.UnixMilli()
	}
	return []any{rev, group, due, sqlstore.Pack(x.Of), x.Whole, sqlstore.Pack(x.Subjects)}
}

// valueOf are the size of a value, and it.
func valueOf(x *driver.DocumentSwap) []any { return []any{len(x.Value), append([]byte{}, x.Value...)} }

const (
	retainDocument = `UPDATE agentmemory_documents d SET d.rev = $5, d.grp = $6, d.due = $7, d.made_of = $8, d.whole = $9, d.subjects = $10`
	setDocument    = retainDocument + `, d.size = $11, d.value = $12`
	nameDocument   = `UPDATE agentmemory_documents d SET d.ref = $2, d.kind = $3, d.key = $4, d.class = $5, d.rev = $6, d.grp = $7, d.due = $8,
		d.made_of = $9, d.whole = $10, d.subjects = $11 WHERE d.tenant = $1 AND d.ref = '' AND d.kind = '' AND d.key = $12`
	removeDocument = `DELETE d FROM agentmemory_documents d WHERE` + ofDocument
)

// swap adds those swaps of which the act is or is not Set, in the order of their names. What is set
// comes before erasures: it is made of other entries from then on.
func (g *group) swap(b *batch, c *sqlstore.Call, set bool) {
	for _, i := range c.InOrder(func(x *driver.DocumentSwap) bool { return (x.Act == driver.Set) == set }) {
		x := &c.M.Documents[i]
		name := nameOf(&x.Document)
		switch {
		case x.Act == driver.Check:
			c.Done.Revs[i] = x.Rev
			continue
		case x.Act == driver.Remove:
			b.exec(removeDocument, name...)
			continue
		}
		g.rev++
		c.Done.Revs[i] = g.rev
		switch {
		case x.Act == driver.Retain:
			b.exec(retainDocument+` WHERE`+ofDocument, append(name, attributes(x, g.rev)...)...)
		case isStaged(c, x):
			b.exec(removeDocument, name...)
			b.exec(nameDocument, append(append(append(name, uint8(x.Class)), attributes(x, g.rev)...), stagedKey(c, i))...)
		case x.Rev == 0:
			b.exec(addDocument, append(append(append(name, uint8(x.Class)), attributes(x, g.rev)...), valueOf(x)...)...)
		default:
			b.exec(setDocument+` WHERE`+ofDocument, append(append(name, attributes(x, g.rev)...), valueOf(x)...)...)
		}
		labels := make([]string, len(x.Subjects))
		for i, s := range x.Subjects {
			labels[i] = string(sqlstore.Label(c.Tenant, s))
		}
		label(b, x, "agentmemory_document_of", x.Of)
		label(b, x, "agentmemory_document_subjects", labels)
	}
}

// label adds what finds a document by its entries or its subjects. It may have gone with an entry.
func label(b *batch, x *driver.DocumentSwap, table string, labels []string) {
	if x.Class == driver.Machinery {
		return
	}
	name := nameOf(&x.Document)
	if x.Rev != 0 {
		b.exec(`DELETE d FROM `+table+` d WHERE`+ofDocument, name...)
	}
	for _, l := range labels {
		b.exec(`INSERT IGNORE INTO `+table+` SELECT d.tenant, d.ref, d.kind, d.key, $5 FROM agentmemory_documents d WHERE`+ofDocument, append(name, []byte(l))...)
	}
}

// readRevs adds what reads the revisions of the documents after an erasure, with which some may have
// gone.
func readRevs(b *batch, c *sqlstore.Call) {
	for i := range c.M.Documents {
		c.Done.Revs[i] = 0
		b.each(`SELECT d.rev FROM agentmemory_documents d WHERE`+ofDocument, nameOf(&c.M.Documents[i].Document), func(row sqlstore.Row) error {
			return row.Scan(&c.Done.Revs[i])
		})
	}
}

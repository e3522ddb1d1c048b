package sqlite

import (
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// never is the instant of what does not expire, and the version at which what is
// live has died. Statements name it by its digits, so that it selects an index.
const never = sqlstore.Never

const (
	// entryColumns are the columns that make an entry, in the order of a scanner: of a row e
	// of entries and its row x of texts, which withText joins.
	entryColumns = `e.id, x.content, x.head, e.created, e.expires`
	withText     = ` CROSS JOIN texts x ON x.entry = e.entry`

	// recordColumns are those that make a row.
	recordColumns = entryColumns + `, e.ref, e.state, e.successor, e.entry, e.born, e.died, e.former`
)

// scanner reads the entryColumns of one row after another, and then others.
type scanner struct {
	entry            driver.Entry
	created, expires int64
	head             sql.RawBytes
	dest             []any
	summer           summer
}

func newScanner(others ...any) *scanner {
	s := new(scanner)
	s.dest = append([]any{&s.entry.ID, &s.entry.Content, &s.head, &s.created, &s.expires}, others...)
	return s
}

// read returns the entry of a row. Of one that was erased only the id is left.
func (s *scanner) read(rows sqlstore.Row) (driver.Entry, error) {
	if err := rows.Scan(s.dest...); err != nil {
		return driver.Entry{}, err
	}
	if s.head == nil && s.entry.Content == "" {
		return driver.Entry{ID: s.entry.ID}, nil
	}
	e := driver.Entry{ID: s.entry.ID, Content: s.entry.Content, CreatedAt: sqlstore.Instant(s.created)}
	if s.expires != never {
		e.ExpiresAt = sqlstore.Instant(s.expires)
	}
	if !readHead(&e, s.head) || binary.BigEndian.Uint32(s.head) != s.summer.sum(s.head[sumBytes:], e.ID, s.created, s.expires, e.Content) {
		return driver.Entry{}, fail(damaged, nil)
	}
	return e, nil
}

// span is the versions from one to before another.
type span [2]int64

// row is a record and when it was live.
type row struct {
	driver.Record
	key    int64 // of its text
	life   span
	former []span // before it was restored
}

// rowScanner returns a function that reads recordColumns.
func rowScanner(tenant string) func(sqlstore.Row) (row, error) {
	var r row
	var former sql.RawBytes
	s := newScanner(&r.Ref, &r.State, &r.For, &r.key, &r.life[0], &r.life[1], &former)
	return func(rows sqlstore.Row) (row, error) {
		var err error
		r.Entry, err = s.read(rows)
		r.Tenant, r.Erased, r.former = tenant, r.life[1] == 0, nil
		if r.Erased {
			r.Entry = driver.Entry{ID: r.Entry.ID}
		}
		if err == nil && former != nil && json.Unmarshal(former, &r.former) != nil {
			err = fail(damaged, nil)
		}
		return r, err
	}
}

// A statement that takes many rows has one parameter for all of them: an array j in JSON, in
// which strings are their bytes in hex. A CROSS JOIN with it is done from left to right.
const (
	name0 = `CAST(unhex(j.value ->> 0) AS TEXT)`
	name1 = `CAST(unhex(j.value ->> 1) AS TEXT)`
	name2 = `CAST(unhex(j.value ->> 2) AS TEXT)`

	// named are the entries of a tenant with these refs and ids, in their order.
	named = `json_each(?2) j CROSS JOIN entries e ON e.tenant = ?1 AND e.ref = ` + name0 + ` AND e.id = ` + name1

	// ofRef are the entries of a ref with the ids of a hexList j.
	ofRef = ` CROSS JOIN entries e ON e.tenant = ?1 AND e.ref = ?2 AND e.id = CAST(unhex(j.value) AS TEXT)`
)

func inHex(s string) string { return hex.EncodeToString([]byte(s)) }

// inJSON writes numbers and ASCII.
func inJSON(rows any) string {
	b, err := json.Marshal(rows)
	if err != nil {
		panic(err) // it has no such type
	}
	return string(b)
}

// hexList is a list of names, in JSON.
func hexList(list []string) string {
	coded := make([]string, len(list))
	for i, s := range list {
		coded[i] = inHex(s)
	}
	return inJSON(coded)
}

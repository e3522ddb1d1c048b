package sqlite

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// pagesLogged counts the pages in a database's log by the table or index that they are of, and
// how large they are.
func pagesLogged(t *testing.T, db *DB) (pages map[string]int, size int) {
	of := map[uint32]string{}
	require.NoError(t, db.reads(t.Context())(func(rows sqlstore.Row) (bool, error) {
		var name string
		var number uint32
		err := rows.Scan(&name, &number)
		of[number] = name
		return true, err
	}, `SELECT name, pageno FROM dbstat`))
	log, err := os.ReadFile(db.writer.path + "-wal")
	require.NoError(t, err)
	size, pages = int(binary.BigEndian.Uint32(log[8:])), map[string]int{}
	for frame := log[32:]; len(frame) >= 24+size; frame = frame[24+size:] {
		pages[of[binary.BigEndian.Uint32(frame)]]++
	}
	return pages, size
}

// What a put writes to the log is a page of each table and index that it changes, and hardly
// more: the README has the table.
func TestPagesOfAPut(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	n := 0
	put := func(event bool, subjects ...string) {
		n++
		m := driver.Mutation{Put: []driver.Placed{{Scope: here, Entry: driver.Entry{
			ID: fmt.Sprintf("m%026d", n), Content: strings.Repeat("x", 200), RunID: "run", CreatedAt: then, Subjects: subjects}}}}
		if event {
			m.Keep = true
			m.Events = []events.Record{{ID: fmt.Sprintf("e%026d", n), Tenant: here.Tenant, RunID: "run", Time: then, Payload: events.WorkspaceUpdated{Path: "p", Version: int64(n)}}}
		}
		_, err := st.Apply(t.Context(), here.Tenant, m)
		require.NoError(t, err)
	}
	for range 2000 {
		put(true, "subject")
	}
	for _, c := range []struct {
		name string
		put  func()
		most int // bytes
	}{
		{"a put", func() { put(false) }, 24 << 10},
		{"a put with a subject", func() { put(false, "subject") }, 28 << 10},
		{"a put with a kept event", func() { put(true) }, 36 << 10},
	} {
		db.writer.unclean = "unknown"
		require.NoError(t, db.writer.emptyLog(true))
		const puts = 50
		for range puts {
			c.put()
		}
		pages, size := pagesLogged(t, db)
		total := 0
		names := []string{}
		for table, n := range pages {
			total += n
			names = append(names, fmt.Sprintf("%s %.2f", table, float64(n)/puts))
		}
		slices.Sort(names)
		bytes := total * (24 + size) / puts
		t.Logf("%s: %d bytes: pages %s", c.name, bytes, strings.Join(names, ", "))
		require.LessOrEqual(t, bytes, c.most, c.name)
	}
}

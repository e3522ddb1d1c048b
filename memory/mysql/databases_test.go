package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/crashload"
	"github.com/openwop/agentmemory/memory/driver"
)

// server is the one that all tests share.
var server struct {
	once sync.Once
	is   *testServer
	err  error
}

func TestMain(m *testing.M) {
	crashload.Child(openForLoad) // does not return in the process that is to be killed
	worker()                     // nor does this, in a process of its own
	if os.Getenv("AGENTMEMORY_WHOLE") != "1" && os.Getenv("AGENTMEMORY_LONG") != "1" {
		flag.Set("test.short", "true") // all sizes of the kit take minutes
	}
	code := m.Run()
	if server.is != nil {
		for _, name := range databases.made {
			_ = server.is.admin(context.Background(), "DROP DATABASE IF EXISTS "+name)
		}
		server.is.close()
	}
	os.Exit(code)
}

// databases lends databases with the tables, and takes them back.
var databases struct {
	sync.Mutex
	made []string
	free []string
}

// emptyDatabase makes a database without tables, of a collation that ignores spaces and cases. It stays
// until the tests end.
func emptyDatabase(t testing.TB) (dsn string) {
	s := forTests(t)
	databases.Lock()
	defer databases.Unlock()
	name := fmt.Sprintf("agentmemory_test_%d_%d", os.Getpid(), len(databases.made))
	databases.made = append(databases.made, name)
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"))
	return s.in(name)
}

// freshDatabase returns a database that may have tables, which are empty.
func freshDatabase(t testing.TB) string {
	databases.Lock()
	n := len(databases.free)
	if n == 0 {
		databases.Unlock()
		return emptyDatabase(t)
	}
	dsn := databases.free[n-1]
	databases.free = databases.free[:n-1]
	databases.Unlock()
	pool, err := sql.Open("mysql", dsn+"?multiStatements=true")
	require.NoError(t, err)
	defer pool.Close()
	var clean strings.Builder
	for _, table := range tables {
		clean.WriteString("DELETE FROM " + table + ";")
	}
	_, err = pool.Exec(clean.String()+"UPDATE agentmemory_meta SET incarnation = ?", rand.Text())
	if err != nil {
		_, err = pool.Exec(clean.String())
		require.NoError(t, err)
		_, err = pool.Exec("UPDATE agentmemory_meta SET incarnation = '" + rand.Text() + "'")
	}
	require.NoError(t, err)
	return dsn
}

func giveBack(dsn string) {
	databases.Lock()
	defer databases.Unlock()
	databases.free = append(databases.free, dsn)
}

// tables are all but meta.
var tables = []string{"agentmemory_tenants", "agentmemory_revisions", "agentmemory_versions", "agentmemory_entries", "agentmemory_former",
	"agentmemory_erased_spans", "agentmemory_subjects", "agentmemory_document_of", "agentmemory_document_subjects", "agentmemory_documents",
	"agentmemory_events", "agentmemory_runs"}

// openDB opens a fresh database for one test.
func openDB(t testing.TB) *DB {
	dsn := freshDatabase(t)
	db, err := Open(t.Context(), dsn, Options{})
	require.NoError(t, err, "%v", errors.Unwrap(err))
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		giveBack(dsn)
	})
	return db
}

var (
	home = driver.Scope{Tenant: "acme", Ref: "support"}
	now  = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
)

func entry(id string) driver.Entry {
	return driver.Entry{ID: "mem_" + id, Content: "the text " + id, CreatedAt: now}
}

func list(t testing.TB, st *Store, s driver.Scope) []driver.Entry {
	entries, err := st.List(t.Context(), s, driver.Query{At: now})
	require.NoError(t, err)
	return entries
}

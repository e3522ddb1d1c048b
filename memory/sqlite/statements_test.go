package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// counter has the statements that a database was asked, in their order.
type counter struct {
	mu   sync.Mutex
	said []string
	// exec, if it is set, runs a statement that returns no rows, or fails it.
	exec func(text string, run func() error) error
}

func (c *counter) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, text)
}

// taken returns what was said since the last call, and how many transactions began in it.
func (c *counter) taken() (said []string, transactions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, c.said = c.said, nil
	for _, text := range said {
		if strings.HasPrefix(text, "BEGIN") {
			transactions++
		}
	}
	return said, transactions
}

type countedConnector struct {
	sqldriver.Connector
	counter *counter
}

func (c countedConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return countedConn{conn, c.counter}, err
}

type countedConn struct {
	sqldriver.Conn
	counter *counter
}

func (c countedConn) PrepareContext(ctx context.Context, text string) (sqldriver.Stmt, error) {
	s, err := c.Conn.(sqldriver.ConnPrepareContext).PrepareContext(ctx, text)
	return countedStmt{s, text, c.counter}, err
}

type countedStmt struct {
	sqldriver.Stmt
	text    string
	counter *counter
}

func (s countedStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	s.counter.add(s.text)
	var result sqldriver.Result
	run := func() (err error) {
		result, err = s.Stmt.(sqldriver.StmtExecContext).ExecContext(ctx, args)
		return err
	}
	if s.counter.exec == nil {
		err := run()
		return result, err
	}
	err := s.counter.exec(s.text, run)
	return result, err
}

func (s countedStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	s.counter.add(s.text)
	return s.Stmt.(sqldriver.StmtQueryContext).QueryContext(ctx, args)
}

// openCounted opens a database whose statements are counted.
func openCounted(t *testing.T) (*DB, *counter) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	count := new(counter)
	w := &db.writer
	counted := func(dsn string) *sql.DB {
		c, err := sqlite.NewConnector(dsn)
		require.NoError(t, err)
		return sql.OpenDB(countedConnector{c, count})
	}
	w.release()
	require.NoError(t, w.conn.Close())
	require.NoError(t, w.db.Close())
	w.conn, w.db = nil, counted(w.dsn)
	require.NoError(t, db.readers.Close())
	db.readers = counted(w.dsn + "&_query_only=1")
	return db, count
}

// What a host does often is a few statements, in one transaction where it writes.
func TestStatements(t *testing.T) {
	db, count := openCounted(t)
	bank, err := memory.New(db.Memory(), memory.Config{KeepEvents: time.Hour, WriteEvents: true})
	require.NoError(t, err)
	run, err := bank.Start(t.Context(), memory.RunConfig{ID: "run", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	put := func(subjects ...string) {
		_, err := run.Put(t.Context(), "notes", memory.Draft{Content: "The lease ends in June.", Subjects: subjects, NodeID: "node"})
		require.NoError(t, err)
	}
	within := func(what string, statements, transactions int) {
		said, began := count.taken()
		t.Logf("%s: %d statements, %d transactions", what, len(said), began)
		require.LessOrEqual(t, len(said), statements, "%s:\n%s", what, strings.Join(said, "\n"))
		require.LessOrEqual(t, began, transactions, "%s:\n%s", what, strings.Join(said, "\n"))
	}
	put("ann")
	count.taken()
	put()
	within("a put with its event", 7, 1)
	put("ann")
	within("a put with its event and a subject", 8, 1)
	count.taken()
	done, err := bank.Forget(t.Context(), "acme", "ann")
	require.NoError(t, err)
	require.Len(t, done.Erased, 2)
	within("forgetting two entries", 20, 1)
	require.NoError(t, run.End(t.Context()))
	consolidator, err := consolidate.New(consolidate.Config{})
	require.NoError(t, err)
	for _, pass := range []string{"first", "second"} {
		count.taken()
		require.NoError(t, bank.Pass(t.Context(), memory.JobConfig{ID: pass, Tenant: "acme", Redactor: redact.New(redact.Config{})}, func(job *memory.Job) error {
			_, err := consolidator.Run(t.Context(), job, "notes", consolidate.Options{})
			return err
		}))
	}
	within("an unchanged consolidation", 17, 1)
}

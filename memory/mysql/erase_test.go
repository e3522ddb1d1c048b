package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/testkit/forgetting"
	"github.com/openwop/agentmemory/memory/driver"
)

// dying is a store whose process ends in the mutation after a number of them: before it, after it, or in
// the middle of its commit, when the connection is cut.
type dying struct {
	*Store
	net  *cutter
	when string
	left int
}

var errDead = errors.New("dead")

func (d *dying) As(target any) bool {
	switch t := target.(type) {
	case *driver.Transactor:
		*t = d
	case *driver.Versioned:
		*t = d
	default:
		return false
	}
	return true
}

func (d *dying) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if d.left--; d.left >= 0 {
		return d.Store.Apply(ctx, tenant, m)
	}
	if d.left == -1 && d.when == "within" {
		word := ";\nCOMMIT"
		d.net.times.Store(1)
		d.net.word.Store(&word)
		if _, err := d.Store.Apply(ctx, tenant, m); !errors.Is(err, driver.ErrOutcomeUnknown) {
			panic("nobody has cut it")
		}
	}
	if d.left == -1 && d.when == "after" {
		if _, err := d.Store.Apply(ctx, tenant, m); err != nil {
			panic(err)
		}
	}
	return driver.Applied{}, errDead
}

// dieInPasses has passes over what was told end at each of their mutations.
func dieInPasses(t *testing.T, h *forgetting.Host, st *Store, net *cutter, sink events.Sink, all ...forgetting.Words) {
	for _, when := range []string{"before", "within", "after"} {
		for n := 0; ; n++ {
			ref := fmt.Sprintf("killed-%s-%d", when, n)
			h.TellLate(t, ref, 1, all...)
			d := &dying{st, net, when, n}
			mortal, err := forgetting.New(d, sink)
			require.NoError(t, err)
			err = mortal.Pass(t.Context(), ref)
			if d.left >= 0 {
				require.NoError(t, err)
				require.Equal(t, 5, n, "mutations of the passes")
				break
			}
			require.Error(t, err)
		}
	}
}

// inTables is all that the tables hold.
func inTables(t *testing.T, dsn string) string {
	pool, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer pool.Close()
	var all strings.Builder
	for _, table := range tables {
		rows, err := pool.QueryContext(t.Context(), "SELECT * FROM "+table)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		values := make([]sql.RawBytes, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		for rows.Next() {
			require.NoError(t, rows.Scan(dest...))
			for _, value := range values {
				all.Write(value)
				all.WriteByte('\n')
			}
		}
		require.NoError(t, rows.Err())
	}
	return all.String()
}

// inFiles counts the files of a server that have a word, by the kind of the file.
func inFiles(t *testing.T, s *testServer, words []string) map[string]int {
	found := map[string]int{}
	require.NoError(t, filepath.WalkDir(filepath.Join(s.dir, "data"), func(path string, file fs.DirEntry, err error) error {
		if err != nil || !file.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, word := range words {
			if n := bytes.Count(data, []byte(word)); n > 0 {
				found[file.Name()] += n
			}
		}
		return err
	}))
	return found
}

// After Forget alone no byte of what was told about a subject is in a table, or reaches the sink, nor of
// what was made of it, wherever a pass had ended; and none is in a file of the server after what the README
// has an operator do. What was told about another one stays.
func TestM10_AfterForgetAloneNoByteIsLeft(t *testing.T) {
	ctx := t.Context()
	s := ownServer(t, "--innodb-fast-shutdown=0", "--log-bin=binlog", "--binlog-format=ROW")
	require.NoError(t, s.admin(ctx, "CREATE DATABASE forgets"))
	dsn := s.in("forgets")
	net := new(cutter)
	mysql.RegisterDialContext("cut", net.dial)
	st := opened(t, strings.Replace(dsn, "@unix(", "@cut(", 1)).Memory()
	sink := new(forgetting.Gate)
	sink.Shut.Store(true)
	h, err := forgetting.New(st, sink)
	require.NoError(t, err)
	goes, stays := forgetting.NewWords(), forgetting.NewWords()
	h.Tell(t, goes)
	h.Tell(t, stays)
	dieInPasses(t, h, st, net, sink, goes, stays)
	all := func() string { return inTables(t, dsn) }
	require.Contains(t, all(), forgetting.Inflected(goes["killed"]))
	gone, kept := goes.Forgotten(), append(stays.Stored(), goes["shared"])
	restart := func() map[string]int {
		require.NoError(t, s.end(syscall.SIGTERM)) // slowly: it purges all, and writes all pages
		found := inFiles(t, s, gone)
		require.NoError(t, s.start())
		return found
	}
	require.Positive(t, restart()["agentmemory_entries.ibd"])
	h.Forget(t, goes, stays, all)
	h.Deliver(t, sink, goes)

	t.Logf("after Forget alone and a slow shutdown: %v", restart())
	for _, table := range []string{"entries", "subjects", "documents", "document_subjects", "events"} {
		run(t, dsn, "OPTIMIZE TABLE agentmemory_"+table)
	}
	run(t, dsn, "FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
	run(t, dsn, s.renewLogs()...)
	require.Empty(t, restart())
	require.Positive(t, inFiles(t, s, kept)["agentmemory_entries.ibd"])
}

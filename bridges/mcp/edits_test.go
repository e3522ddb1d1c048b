package mcp_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// What several processes were told is stored, in entries or in one file that all edit, is there once at the end.
func TestB_NoAcknowledgedEditIsLost(t *testing.T) {
	for name, database := range map[string]struct {
		store func(*testing.T, string) driver.Adapter
		place func(*testing.T) string
	}{"sqlite": {sqliteStore, sqliteFile}, "postgres": {postgresStore, postgresServer}} {
		t.Run(name, func(t *testing.T) {
			for tools, open := range map[string]func(*testing.T, *bridgetest.Host, string, string) bridgetest.Session{
				"memory": openTools, "files": openFiles(false), "files of a view": openFiles(true),
			} {
				t.Run(strings.ReplaceAll(tools, " ", "_"), func(t *testing.T) {
					b := bridgetest.Bridge{Store: database.store, Open: open}
					bridgetest.NoAcknowledgedEditIsLost(t, b, func() string { return database.place(t) })
				})
			}
		})
	}
}

func openTools(t *testing.T, h *bridgetest.Host, tenant, _ string) bridgetest.Session {
	c := connect(t, (&host{h}).config(t, tenant))
	return bridgetest.Session{Remember: func(f bridgetest.Fact) string { return c.remember(f.Text).ID }}
}

// openFiles opens a client of the tool of files, all of whose sessions edit one.
func openFiles(view bool) func(*testing.T, *bridgetest.Host, string, string) bridgetest.Session {
	return func(t *testing.T, h *bridgetest.Host, tenant, _ string) bridgetest.Session {
		cfg := (&host{h}).config(t, tenant)
		cfg.Files, cfg.View = true, view
		c := connect(t, cfg)
		return bridgetest.Session{Edit: func(line string) bool {
			text, failed := c.call("memory", "command", "create", "path", "/memories/a", "file_text", "end")
			if !failed || strings.Contains(text, "already exists") {
				text, failed = c.call("memory", "command", "insert", "path", "/memories/a", "insert_line", 0, "insert_text", line)
			}
			require.True(t, !failed || strings.Contains(text, "another writer") || strings.Contains(text, "other writers"), text)
			return !failed
		}}
	}
}

func sqliteStore(t *testing.T, file string) driver.Adapter {
	db, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db.Memory()
}

func sqliteFile(t *testing.T) string { return filepath.Join(t.TempDir(), "memory.db") }

func postgresStore(t *testing.T, dsn string) driver.Adapter {
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db, err := postgres.Open(t.Context(), pool, postgres.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db.Memory()
}

func postgresServer(t *testing.T) string {
	cluster, err := pgcluster.ForTests(t.Context())
	if errors.Is(err, pgcluster.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	return cluster.DSN()
}

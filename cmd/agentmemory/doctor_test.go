package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func diagnose(t *testing.T, at []string) (diagnosis, int) {
	r := call(t, "", with(at, "-json"), "doctor")
	return parsed[diagnosis](t, r.out), r.status
}

// A store is well until something is wrong, and each trouble is told of.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		succeed(t, with(at, "-tenant", "acme"), "import", file(t, tea, train))
		d, status := diagnose(t, at)
		assert.True(t, d.OK)
		assert.Zero(t, status)
		assert.Positive(t, d.Schema)
		assert.Equal(t, []int{1, 2, 2}, []int{d.Tenants, d.Records, d.Documents})

		host := open(t, at)
		long := host.bank.Now().Add(-30 * 24 * time.Hour)
		marks, err := json.Marshal([]map[string]any{{"i": long.UnixMilli(), "v": ""}})
		require.NoError(t, err)
		machinery := func(kind, key string, due time.Time, value []byte) driver.DocumentSwap {
			return driver.DocumentSwap{Document: driver.Document{Scope: driver.Scope{Tenant: "acme"}, Kind: kind, Key: key, Due: due, Value: value}}
		}
		_, err = host.Apply(t.Context(), "acme", driver.Mutation{
			At: host.bank.Now(),
			Documents: []driver.DocumentSwap{machinery("commitment", "c1", long, []byte(`{"format":1}`)),
				machinery("commitment", "c2", time.Time{}, []byte(`{"format":1,"state":"given-up","givenUp":{"tries":33}}`)), machinery("memory/purge", "marks", time.Time{}, marks)},
			Events: []events.Record{{ID: "e1", Tenant: "acme", RunID: "r1", Time: long, Payload: events.MemoryWritten{MemoryRef: "notes", MemoryID: "m1"}}},
		})
		require.NoError(t, err)
		require.NoError(t, host.close())
		d, status = diagnose(t, at)
		assert.Equal(t, 1, status)
		assert.False(t, d.OK)
		all := strings.Join(d.Wrong, "\n")
		for _, word := range []string{"1 commitment is due", "1 event waits", "was last purged at", `1 firing was given up`} {
			assert.Contains(t, all, word)
		}
		assert.Len(t, d.Wrong, 4)
		assert.Equal(t, []int{1, 1, 1}, []int{d.Waiting, d.Overdue, d.GivenUp})
		assert.True(t, long.Equal(d.Since) && long.Equal(d.Oldest) && long.Equal(d.Purges["acme"]))
		d, status = diagnose(t, with(at, "-tenant", "other"))
		assert.Zero(t, status, "nothing is wrong with another tenant")
		assert.Empty(t, d.Purges)
	})
}

// A bit that was flipped on the disk is found, in a text, which only its checksum knows.
func TestDoctorFindsADamagedRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	at := []string{"-db", path}
	succeed(t, with(at, "-tenant", "acme"), "import", file(t, tea, train))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	at0 := bytes.Index(raw, []byte("train leaves"))
	require.Positive(t, at0)
	raw[at0] ^= 1
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	d, status := diagnose(t, at)
	assert.Equal(t, 1, status)
	require.Len(t, d.Wrong, 1)
	assert.Contains(t, d.Wrong[0], `tenant "acme" in ref "work"`)
	r := call(t, "", with(at, "-tenant", "acme"), "export")
	assert.Equal(t, 1, r.status)
	assert.Contains(t, r.err, "the export is not complete")
}

// Certifying touches nothing that is there, and leaves nothing behind, also if it is ended early.
func TestCertifyTouchesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, at []string) {
		succeed(t, with(at, "-tenant", "acme"), "import", file(t, tea))
		before := succeed(t, with(at, "-tenant", "acme"), "export")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if os.Getenv("AGENTMEMORY_LONG") != "1" {
			t.Log("only the first laws of the kit: all take minutes, set AGENTMEMORY_LONG=1")
		}
		var out bytes.Buffer
		said := &stopping{stop: stop, left: 1}
		p := &program{out: &out, err: said}
		status := p.main(ctx, with(at, "-json", "certify", "-short"))
		assert.Regexp(t, `^law 1 of \d+: RECORD: .+\n`, said.String())
		if os.Getenv("AGENTMEMORY_LONG") == "1" {
			assert.Zero(t, status, said.String())
			assert.Contains(t, out.String(), `"level"`)
		} else {
			assert.Equal(t, 1, status)
			assert.Contains(t, said.String(), "did not come to its end")
		}
		assert.Equal(t, before, succeed(t, with(at, "-tenant", "acme"), "export"))
		if at[0] == "-db" {
			left, err := os.ReadDir(filepath.Dir(at[1]))
			require.NoError(t, err)
			assert.Len(t, left, 1)
			return
		}
		var left int
		if at[0] == "-mysql" {
			pool, err := sql.Open("mysql", at[1])
			require.NoError(t, err)
			defer pool.Close()
			require.NoError(t, pool.QueryRow("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'agentmemory_certify%'").Scan(&left))
			assert.Zero(t, left)
			return
		}
		pool, err := pgxpool.New(t.Context(), at[1])
		require.NoError(t, err)
		defer pool.Close()
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'agentmemory_certify%'").Scan(&left))
		assert.Zero(t, left)
	})
}

// stopping is a terminal before which a person loses patience.
type stopping struct {
	bytes.Buffer
	stop func()
	left int
}

func (s *stopping) Write(text []byte) (int, error) {
	if s.left--; s.left == 0 && os.Getenv("AGENTMEMORY_LONG") != "1" {
		s.stop()
	}
	return s.Buffer.Write(text)
}

// A backup that was copied over the file beside the old log is found to be damaged, with what to do.
func TestDoctorFindsABackupBesideAStaleLog(t *testing.T) {
	for name, after := range map[string]string{"before anything is opened": "VACUUM INTO", "by the check of SQLite": "copy"} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "memory.db")
			backup := filepath.Join(t.TempDir(), "backup.db")
			host := open(t, []string{"-db", source})
			tool, err := sql.Open("sqlite", source)
			require.NoError(t, err)
			defer tool.Close()
			copied := func(from, to string) {
				data, err := os.ReadFile(from)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(to, data, 0o600))
			}
			put := func(from int) {
				var m driver.Mutation
				for i := from; i < from+50; i++ {
					e := driver.Entry{ID: strconv.Itoa(i), Content: strings.Repeat("x", 1000), CreatedAt: host.bank.Now(), RunID: "r"}
					m.Put = append(m.Put, driver.Placed{Scope: driver.Scope{Tenant: "acme", Ref: "notes"}, Entry: e})
				}
				_, err := host.Apply(t.Context(), "acme", m)
				require.NoError(t, err)
			}
			emptyLog := func() {
				_, err := tool.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
				require.NoError(t, err)
			}
			put(0)
			if after == "copy" {
				emptyLog()
				copied(source, backup)
			} else {
				_, err = tool.Exec("VACUUM INTO ?", backup)
				require.NoError(t, err)
			}
			put(50)
			emptyLog()
			put(100)
			path := filepath.Join(t.TempDir(), "memory.db")
			copied(source+"-wal", path+"-wal") // as a crash leaves it
			copied(backup, path)
			require.NoError(t, host.close())

			r := call(t, "", []string{"-db", path}, "doctor")
			assert.Equal(t, 1, r.status)
			assert.Contains(t, r.out+r.err, "(-wal, -journal)")
			if after == "copy" {
				assert.Contains(t, r.out, "the database file is damaged (")
			}
			require.NoError(t, os.RemoveAll(path+"-wal"))
			copied(backup, path)
			assert.Contains(t, succeed(t, []string{"-db", path}, "doctor"), "50 records")
		})
	}
}

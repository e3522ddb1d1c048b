//go:build unix

package pgcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The environment that makes this test binary a process that has a cluster and is
// about to die.
const envChild = "AGENTMEMORY_PGCLUSTER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) == "" {
		os.Exit(m.Run())
	}
	c, err := Start(context.Background())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.dir)
	fmt.Println(c.server.Process.Pid)
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

// private starts a cluster of the test's own, also if the environment names one.
func private(t *testing.T) *Cluster {
	t.Setenv(EnvDSN, "")
	c, err := ForTests(t.Context())
	if errors.Is(err, ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func psql(t *testing.T, c *Cluster, sql string) string { return ask(t, c, c.DSN(), sql) }

func ask(t *testing.T, c *Cluster, dsn, sql string) string {
	cmd := exec.CommandContext(t.Context(), c.Program("psql"), "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, dsn)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	for !done() {
		require.NoError(t, t.Context().Err(), what)
		time.Sleep(tick)
	}
}

// A setting that is asked for takes the place of the usual one, after a restart too.
func TestStart_Settings(t *testing.T) {
	c, err := Start(t.Context(), "shared_buffers=24MB")
	if errors.Is(err, ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer c.Close()
	assert.Equal(t, "24MB", psql(t, c, "show shared_buffers"))
	require.NoError(t, c.Restart(t.Context()))
	assert.Equal(t, "24MB on", psql(t, c, "select current_setting('shared_buffers') || ' ' || current_setting('fsync')"))
}

func TestCluster_SurvivesEveryKill(t *testing.T) {
	c := private(t)
	require.True(t, c.Owned())
	assert.Equal(t, "on", psql(t, c, "show fsync"))
	assert.Empty(t, psql(t, c, "show listen_addresses"))
	assert.Equal(t, "UTF8 C", psql(t, c, "select pg_encoding_to_char(encoding) || ' ' || datcollate from pg_database where datname = 'postgres'"))
	psql(t, c, "create table kept (n int)")
	dsn := c.DSN()

	for n, how := range []func() error{c.Kill, c.StopImmediate, func() error { return nil }} {
		session := exec.Command(c.Program("psql"), "-X", "-c", "select pg_sleep(1000)", dsn)
		require.NoError(t, session.Start())
		until(t, "a session that is at work", func() bool {
			return psql(t, c, "select count(*) from pg_stat_activity where query = 'select pg_sleep(1000)'") == "1"
		})
		psql(t, c, fmt.Sprintf("insert into kept values (%d)", n))
		old := c.server.Process.Pid
		children := childrenOf(old)
		assert.NotEmpty(t, children)

		require.NoError(t, how())
		if n < 2 {
			require.NoError(t, how(), "stopped already")
			assert.Error(t, c.run(t.Context(), "pg_isready", "--host", c.dir))
			for _, pid := range append(children, old) {
				assert.False(t, running(pid))
			}
		}
		require.NoError(t, c.Restart(t.Context()))
		assert.Error(t, session.Wait(), "its session did not end")
		assert.NotEqual(t, old, c.server.Process.Pid)
		assert.Equal(t, dsn, c.DSN())
		assert.Equal(t, strconv.Itoa(n+1), psql(t, c, "select count(*) from kept"))
	}
}

func TestCluster_CloseLeavesNothing(t *testing.T) {
	for _, stop := range []func(*Cluster) error{
		func(*Cluster) error { return nil },
		(*Cluster).Kill,
	} {
		c := private(t)
		server, remover := c.server.Process.Pid, c.remover.Process.Pid
		require.NoError(t, stop(c))
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		assert.NoDirExists(t, c.dir)
		assert.False(t, running(server))
		assert.False(t, running(remover))
		assert.Error(t, c.Restart(t.Context()))
	}
}

func TestCluster_GoesWithItsProcess(t *testing.T) {
	private(t) // or skip
	exe, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(exe)
	child.Env = append(os.Environ(), envChild+"=1")
	_, err = child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	dir := lines.Text()
	require.DirExists(t, dir)
	require.True(t, lines.Scan())
	pid, err := strconv.Atoi(lines.Text())
	require.NoError(t, err)
	require.True(t, running(pid))

	require.NoError(t, child.Process.Kill())
	assert.Error(t, child.Wait())
	until(t, "the end of the server", func() bool { return !running(pid) })
	until(t, "the end of its directory", func() bool {
		_, err := os.Stat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

// A backup holds what the server had when it was taken, and a standby what it has had
// since, which is its own once it is promoted.
func TestCluster_Copies(t *testing.T) {
	c, ctx := private(t), t.Context()
	psql(t, c, "create table kept (n int)")
	backup, err := c.Backup(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, backup.Close()) })
	standby, err := c.Standby(ctx, "second")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, standby.Close()) })
	psql(t, c, "alter system set synchronous_standby_names = 'second'")
	psql(t, c, "select pg_reload_conf()")
	until(t, "the standby to follow", func() bool {
		return psql(t, c, "select sync_state from pg_stat_replication") == "sync"
	})
	psql(t, c, "insert into kept values (1)")
	require.NoError(t, c.Kill())
	require.NoError(t, standby.Promote(ctx))
	psql(t, standby, "insert into kept values (2)")
	assert.Equal(t, "2", psql(t, standby, "select count(*) from kept"))
	require.NoError(t, backup.Restart(ctx))
	assert.Equal(t, "0", psql(t, backup, "select count(*) from kept"))
}

// A pooler serves until it is closed.
func TestCluster_Pooler(t *testing.T) {
	c := private(t)
	psql(t, c, "create role guest login")
	p, err := c.Pooler(t.Context(), []string{"guest"})
	if errors.Is(err, ErrNoPooler) && os.Getenv(EnvRequire) != "1" {
		t.Skip(err)
	}
	require.NoError(t, err)
	assert.True(t, p.Running())
	assert.Equal(t, "guest", ask(t, c, p.DSN()+" user=guest", "select current_user"))
	require.NoError(t, p.Close())
	assert.False(t, p.Running())
	assert.NoDirExists(t, p.dir)
}

func TestForTests(t *testing.T) {
	t.Setenv(EnvDSN, "host=elsewhere")
	c, err := ForTests(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "host=elsewhere", c.DSN())
	assert.False(t, c.Owned())
	assert.NoError(t, c.Close())
}

// Without a server a test skips, unless one is required.
func TestForTests_NoServer(t *testing.T) {
	t.Setenv(EnvDSN, "")
	t.Setenv("PATH", t.TempDir())
	_, err := binaries(t.TempDir())
	require.ErrorIs(t, err, ErrNoServer)

	old := debianBinaries
	t.Cleanup(func() { debianBinaries = old })
	debianBinaries = t.TempDir()
	t.Setenv(EnvRequire, "")
	_, err = ForTests(t.Context())
	require.ErrorIs(t, err, ErrNoServer)
	t.Setenv(EnvRequire, "1")
	_, err = ForTests(t.Context())
	require.ErrorContains(t, err, EnvRequire)
	require.NotErrorIs(t, err, ErrNoServer)
}

// script makes a directory of programs that do what they are told.
func script(t *testing.T, initdb, postgres string) string {
	dir, err := os.MkdirTemp("/tmp", "pgcluster-script-") // where the server's user can write
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	for name, text := range map[string]string{"initdb": initdb, "postgres": postgres} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	return dir
}

func TestBinaries(t *testing.T) {
	dir := script(t, "", "")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	found, err := binaries(t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, dir, found, "the one in PATH comes first")

	t.Setenv("PATH", t.TempDir())
	debian := t.TempDir()
	for _, version := range []string{"14", "15", "17"} {
		to := filepath.Join(debian, version, "bin")
		require.NoError(t, os.MkdirAll(to, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(to, "initdb"), nil, 0o755))
		if version != "17" { // whose server is not installed
			require.NoError(t, os.WriteFile(filepath.Join(to, "postgres"), nil, 0o755))
		}
	}
	found, err = binaries(debian)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(debian, "15", "bin"), found)
}

func TestStart_BrokenServers(t *testing.T) {
	old := homes
	t.Cleanup(func() { homes = old })
	homes = script(t, "", "")
	path := os.Getenv("PATH")
	found := func(dir string) { t.Setenv("PATH", dir+":"+path) }
	for _, c := range []struct{ initdb, postgres, want string }{
		{"echo no space; exit 1", "", "no space"},
		{"", "echo bad setting >&2; exit 1", "the server ended: bad setting"},
	} {
		found(script(t, c.initdb, c.postgres))
		_, err := Start(t.Context())
		assert.ErrorContains(t, err, c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	found(script(t, "", "exec sleep 1000"))
	time.AfterFunc(20*tick, cancel)
	_, err := Start(ctx)
	assert.ErrorIs(t, err, context.Canceled)

	left, err := filepath.Glob(homes + "/agentmemory-pg-*")
	require.NoError(t, err)
	assert.Empty(t, left, "directories were left behind")
}

func TestStatus(t *testing.T) {
	require.NoError(t, separate(exec.Command("postgres")))
	assert.True(t, running(os.Getpid()))
	assert.False(t, running(1<<30))
	assert.Equal(t, "end", tail([]byte("end\n")))
	assert.Len(t, tail([]byte(strings.Repeat("x", 5000))), 2000)
}

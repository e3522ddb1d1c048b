package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// The environment decides which server tests get.
const (
	envDSN     = "AGENTMEMORY_MYSQL_DSN"     // use this server, whose user may create databases
	envServer  = "AGENTMEMORY_MYSQLD"        // start this program of MySQL in place of MariaDB
	envRequire = "AGENTMEMORY_REQUIRE_MYSQL" // 1: no server is a failure
)

var errNoServer = errors.New("mysql: no MariaDB server found (set " + envDSN + " or " + envServer + ", or install one)")

// testServer is a server of our own, or the one that the environment names, which has no directory.
type testServer struct {
	dsn   string
	dir   string
	args  []string
	run   *exec.Cmd
	done  chan struct{}  // closed when the server has ended
	alive io.WriteCloser // what removes the directory waits for its end
}

// startServer starts a server that syncs its disk at each commit, in a directory in memory if the
// machine has one. The server and its directory go when this process ends, also by a kill.
func startServer(settings ...string) (*testServer, error) {
	install, server, err := programs()
	if err != nil {
		return nil, err
	}
	home := "/dev/shm"
	if _, err := os.Stat(home); err != nil {
		home = ""
	}
	s := &testServer{}
	if s.dir, err = os.MkdirTemp(home, "agentmemory-my-"); err != nil {
		return nil, err
	}
	remover := exec.Command("sh", "-c", `read -r _
[ -e "$0/pid" ] && kill -KILL "$(cat "$0/pid")"
for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$0" && exit 0; sleep 1; done`, s.dir)
	remover.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.alive, err = remover.StdinPipe(); err == nil {
		err = remover.Start()
	}
	if err != nil {
		return nil, err
	}
	common := []string{"--datadir=" + filepath.Join(s.dir, "data"), "--tmpdir=" + s.dir} // in which a server that starts removes the temporary tables of others
	if os.Geteuid() == 0 {
		common = append(common, "--user=mysql")
		if out, err := exec.Command("chown", "mysql", s.dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("chown: %w: %s", err, out)
		}
	}
	out, err := exec.Command(install[0], slices.Concat(install[1:], common)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", install[0], err, out)
	}
	s.args = slices.Concat([]string{server, "--no-defaults", "--socket=" + s.dir + "/sock", "--pid-file=" + s.dir + "/pid",
		"--skip-networking", "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--innodb-buffer-pool-size=64M", "--max-allowed-packet=64M",
		"--max-connections=200", "--log-error=" + s.dir + "/log"}, common, settings)
	s.dsn = "root@unix(" + s.dir + "/sock)/"
	return s, s.start()
}

// programs are the command that makes the directory of a server, and the server.
func programs() (install []string, server string, err error) {
	if server = os.Getenv(envServer); server != "" {
		return []string{server, "--no-defaults", "--initialize-insecure"}, server, nil
	}
	maker, err := exec.LookPath("mariadb-install-db")
	server, err2 := exec.LookPath("mariadbd")
	if err2 != nil {
		server, err2 = exec.LookPath("/usr/sbin/mariadbd")
	}
	if err != nil || err2 != nil {
		return nil, "", errNoServer
	}
	return []string{maker, "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"}, server, nil
}

// start starts the server, and returns when it answers.
func (s *testServer) start() error {
	s.run = exec.Command(s.args[0], s.args[1:]...)
	s.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.run.Start(); err != nil {
		return err
	}
	s.done = make(chan struct{})
	go func() { s.run.Wait(); close(s.done) }()
	pool, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	for range 3000 {
		if err = pool.Ping(); err == nil {
			return nil
		}
		select {
		case <-s.done:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("the server has ended: %s", log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return err
}

// end ends the server by a signal.
func (s *testServer) end(signal syscall.Signal) error {
	err := s.run.Process.Signal(signal)
	<-s.done
	return err
}

// close ends the server and has its directory removed.
func (s *testServer) close() {
	if s.dir != "" {
		s.end(syscall.SIGKILL)
		s.alive.Close()
	}
}

// owned reports whether the server is ours, to be killed and looked into.
func (s *testServer) owned() bool { return s.dir != "" }

// forTests is the server that all tests share. A machine without one skips the test.
func forTests(t testing.TB) *testServer {
	server.once.Do(func() {
		if dsn := os.Getenv(envDSN); dsn != "" {
			server.is = &testServer{dsn: dsn}
			return
		}
		server.is, server.err = startServer()
	})
	if errors.Is(server.err, errNoServer) && os.Getenv(envRequire) != "1" {
		t.Skip(server.err)
	}
	require.NoError(t, server.err)
	return server.is
}

// ownServer starts a server for one test.
func ownServer(t testing.TB, settings ...string) *testServer {
	forTests(t) // skips without one
	s, err := startServer(settings...)
	if errors.Is(err, errNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

// in names a database of the server.
func (s *testServer) in(database string) string {
	cfg, err := mysql.ParseDSN(s.dsn)
	if err != nil {
		panic(err)
	}
	cfg.DBName = database
	return cfg.FormatDSN()
}

// renewLogs are statements that have the server write other bytes over its redo log, and let go of its undo log:
// MariaDB makes a redo log of another size anew, MySQL has several files, which are written in turn.
func (s *testServer) renewLogs() (statements []string) {
	if os.Getenv(envServer) == "" {
		return []string{"SET GLOBAL innodb_log_file_size = 134217728"}
	}
	for _, n := range []string{"1", "2"} {
		statements = append(statements, "CREATE UNDO TABLESPACE spare_"+n+" ADD DATAFILE 'spare_"+n+".ibu'", "ALTER UNDO TABLESPACE innodb_undo_00"+n+" SET INACTIVE")
	}
	fill := "INSERT INTO filler SELECT REPEAT(RAND(), 5000) FROM agentmemory_entries a, agentmemory_entries b LIMIT 1000"
	return append(statements, "SET GLOBAL innodb_redo_log_capacity = 8388608", "CREATE TABLE filler (x LONGTEXT)", fill, fill, "DROP TABLE filler",
		"FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
}

// admin runs statements in the server, in no database.
func (s *testServer) admin(ctx context.Context, statements ...string) error {
	pool, err := sql.Open("mysql", s.in(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, statement := range statements {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", strings.Fields(statement)[0], err)
		}
	}
	return nil
}

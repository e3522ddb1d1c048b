//go:build linux

package parted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

// servers are a primary and its synchronous standby, each on a node of its own.
type servers struct {
	t       *testing.T
	gates   [2]*gate
	at      [2]*pgcluster.Cluster
	primary int // of the two
}

const standbyName = "standby"

// sql runs statements on a server, past the network.
func sql(t *testing.T, c *pgcluster.Cluster, statements ...string) {
	conn, err := pgx.Connect(t.Context(), c.DSN())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	for _, s := range statements {
		_, err := conn.Exec(t.Context(), s)
		require.NoError(t, err, s)
	}
}

func newServers(t *testing.T, n *network) *servers {
	s := &servers{t: t, gates: [2]*gate{n.add().gate(), n.add().gate()}}
	t.Cleanup(func() {
		for _, c := range s.at {
			if c != nil {
				s.close(c)
			}
		}
	})
	err := s.gates[0].do(func() (err error) {
		s.at[0], err = pgcluster.Start(t.Context(), "max_wal_size=128MB", "wal_sender_timeout=2s")
		return err
	})
	if errors.Is(err, pgcluster.ErrNoServer) {
		t.Skip(err)
	}
	require.NoError(t, err)
	s.gates[0].open(s.at[0])
	s.standby()
	return s
}

// close ends a server for good.
func (s *servers) close(c *pgcluster.Cluster) {
	require.NoError(s.t, c.StopImmediate())
	_ = exec.Command("umount", filepath.Join(dirOf(c), "data")).Run() // if it was put on a small disk
	require.NoError(s.t, c.Close())
}

// dirOf is the directory of a server, with its data, its socket and its log.
func dirOf(c *pgcluster.Cluster) string {
	for _, word := range strings.Fields(c.DSN()) {
		if dir, ok := strings.CutPrefix(word, "host="); ok {
			return dir
		}
	}
	return ""
}

// restart starts the primary again, on its node.
func (s *servers) restart() {
	require.NoError(s.t, s.gates[s.primary].do(func() error { return s.master().Restart(s.t.Context()) }))
}

// smallDisk starts the primary anew on a disk of its own. It returns a file that fills what is left of it.
func (s *servers) smallDisk() (ballast string) {
	require.NoError(s.t, s.master().Kill())
	data := filepath.Join(dirOf(s.master()), "data")
	out, err := exec.Command("sh", "-ec", `
		mountpoint -q "$0" && exit
		mkdir -p "$0".new
		mount -t tmpfs -o size=400m tmpfs "$0".new
		cp -a "$0"/. "$0".new
		mount --move "$0".new "$0"`, data).CombinedOutput()
	require.NoError(s.t, err, string(out))
	s.restart()
	return filepath.Join(data, "ballast")
}

// signal stops or continues all processes of the primary.
func (s *servers) signal(how syscall.Signal) {
	text, err := os.ReadFile(filepath.Join(dirOf(s.master()), "data", "postmaster.pid"))
	require.NoError(s.t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(s.t, err)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	require.NoError(s.t, err)
	require.NoError(s.t, syscall.Kill(pid, how))
	for _, child := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(child)
		_ = syscall.Kill(pid, how) // it may just have ended
	}
}

func (s *servers) master() *pgcluster.Cluster { return s.at[s.primary] }

// standby makes a new standby on the node that has no server. It follows through the network.
func (s *servers) standby() {
	i := 1 - s.primary
	require.NoError(s.t, s.gates[i].do(func() (err error) {
		s.at[i], err = s.master().Standby(s.t.Context(), standbyName)
		return err
	}))
	user := ""
	for _, word := range strings.Fields(s.master().DSN()) {
		if strings.HasPrefix(word, "user=") {
			user = word
		}
	}
	sql(s.t, s.at[i],
		fmt.Sprintf("ALTER SYSTEM SET primary_conninfo = 'host=%s port=5432 %s application_name=%s sslmode=disable connect_timeout=1'", s.gates[s.primary].addr, user, standbyName),
		"ALTER SYSTEM SET wal_receiver_timeout = '2s'", "ALTER SYSTEM SET wal_retrieve_retry_interval = '300ms'", "SELECT pg_reload_conf()")
	s.gates[i].open(s.at[i])
	sql(s.t, s.master(), "ALTER SYSTEM SET synchronous_standby_names = '"+standbyName+"'", "ALTER SYSTEM SET wal_sender_timeout = '2s'", "SELECT pg_reload_conf()")
	s.synchronous()
}

// synchronous waits until the standby follows.
func (s *servers) synchronous() {
	conn, err := pgx.Connect(s.t.Context(), s.master().DSN())
	require.NoError(s.t, err)
	defer conn.Close(s.t.Context())
	require.Eventually(s.t, func() (holds bool) {
		err := conn.QueryRow(s.t.Context(), "SELECT count(*) = 1 AND bool_and(sync_state = 'sync') FROM pg_stat_replication").Scan(&holds)
		return err == nil && holds
	}, time.Minute, 20*time.Millisecond, "the standby does not follow")
}

// failOver kills the primary and promotes the standby. It returns the old primary, which is shut off.
func (s *servers) failOver(ctx context.Context) *pgcluster.Cluster {
	old := s.master()
	s.gates[s.primary].open(nil)
	require.NoError(s.t, old.Kill())
	s.primary = 1 - s.primary
	require.NoError(s.t, s.master().Promote(ctx))
	s.at[1-s.primary] = nil
	return old
}

// dsn is how hosts connect: to the server that takes writes.
func (s *servers) dsn() string {
	words := strings.Fields(s.master().DSN())
	for i, word := range words {
		if strings.HasPrefix(word, "host=") {
			words[i] = fmt.Sprintf("host=%s,%s", s.gates[0].addr, s.gates[1].addr)
		}
	}
	return strings.Join(append(words, "target_session_attrs=read-write"), " ")
}

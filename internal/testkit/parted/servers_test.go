//go:build linux

package parted

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
				require.NoError(t, c.Close())
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
	s.gates[0].open(s.at[0].DSN())
	s.standby()
	return s
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
	s.gates[i].open(s.at[i].DSN())
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
	s.gates[s.primary].open("")
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

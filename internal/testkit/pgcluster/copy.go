package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrNoPooler: the machine has no PgBouncer, or the server is not ours.
var ErrNoPooler = errors.New("pgcluster: no PgBouncer found, or no server of our own for it")

// Backup copies the data of a server that runs, as pg_basebackup does, into a cluster of
// its own. That is stopped: [Cluster.Restart] starts it, with what the copy holds.
func (c *Cluster) Backup(ctx context.Context) (*Cluster, error) {
	return newCluster(ctx, c.bin, func(b *Cluster) error {
		return b.run(ctx, "pg_basebackup", "--dbname", c.dsn, "--pgdata", b.data(), "--checkpoint", "fast", "--no-sync")
	})
}

// Standby starts a server that follows c and can be read. Name is what c may list it by in
// synchronous_standby_names.
func (c *Cluster) Standby(ctx context.Context, name string) (*Cluster, error) {
	standby, err := c.Backup(ctx)
	if err != nil {
		return nil, err
	}
	err = errors.Join(standby.add("data/standby.signal", ""),
		standby.add("data/postgresql.auto.conf", fmt.Sprintf("primary_conninfo = '%s application_name=%s'\n", c.dsn, name)),
		standby.Restart(ctx))
	if err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

// Promote ends a standby's following: it is a server of its own from then on. It returns
// when that takes writes.
func (c *Cluster) Promote(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "promote", "--pgdata", c.data(), "--wait")
}

// Pooler starts a PgBouncer before the server, which lends its connections, a few for each database
// and user, for a transaction at a time. Users may connect as they like. Settings are lines
// of its section [pgbouncer]. Without a program for it, or before a server
// that is not ours, the error is [ErrNoPooler].
func (c *Cluster) Pooler(ctx context.Context, users []string, settings ...string) (*Cluster, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil || !c.Owned() {
		return nil, ErrNoPooler
	}
	return newCluster(ctx, c.bin, func(p *Cluster) error {
		list := ""
		for _, user := range append(users, databaseUser) {
			list += fmt.Sprintf("\"%s\" \"\"\n", user)
		}
		p.serve = []string{program, "ini"}
		return errors.Join(p.add("users", list), p.add("ini", fmt.Sprintf(`[databases]
* = host=%[1]s port=%[2]s
[pgbouncer]
pool_mode = transaction
listen_port = %[2]s
unix_socket_dir = %[3]s
auth_type = trust
pidfile = %[3]s/pid
auth_file = %[3]s/users
max_client_conn = 2000
default_pool_size = 6
server_reset_query =
ignore_startup_parameters = extra_float_digits
%[4]s
`, c.dir, port, p.dir, strings.Join(settings, "\n"))), p.Restart(ctx))
	})
}

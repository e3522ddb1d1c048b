package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// ErrNoPooler: the machine has no PgBouncer.
var ErrNoPooler = errors.New("pgcluster: no PgBouncer found")

// Pooler is a PgBouncer in front of a server. Make one by [Cluster.Pooler].
type Pooler struct {
	home *home

	lock   sync.Mutex
	server *server
}

// Pooler starts a PgBouncer that lends the server's connections, a few for each database
// and user, for a transaction at a time. Users may connect as they like. Settings are lines
// of its section [pgbouncer]. Without a program for it the error is [ErrNoPooler].
func (c *Cluster) Pooler(ctx context.Context, users []string, settings ...string) (*Pooler, error) {
	if c.home == nil {
		return nil, errNotOurs
	}
	var program string
	for _, path := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if found, err := exec.LookPath(path); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		return nil, ErrNoPooler
	}
	h, err := newHome(ctx, c.home.bin, func(_ context.Context, h *home) error {
		list := ""
		for _, user := range append(users, databaseUser) {
			list += fmt.Sprintf("\"%s\" \"\"\n", user)
		}
		return errors.Join(h.add("users", list), h.add("ini", fmt.Sprintf(`[databases]
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
`, c.home.dir, port, h.dir, strings.Join(settings, "\n"))))
	})
	if err != nil {
		return nil, err
	}
	p := &Pooler{home: h}
	if p.server, err = h.launch(ctx, program, h.dir+"/ini"); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// DSN names the database postgres behind the pooler, as [Cluster.DSN] does without one.
func (p *Pooler) DSN() string { return p.home.dsn() }

// Log is what the pooler has said so far.
func (p *Pooler) Log() string {
	text, _ := os.ReadFile(p.home.log())
	return string(text)
}

// Running reports whether the pooler has not ended.
func (p *Pooler) Running() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.server != nil && p.server.running()
}

// Close ends the pooler and removes its files. It is called once.
func (p *Pooler) Close() error {
	p.lock.Lock()
	defer p.lock.Unlock()
	var err error
	if p.server != nil {
		err = p.server.quit()
		p.server = nil
	}
	return errors.Join(err, p.home.remove())
}

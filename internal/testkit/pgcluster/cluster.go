package pgcluster

import (
	"context"
	"errors"
	"sync"
)

// databaseUser owns the cluster.
const databaseUser = "agentmemory"

// port is part of the name of a socket, nothing more.
const port = "5432"

// debianBinaries holds a directory for each version that is installed.
var debianBinaries = "/usr/lib/postgresql"

var (
	errNotOurs = errors.New("pgcluster: the server of " + EnvDSN + " is not ours to stop")
	errClosed  = errors.New("pgcluster: the cluster is closed")
)

// Cluster is a PostgreSQL server with its data. Make one by [Start] or [ForTests].
type Cluster struct {
	dsn      string
	home     *home    // nil if the server is not ours
	settings []string // of the server, "name=value"

	lock   sync.Mutex
	server *server // nil while it is stopped
	closed bool
}

// Start makes a private cluster and returns when it answers, within some seconds.
// Without binaries for it the error is [ErrNoServer]. ctx bounds the start only. Settings
// of the server, such as "shared_buffers=1GB", take the place of those for tests.
func Start(ctx context.Context, settings ...string) (*Cluster, error) {
	bin, err := binaries(ctx, debianBinaries)
	if err != nil {
		return nil, err
	}
	return start(ctx, bin, settings...)
}

func start(ctx context.Context, bin string, settings ...string) (*Cluster, error) {
	h, err := newHome(ctx, bin, initdb)
	if err != nil {
		return nil, err
	}
	c := &Cluster{dsn: h.dsn(), home: h, settings: settings}
	if err := c.Restart(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// DSN names the server's database in the key=value form that libpq and its kin
// understand. It stays the same over restarts. The user may create databases.
func (c *Cluster) DSN() string { return c.dsn }

// Owned reports whether this is a private cluster, which may be killed.
func (c *Cluster) Owned() bool { return c.home != nil }

// Kill ends every process of the server by SIGKILL, and
// returns when they are gone. Nothing happens if it is stopped already.
func (c *Cluster) Kill() error { return c.stop((*server).kill) }

// StopImmediate is the server's immediate shutdown (SIGQUIT): it writes no
// checkpoint and ends every connection, and must recover at the next start.
func (c *Cluster) StopImmediate() error { return c.stop((*server).quit) }

func (c *Cluster) stop(how func(*server) error) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.home == nil {
		return errNotOurs
	}
	return c.halt(how)
}

func (c *Cluster) halt(how func(*server) error) error {
	if c.server == nil {
		return nil
	}
	if err := how(c.server); err != nil {
		return err
	}
	c.server = nil
	return nil
}

// Restart starts the server again on its data and returns when it answers, after
// its recovery. One that still runs is stopped first, as by StopImmediate.
func (c *Cluster) Restart(ctx context.Context) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.home == nil {
		return errNotOurs
	}
	if c.closed {
		return errClosed
	}
	if err := c.halt((*server).quit); err != nil {
		return err
	}
	s, err := c.home.serve(ctx, c.settings...)
	if err != nil {
		return err
	}
	c.server = s
	return nil
}

// Close stops the server and removes its data. It leaves a server that is not ours
// alone. Only the first call does something.
func (c *Cluster) Close() error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.home == nil || c.closed {
		return nil
	}
	c.closed = true
	return errors.Join(c.halt((*server).quit), c.home.remove())
}

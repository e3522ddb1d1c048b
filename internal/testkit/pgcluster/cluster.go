package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// databaseUser owns the cluster.
const databaseUser = "agentmemory"

// port is part of the name of a socket, nothing more.
const port = "5432"

// debianBinaries holds a directory for each version that is installed.
var debianBinaries = "/usr/lib/postgresql"

// homes is where the directories of clusters go: the path of a socket is short, and the server's
// user has to get there.
var homes = "/tmp"

const tick = 10 * time.Millisecond // between two looks at a process

// Cluster is a PostgreSQL server with its data, or what stands before one. Make one by [Start] or
// [ForTests]. Methods other than DSN, Owned and Close are for one that is Owned.
type Cluster struct {
	dsn      string
	bin, dir string   // its programs; its data, socket and log
	serve    []string // the command that serves
	server   *exec.Cmd
	done     chan struct{}  // closed when the server has ended and was waited for
	remover  *exec.Cmd      // nil if the server is not ours
	alive    io.WriteCloser // the remover waits for its end
}

// Start makes a private cluster and returns when it answers, within some seconds.
// Without binaries for it the error is [ErrNoServer]. ctx bounds the start only. Settings
// of the server, such as "shared_buffers=1GB", take the place of those for tests.
func Start(ctx context.Context, settings ...string) (*Cluster, error) {
	bin, err := binaries(debianBinaries)
	if err != nil {
		return nil, err
	}
	return newCluster(ctx, bin, func(c *Cluster) error {
		for _, setting := range settings { // of those that are named twice the last one holds
			c.serve = append(c.serve, "-c", setting)
		}
		err := c.run(ctx, "initdb", "--pgdata", c.data(),
			"--username", databaseUser, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
		if err != nil {
			return err
		}
		return c.Restart(ctx)
	})
}

// clusters are all of this process. The pipe of one that is garbage would be closed, and its
// directory removed under a server that is still used.
var clusters sync.Map

// newCluster makes the directory of a cluster, and what stops it and removes the directory when
// this process ends, however it ends: it reads from a pipe that no other process holds.
func newCluster(ctx context.Context, bin string, fill func(*Cluster) error) (*Cluster, error) {
	c := &Cluster{bin: bin, dir: homes}
	dir, err := c.command(ctx, "mktemp", "-d", filepath.Join(homes, "agentmemory-pg-XXXXXXXX")).Output()
	if err != nil {
		return nil, fmt.Errorf("pgcluster: %w", err)
	}
	c.dir = strings.TrimSpace(string(dir))
	c.dsn = fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", c.dir, port, databaseUser)
	c.serve = []string{c.Program("postgres"), "-D", c.data(), "-k", c.dir, "-p", port,
		"-c", "listen_addresses=", "-c", "fsync=on", "-c", "shared_buffers=16MB", "-c", "max_connections=200",
		"-c", "dynamic_shared_memory_type=mmap"} // files in the data directory, which goes
	c.remover = c.command(context.Background(), "sh", "-c", `cd /
read -r _
for pid in "$0/data/postmaster.pid" "$0/pid"; do
	[ -e "$pid" ] && kill -QUIT "$(head -n 1 "$pid")"
done
for _ in 1 2 3 4 5 6 7 8 9; do
	rm -rf "$0" && exit 0
	sleep 1
done
exit 1`, c.dir)
	if c.alive, err = c.remover.StdinPipe(); err == nil {
		err = c.remover.Start()
	}
	clusters.Store(c, true)
	if err == nil {
		err = fill(c)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// command is one of the server's user, in its directory.
func (c *Cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.Err = errors.Join(cmd.Err, separate(cmd))
	return cmd
}

// run runs a program of the server's to its end.
func (c *Cluster) run(ctx context.Context, program string, args ...string) error {
	if out, err := c.command(ctx, c.Program(program), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("pgcluster: %s: %w: %s", program, err, tail(out))
	}
	return nil
}

// add appends to a file of the server's user, which need not be there.
func (c *Cluster) add(name, text string) error {
	cmd := c.command(context.Background(), "sh", "-c", `umask 077; cat >>"$0"`, name)
	cmd.Stdin = strings.NewReader(text)
	return cmd.Run()
}

// DSN names the server's database in the key=value form that libpq and its kin
// understand. It stays the same over restarts. The user may create databases.
func (c *Cluster) DSN() string { return c.dsn }

// Owned reports whether this is a private cluster, which may be killed.
func (c *Cluster) Owned() bool { return c.dir != "" }

// Program is the path of a program that came with the server, as pg_dump.
func (c *Cluster) Program(name string) string { return filepath.Join(c.bin, name) }

// Log is what the server has said so far.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	return string(text)
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Running reports whether the server was started and has not ended.
func (c *Cluster) Running() bool {
	select {
	case <-c.done:
		return false
	default:
		return c.server != nil
	}
}

// Restart starts the server again on its data and returns when it answers, after
// its recovery. One that still runs is stopped first, as by StopImmediate.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.StopImmediate(); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	server, done := c.command(context.Background(), c.serve[0], c.serve[1:]...), make(chan struct{})
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return fmt.Errorf("pgcluster: %w", err)
	}
	c.server, c.done = server, done
	go func() {
		_ = server.Wait() // how it ended is in its log
		close(done)
	}()
	for {
		err := c.run(ctx, "pg_isready", "--host", c.dir, "--port", port)
		if err == nil {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("pgcluster: the server ended: %s", tail([]byte(c.Log())))
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("pgcluster: the server does not answer: %w: %v: %s", ctx.Err(), err, tail([]byte(c.Log()))), c.Kill())
		case <-time.After(tick):
		}
	}
}

// Kill ends every process of the server by SIGKILL, and
// returns when they are gone. Nothing happens if it is stopped already.
func (c *Cluster) Kill() error { return c.stop(killAll) }

// StopImmediate is the server's immediate shutdown (SIGQUIT): it writes no
// checkpoint and ends every connection, and must recover at the next start.
func (c *Cluster) StopImmediate() error {
	return c.stop(func(p *os.Process) error { return p.Signal(syscall.SIGQUIT) })
}

func (c *Cluster) stop(how func(*os.Process) error) error {
	if !c.Running() {
		return nil
	}
	if err := how(c.server.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("pgcluster: %w", err)
	}
	<-c.done
	return nil
}

// Close stops the server and removes its data. It leaves a server that is not ours
// alone. Only the first call does something.
func (c *Cluster) Close() error {
	if c.remover == nil {
		return nil
	}
	err := errors.Join(c.StopImmediate(), c.alive.Close(), c.remover.Wait())
	c.remover = nil
	return err
}

// tail is the end of a program's output, for an error.
func tail(out []byte) string {
	const most = 2000
	out = bytes.TrimSpace(out)
	return string(out[max(0, len(out)-most):])
}

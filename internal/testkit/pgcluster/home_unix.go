//go:build unix

package pgcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// homes is where the directories of clusters go: the path of a socket is short, and the server's
// user has to get there.
var homes = "/tmp"

// home is the directory of a cluster: its data, its socket and its log.
type home struct {
	bin, dir string
	as       *syscall.Credential // nil: the user of this process
	remover  *exec.Cmd
	alive    io.Closer // the remover waits for its end
}

// newHome makes the directory and what removes it if this process dies, and fills
// it by fill.
func newHome(ctx context.Context, bin string, fill func(context.Context, *home) error) (*home, error) {
	h := &home{bin: bin}
	var err error
	if os.Geteuid() == 0 {
		if h.as, err = unprivileged(); err != nil {
			return nil, err
		}
	}
	if h.dir, err = os.MkdirTemp(homes, "agentmemory-pg-"); err != nil {
		return nil, err
	}
	if err := h.prepare(); err != nil {
		return nil, errors.Join(err, h.remove())
	}
	if err := fill(ctx, h); err != nil {
		return nil, errors.Join(err, h.remove())
	}
	return h, nil
}

func (h *home) prepare() error {
	if h.as != nil {
		if err := os.Chown(h.dir, int(h.as.Uid), int(h.as.Gid)); err != nil {
			return err
		}
	}
	return h.removeAtEnd()
}

// initdb fills a home with the data of a new server.
func initdb(ctx context.Context, h *home) error {
	return h.run(ctx, "initdb", "--pgdata", h.data(),
		"--username", databaseUser, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
}

// run runs a program of the server's to its end.
func (h *home) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, h.program(program), args...)
	h.settle(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgcluster: %s: %w: %s", program, err, tail(out))
	}
	return nil
}

// program is the path of a program of the server's.
func (h *home) program(name string) string { return filepath.Join(h.bin, name) }

// add appends to a file of the server's user, which need not be there.
func (h *home) add(name, text string) error {
	f, err := os.OpenFile(filepath.Join(h.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if h.as != nil {
		err = f.Chown(int(h.as.Uid), int(h.as.Gid))
	}
	_, written := f.WriteString(text)
	return errors.Join(err, written, f.Close())
}

// settle gives a command the user, the place and the environment of the cluster.
func (h *home) settle(cmd *exec.Cmd) {
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.as}
}

// unprivileged is who runs the server if this process is root.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("pgcluster: the server refuses to run as root, and there is neither a user postgres nor nobody")
}

// removeAtEnd starts a process that stops the server and removes the directory when this process ends,
// however it ends: it reads from a pipe that no other process holds.
func (h *home) removeAtEnd() error {
	h.remover = exec.Command("/bin/sh", "-c", `read -r _
for pid in "$1/data/postmaster.pid" "$1/pid"; do
	[ -e "$pid" ] && kill -QUIT "$(head -n 1 "$pid")"
done
for _ in 1 2 3 4 5 6 7 8 9; do
	rm -rf "$1"
	[ -e "$1" ] || exit 0
	sleep 1
done`, "sh", h.dir)
	h.remover.Dir = "/"
	h.remover.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is not for it
	alive, err := h.remover.StdinPipe()
	if err != nil {
		return err
	}
	h.alive = alive
	// A pipe that is garbage is closed: a cluster that is not referred to any more would
	// lose its directory under a server that is still used.
	pipes.Store(alive, nil)
	return h.remover.Start()
}

// pipes are those of all directories that were not removed.
var pipes sync.Map

// remove removes the directory of a server that is stopped.
func (h *home) remove() error {
	err := os.RemoveAll(h.dir)
	if h.remover != nil && h.remover.Process != nil {
		err = errors.Join(err, h.alive.Close(), h.remover.Wait())
		pipes.Delete(h.alive)
	}
	return err
}

func (h *home) data() string { return filepath.Join(h.dir, "data") }
func (h *home) log() string  { return filepath.Join(h.dir, "log") }

func (h *home) dsn() string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", h.dir, port, databaseUser)
}

// tail is the end of a program's output, for an error.
func tail(out []byte) string {
	const most = 2000
	out = bytes.TrimSpace(out)
	return string(out[max(0, len(out)-most):])
}

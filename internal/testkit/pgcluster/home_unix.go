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
	"strings"
	"sync"
	"syscall"
)

const maxSocket = 100 // bytes in a socket's path; systems allow 103 and more

// home is the directory of a cluster: its data, its socket and its log.
type home struct {
	bin, dir string
	as       *syscall.Credential // nil: the user of this process
	sweeper  *exec.Cmd
	alive    io.Closer // the sweeper waits for its end
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
	if h.dir, err = os.MkdirTemp(parent(os.TempDir(), h.as != nil), "agentmemory-pg-"); err != nil {
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
	return h.sweep()
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

// program is one of the programs that are beside the server or, where that is a link,
// beside its end.
func (h *home) program(name string) string {
	if path := filepath.Join(h.bin, name); executable(path) {
		return path
	}
	if server, err := filepath.EvalSymlinks(filepath.Join(h.bin, "postgres")); err == nil {
		return filepath.Join(filepath.Dir(server), name)
	}
	return filepath.Join(h.bin, name)
}

// write makes a file of the server's user.
func (h *home) write(name, text string) error {
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil || h.as == nil {
		return err
	}
	return os.Chown(path, int(h.as.Uid), int(h.as.Gid))
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

// parent is where the directory goes: tmp, or /tmp if a socket below tmp would have
// too long a name, or if another user could not get there.
func parent(tmp string, otherUser bool) string {
	if len(tmp)+len("/agentmemory-pg-0123456789/.s.PGSQL.5432") > maxSocket {
		return "/tmp"
	}
	for dir := tmp; otherUser && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&0o001 == 0 {
			return "/tmp"
		}
	}
	return tmp
}

// sweep starts a process that removes the directory when this one ends, however it
// ends: it reads from a pipe that no other process holds. A server that still runs stops
// when it misses its files.
func (h *home) sweep() error {
	h.sweeper = exec.Command("/bin/sh", "-c", `read -r _
for _ in 1 2 3 4 5 6 7 8 9; do
	rm -rf "$1"
	[ -e "$1" ] || exit 0
	sleep 1
done`, "sh", h.dir)
	h.sweeper.Dir = "/"
	h.sweeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is not for it
	alive, err := h.sweeper.StdinPipe()
	if err != nil {
		return err
	}
	h.alive = alive
	// A pipe that is garbage is closed: a cluster that is not referred to any more would
	// lose its directory under a server that is still used.
	pipes.Store(alive, nil)
	return h.sweeper.Start()
}

// pipes are those of all directories that were not removed.
var pipes sync.Map

// remove removes the directory of a server that is stopped.
func (h *home) remove() error {
	h.releaseShared()
	err := os.RemoveAll(h.dir)
	if h.sweeper != nil && h.sweeper.Process != nil {
		err = errors.Join(err, h.alive.Close(), h.sweeper.Wait())
		pipes.Delete(h.alive)
	}
	return err
}

// releaseShared frees the few bytes of System V shared memory that a server leaves
// which was killed and not started again. The seventh line of its lock file names
// them; without the program for it they stay.
func (h *home) releaseShared() {
	lockFile, err := os.ReadFile(filepath.Join(h.data(), "postmaster.pid"))
	if err != nil {
		return
	}
	lines := strings.Split(string(lockFile), "\n")
	if len(lines) < 7 {
		return
	}
	if key := strings.Fields(lines[6]); len(key) == 2 {
		_ = exec.Command("ipcrm", "-m", key[1]).Run()
	}
}

// append adds to a file that is there.
func (h *home) append(name, text string) error {
	f, err := os.OpenFile(filepath.Join(h.dir, name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (h *home) data() string   { return filepath.Join(h.dir, "data") }
func (h *home) log() string    { return filepath.Join(h.dir, "log") }
func (h *home) socket() string { return filepath.Join(h.dir, ".s.PGSQL."+port) }

func (h *home) dsn() string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", h.dir, port, databaseUser)
}

// tail is the end of a program's output, for an error.
func tail(out []byte) string {
	const most = 2000
	out = bytes.TrimSpace(out)
	return string(out[max(0, len(out)-most):])
}

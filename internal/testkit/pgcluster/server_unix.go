//go:build unix

package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const tick = 10 * time.Millisecond // between two looks at a process

// server is a postmaster that was started.
type server struct {
	process *os.Process
	done    chan struct{} // closed when it has ended and was waited for
}

// serve starts the server and waits until it answers. Of settings that are named twice
// the last one holds.
func (h *home) serve(ctx context.Context, settings ...string) (*server, error) {
	args := []string{"-D", h.data(), "-k", h.dir, "-p", port}
	for _, setting := range append([]string{
		"listen_addresses=",
		"fsync=on",
		"shared_buffers=16MB",
		"max_connections=200",
		"dynamic_shared_memory_type=mmap", // files in the data directory, which goes
	}, settings...) {
		args = append(args, "-c", setting)
	}
	return h.launch(ctx, filepath.Join(h.bin, "postgres"), args...)
}

// launch starts a program that serves on the socket of the home, and waits until it
// answers.
func (h *home) launch(ctx context.Context, program string, args ...string) (*server, error) {
	s, err := h.start(exec.Command(program, args...))
	if err != nil {
		return nil, err
	}
	for {
		err := h.run(ctx, "pg_isready", "--host", h.dir, "--port", port)
		if err == nil {
			return s, nil
		}
		select {
		case <-s.done:
			return nil, fmt.Errorf("pgcluster: the server ended: %s", h.lastWords())
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("pgcluster: the server does not answer: %w: %v: %s", ctx.Err(), err, h.lastWords()), s.kill())
		case <-time.After(tick):
		}
	}
}

func (h *home) start(cmd *exec.Cmd) (*server, error) {
	log, err := os.OpenFile(h.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	h.settle(cmd)
	cmd.Stdout, cmd.Stderr = log, log

	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("pgcluster: %w", err)
	}
	s := &server{cmd.Process, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(s.done)
	}()
	return s, nil
}

func (h *home) lastWords() string {
	out, _ := os.ReadFile(h.log())
	return tail(out)
}

// running reports whether it has not ended.
func (s *server) running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// quit is an immediate shutdown.
func (s *server) quit() error {
	if err := s.signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-s.done
	return nil
}

// kill ends the postmaster and its children, which are in process groups of their
// own. The postmaster is stopped first so that it makes no more of them.
func (s *server) kill() error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	children := childrenOf(s.process.Pid)
	if err := s.signal(syscall.SIGKILL); err != nil {
		return err
	}
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
	}
	<-s.done
	for _, pid := range children {
		for running(pid) {
			time.Sleep(tick)
		}
	}
	return nil
}

func (s *server) signal(sig os.Signal) error {
	if err := s.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("pgcluster: %w", err)
	}
	return nil
}

//go:build linux

package parted

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newFileWorld has hosts over one file, on a disk of its own.
func newFileWorld(t *testing.T, seed uint64) *world {
	inRealTime(t)
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Skipf("a small disk needs root: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", disk).Run() })
	w := &world{t: t, dir: logDir(t), file: filepath.Join(disk, "memory.db"), rng: rand.New(rand.NewPCG(seed, 0)), troubles: fileTroubles, counts: map[string]int{}}
	for i := range hosts {
		w.add(&process{hostConfig: hostConfig{Host: i, Seed: seed, DSN: w.file}}, "")
	}
	return w
}

func (w *world) remount(how string) {
	out, err := exec.Command("mount", "-o", "remount,"+how, filepath.Dir(w.file)).CombinedOutput()
	require.NoError(w.t, err, string(out))
}

var fileTroubles = []trouble{
	{"the disk is full", func(w *world) func() {
		ballast := filepath.Join(filepath.Dir(w.file), "ballast")
		fill(w.t, ballast)
		return func() { require.NoError(w.t, os.Remove(ballast)) }
	}},
	{"the disk is full, and a host is killed", func(w *world) func() {
		ballast := filepath.Join(filepath.Dir(w.file), "ballast")
		fill(w.t, ballast)
		h := w.host()
		w.between(h.kill)
		return func() {
			require.NoError(w.t, os.Remove(ballast))
			h.start()
			w.join(h)
		}
	}},
	{"all hosts are killed, and the disk is read-only as one starts", func(w *world) func() {
		for _, h := range w.hosts {
			h.kill()
		}
		w.remount("ro")
		h := w.host()
		h.launch()
		return func() {
			w.remount("rw")
			for _, p := range w.hosts {
				if p != h {
					p.launch()
				}
			}
			for _, p := range w.hosts {
				p.hears("ready")
				w.join(p)
			}
			time.Sleep(2 * time.Second)
		}
	}},
	{"a host stands still in the middle of what it does", func(w *world) func() {
		h := w.host()
		require.NoError(w.t, h.cmd.Process.Signal(syscall.SIGSTOP))
		return func() { require.NoError(w.t, h.cmd.Process.Signal(syscall.SIGCONT)) }
	}},
}

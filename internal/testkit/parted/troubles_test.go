//go:build linux

package parted

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trouble is something that happens in the middle of a round. What it returns, if anything, is called after the
// network has healed.
type trouble struct {
	name  string
	begin func(w *world) (after func())
}

func (w *world) host() *process { return w.hosts[w.rng.IntN(hosts)] }
func (w *world) first() *gate   { return w.servers.gates[w.servers.primary] }
func (w *world) second() *gate  { return w.servers.gates[1-w.servers.primary] }
func (w *world) between(f func()) {
	time.Sleep(time.Duration(300+w.rng.IntN(700)) * time.Millisecond)
	f()
}

// cut is trouble of the network only.
func cut(f func(w *world)) func(*world) func() {
	return func(w *world) func() { f(w); return nil }
}

var troubles = []trouble{
	{"a host is cut off from both servers", cut(func(w *world) {
		h := w.host()
		part(h.node, w.first().node)
		part(h.node, w.second().node)
	})},
	{"the primary dies and comes back", func(w *world) func() {
		require.NoError(w.t, w.servers.master().Kill())
		return w.servers.restart
	}},
	{"the primary is lost, the standby takes over", func(w *world) func() {
		return w.failOver()
	}},
	{"what a host sends to the primary is lost", cut(func(w *world) { w.first().loses(w.host().node) })},
	{"what the primary sends to a host is lost", cut(func(w *world) { w.host().loses(w.first().node) })},
	{"primary and standby are cut off from each other", cut(func(w *world) { part(w.first().node, w.second().node) })},
	{"a third of all that is sent is lost", cut(func(w *world) {
		for _, x := range w.net.nodes {
			x.drops(0.3)
		}
	})},
	{"a host is killed and starts again", func(w *world) func() {
		h := w.host()
		h.kill()
		return func() { h.start(); w.join(h) }
	}},
	{"everything on the way to the primary takes two seconds", func(w *world) func() {
		g := w.first()
		g.delay.Store(int64(2 * time.Second))
		return func() { g.delay.Store(0) }
	}},
	{"primary and standby are cut off, then the primary is lost", func(w *world) func() {
		w.dirty[0] = clock()
		part(w.first().node, w.second().node)
		time.Sleep(3 * time.Second)
		after := w.failOver()
		w.dirty[1] = clock()
		return after
	}},
	{"the disk of the primary is full", func(w *world) func() {
		ballast := w.servers.smallDisk()
		w.between(func() { fill(w.t, ballast) })
		return func() {
			require.NoError(w.t, os.Remove(ballast))
			if !w.servers.master().Running() {
				w.count("servers ended by a full disk")
				w.servers.restart()
			}
		}
	}},
	{"all hosts are cut off from the primary", cut(func(w *world) {
		for _, h := range w.hosts {
			part(h.node, w.first().node)
		}
	})},
	{"what the primary sends to the standby is lost", cut(func(w *world) { w.second().loses(w.first().node) })},
	{"what the standby sends to the primary is lost", cut(func(w *world) { w.first().loses(w.second().node) })},
	{"a host stands still for longer than a lease", func(w *world) func() {
		h := w.host()
		require.NoError(w.t, h.cmd.Process.Signal(syscall.SIGSTOP))
		time.Sleep(3 * time.Second)
		return func() { require.NoError(w.t, h.cmd.Process.Signal(syscall.SIGCONT)) }
	}},
	{"the primary stands still now and then", cut(func(w *world) {
		for range 3 {
			w.servers.signal(syscall.SIGSTOP)
			time.Sleep(time.Second)
			w.servers.signal(syscall.SIGCONT)
			w.between(func() {})
		}
	})},
}

// failOver has the standby take over, and brings the old primary back later, shut off from all others.
func (w *world) failOver() (after func()) {
	old := w.servers.failOver(w.t.Context())
	w.olds = append(w.olds, old)
	return func() {
		require.NoError(w.t, w.second().do(func() error { return old.Restart(w.t.Context()) }))
		sql(w.t, old, "ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()")
		w.servers.standby()
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	file, err := os.Create(name)
	require.NoError(t, err)
	defer file.Close()
	zeroes, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer zeroes.Close()
	_, err = io.Copy(file, zeroes)
	require.ErrorIs(t, err, syscall.ENOSPC)
}

func (w *world) count(what string) { w.counts[what]++ }

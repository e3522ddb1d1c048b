//go:build linux

package parted

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

// network has nodes on one bridge.
type network struct {
	t     *testing.T
	name  string
	count int
	nodes []*node
}

// node is a network namespace with an address.
type node struct {
	*network
	space, addr string
}

// newNetwork makes a bridge in a namespace of its own. The test is skipped if that cannot be done.
func newNetwork(t *testing.T) *network {
	inRealTime(t)
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	n := &network{t: t, name: fmt.Sprintf("parted%d", os.Getpid())}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.name).Run() })
	for _, args := range []string{
		"netns add " + n.name,
		"-n " + n.name + " link add bridge type bridge",
		"-n " + n.name + " link set bridge up",
		"-n " + n.name + " link add one type veth peer name two",
		"netns exec " + n.name + " iptables -A INPUT -m statistic --mode random --probability 0 -j DROP",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("no network that can be parted: ip %s: %v: %s", args, err, out)
		}
	}
	return n
}

// inRealTime skips a test under -short: hosts work for seconds, and leases and time limits run out.
func inRealTime(t *testing.T) {
	if testing.Short() {
		t.Skip("rounds take real time: not with -short")
	}
}

func (n *network) run(program string, args ...string) {
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(n.t, err, "%s %v: %s", program, args, out)
}

// add makes a node.
func (n *network) add() *node {
	n.count++
	x := &node{n, fmt.Sprintf("%sn%d", n.name, n.count), fmt.Sprintf("10.77.0.%d", 10+n.count)}
	port := fmt.Sprintf("port%d", n.count)
	n.run("ip", "netns", "add", x.space)
	n.t.Cleanup(func() { n.run("ip", "netns", "del", x.space) })
	n.run("ip", "-n", n.name, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", x.space)
	n.run("ip", "-n", n.name, "link", "set", port, "master", "bridge", "up")
	n.run("ip", "-n", x.space, "addr", "add", x.addr+"/24", "dev", "eth0")
	n.run("ip", "-n", x.space, "link", "set", "eth0", "up")
	n.run("ip", "-n", x.space, "link", "set", "lo", "up")
	n.nodes = append(n.nodes, x)
	return x
}

// filter adds a rule for what the node sends (OUTPUT) or receives (INPUT).
func (x *node) filter(rule ...string) {
	x.run("ip", append([]string{"netns", "exec", x.space, "iptables", "-A"}, rule...)...)
}

// loses has the node lose what comes from another one.
func (x *node) loses(from *node) { x.filter("INPUT", "-s", from.addr, "-j", "DROP") }

// drops has the node lose this share of all that it receives.
func (x *node) drops(share float64) {
	x.filter("INPUT", "-m", "statistic", "--mode", "random", "--probability", fmt.Sprint(share), "-j", "DROP")
}

// part cuts two nodes off from each other.
func part(x, y *node) {
	x.loses(y)
	y.loses(x)
}

// heal removes all rules.
func (n *network) heal() {
	for _, x := range n.nodes {
		n.run("ip", "netns", "exec", x.space, "iptables", "-F")
	}
}

// do calls f in the node. Processes that f starts and listeners that it opens belong to the node.
func (x *node) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		file, err := os.Open(filepath.Join("/run/netns", x.space))
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			err = errors.Join(err, file.Close())
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// gate is the port of a server on its node: it passes bytes on to a socket of the file system.
type gate struct {
	*node
	socket atomic.Pointer[string] // nil or empty: connections are refused
	delay  atomic.Int64           // of each byte, in nanoseconds
}

func (x *node) gate() *gate {
	g := &gate{node: x}
	var listener net.Listener
	require.NoError(x.t, x.do(func() (err error) {
		listener, err = net.Listen("tcp", x.addr+":5432")
		return err
	}))
	x.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.serve(conn)
		}
	}()
	return g
}

func (g *gate) serve(conn net.Conn) {
	defer conn.Close()
	socket := g.socket.Load()
	if socket == nil || *socket == "" {
		return
	}
	server, err := net.Dial("unix", *socket)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan bool, 2)
	for _, to := range [][2]net.Conn{{server, conn}, {conn, server}} {
		go func() {
			g.pass(to[0], to[1])
			ended <- true
		}()
	}
	<-ended
}

// pass copies bytes, each after the delay.
func (g *gate) pass(to io.Writer, from io.Reader) {
	type piece struct {
		bytes []byte
		at    time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{b[:n], time.Now().Add(time.Duration(g.delay.Load()))}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.at))
		if _, err := to.Write(p.bytes); err != nil {
			go func() { // until the connection is closed
				for range pieces {
				}
			}()
			return
		}
	}
}

// open sends new connections to a server. Without one they are refused.
func (g *gate) open(c *pgcluster.Cluster) {
	socket := ""
	if c != nil {
		socket = filepath.Join(dirOf(c), ".s.PGSQL.5432")
	}
	g.socket.Store(&socket)
}

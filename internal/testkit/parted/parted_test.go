//go:build linux

package parted

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	beHost() // does not return in a process that is to be a host
	os.Exit(m.Run())
}

// process is a host.
type process struct {
	*node
	hostConfig
	dir     string
	started int
	cmd     *exec.Cmd
	tell    io.WriteCloser
	hear    *bufio.Scanner
}

// start starts the process and waits until it has opened the store.
func (p *process) start() {
	p.started++
	p.Log = filepath.Join(p.dir, fmt.Sprintf("host-%d-%d.log", p.Host, p.started))
	config, err := json.Marshal(p.hostConfig)
	require.NoError(p.t, err)
	self, err := os.Executable()
	require.NoError(p.t, err)
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), envHost+"="+string(config))
	p.cmd.Stderr = os.Stderr
	p.tell, err = p.cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(p.t, err)
	p.hear = bufio.NewScanner(out)
	require.NoError(p.t, p.do(p.cmd.Start))
	p.hears("ready")
}

func (p *process) hears(word string) {
	require.True(p.t, p.hear.Scan(), "host %d has ended", p.Host)
	require.Equal(p.t, word, p.hear.Text())
}

func (p *process) says(line string) {
	_, err := fmt.Fprintln(p.tell, line)
	require.NoError(p.t, err)
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// world is all that a test has.
type world struct {
	t       *testing.T
	net     *network
	servers *servers
	hosts   []*process
	dir     string
	rng     *rand.Rand
	counts  map[string]int
}

const hosts = 3

func newWorld(t *testing.T, seed uint64, fault string) *world {
	w := &world{t: t, net: newNetwork(t), dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	w.servers = newServers(t, w.net)
	for i := range hosts {
		p := &process{node: w.net.add(), dir: w.dir, hostConfig: hostConfig{
			Host: i, Seed: seed, DSN: w.servers.dsn(), Ahead: time.Duration(i-1) * 12500 * time.Millisecond, // 25 s apart
		}}
		if i == 0 {
			p.Fault = fault
		}
		p.start()
		t.Cleanup(p.kill)
		w.hosts = append(w.hosts, p)
	}
	return w
}

// trouble is something that happens in the middle of a round. What it returns is called after the network has healed.
type trouble struct {
	name  string
	begin func(w *world) (after func())
}

var troubles = []trouble{
	{"a host is cut off from both servers", func(w *world) func() {
		h := w.hosts[w.rng.IntN(hosts)]
		part(h.node, w.servers.gates[0].node)
		part(h.node, w.servers.gates[1].node)
		return nil
	}},
}

// play plays a round and returns what is wrong after it.
func (w *world) play(round int) []string {
	began := time.Now()
	x := troubles[w.rng.IntN(len(troubles))]
	for _, p := range w.hosts {
		p.says(strconv.Itoa(round))
	}
	time.Sleep(time.Duration(500+w.rng.IntN(1000)) * time.Millisecond)
	after := x.begin(w)
	time.Sleep(time.Duration(3000+w.rng.IntN(2000)) * time.Millisecond)
	w.net.heal()
	if after != nil {
		after()
	}
	time.Sleep(time.Second)
	for _, p := range w.hosts {
		p.says("")
	}
	for _, p := range w.hosts {
		p.hears("quiet")
	}
	w.servers.synchronous()
	quiet := time.Now()
	k, err := newChecker(w.t.Context(), w.servers.master().DSN(), w.dir, round)
	require.NoError(w.t, err)
	for name, check := range map[string]func() error{
		"entries": k.checkEntries, "facts": k.checkFacts, "armed": k.checkArmed, "events": k.checkEvents,
		"tokens": func() error { return k.checkTokens(false) }, "documents": func() error { k.checkDocuments(); return nil },
	} {
		require.NoError(w.t, check(), name)
	}
	for name, n := range k.counts {
		w.counts[name] += n
	}
	w.t.Logf("round %d: %s; %v, checked in %v: %v", round, x.name, quiet.Sub(began).Round(100*time.Millisecond), time.Since(quiet).Round(100*time.Millisecond), k.counts)
	return k.problems
}

func seed() uint64 {
	n, _ := strconv.ParseUint(os.Getenv("AGENTMEMORY_PARTED_SEED"), 10, 64)
	return cmp.Or(n, uint64(time.Now().UnixNano()))
}

// What hosts have acknowledged holds, and nothing else happens, while the network parts.
func TestM8K2E3_NetworksThatPart(t *testing.T) {
	rounds, of := 2, seed()
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		rounds = 60
	}
	t.Logf("AGENTMEMORY_PARTED_SEED=%d", of)
	w := newWorld(t, of, "")
	for round := range rounds {
		for _, problem := range w.play(round) {
			t.Errorf("round %d: %s", round, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.counts)) {
		t.Logf("%s: %d", name, w.counts[name])
	}
}

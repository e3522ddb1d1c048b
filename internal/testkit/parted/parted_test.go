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

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

func TestMain(m *testing.M) {
	beHost() // does not return in a process that is to be a host
	os.Exit(m.Run())
}

// process is a host.
type process struct {
	*node // nil: that of the test
	t     *testing.T
	hostConfig
	dir  string
	cmd  *exec.Cmd
	tell io.WriteCloser
	hear *bufio.Scanner
}

// start starts the process and waits until it has opened the store.
func (p *process) start() {
	p.launch()
	p.hears("ready")
}

func (p *process) launch() {
	p.Start++
	p.Log = filepath.Join(p.dir, fmt.Sprintf("host-%d-%d.log", p.Host, p.Start))
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
	start := p.cmd.Start
	if p.node != nil {
		start = func() error { return p.do(p.cmd.Start) }
	}
	require.NoError(p.t, start())
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
	t        *testing.T
	net      *network
	servers  *servers // nil over SQLite
	file     string   // of SQLite
	hosts    []*process
	dir      string
	rng      *rand.Rand
	troubles []trouble
	ahead    []int // troubles that come before one comes again
	counts   map[string]int
	round    int
	dirty    [2]int64             // from when to when a primary made what its standby did not get
	olds     []*pgcluster.Cluster // primaries that were replaced in this round
}

const hosts = 3

// logDir is where hosts write their logs. It stays if AGENTMEMORY_PARTED_DIR names one.
func logDir(t *testing.T) string {
	return cmp.Or(os.Getenv("AGENTMEMORY_PARTED_DIR"), t.TempDir())
}

// newWorld has hosts over PostgreSQL, the second with a fault if one is named.
func newWorld(t *testing.T, seed uint64, fault string) *world {
	w := &world{t: t, net: newNetwork(t), dir: logDir(t), rng: rand.New(rand.NewPCG(seed, 0)), troubles: troubles, counts: map[string]int{}}
	w.servers = newServers(t, w.net)
	for i := range hosts {
		w.add(&process{node: w.net.add(), hostConfig: hostConfig{Host: i, Seed: seed, DSN: w.servers.dsn()}}, fault)
	}
	return w
}

// add starts a host. The clock of the first is 25 s behind that of the others, which compete for what is due.
func (w *world) add(p *process, fault string) {
	p.t, p.dir, p.Ahead = w.t, w.dir, 12500*time.Millisecond
	switch p.Host {
	case 0:
		p.Ahead = -p.Ahead
	case 1:
		p.Fault = fault
	}
	p.start()
	w.t.Cleanup(p.kill)
	w.hosts = append(w.hosts, p)
}

// dsn is how the test looks at the store.
func (w *world) dsn() string {
	if w.servers == nil {
		return w.file
	}
	return w.servers.master().DSN()
}

// join has a host work.
func (w *world) join(p *process) { p.says(strconv.Itoa(w.round)) }

// play plays a round and returns what is wrong after it.
func (w *world) play(round int) []string {
	began := time.Now()
	if len(w.ahead) == 0 {
		w.ahead = w.rng.Perm(len(w.troubles))
	}
	x := w.troubles[w.ahead[0]]
	w.ahead = w.ahead[1:]
	w.dirty, w.olds = [2]int64{}, nil
	w.round = round
	for _, p := range w.hosts {
		w.join(p)
	}
	time.Sleep(time.Duration(500+w.rng.IntN(1000)) * time.Millisecond)
	after := x.begin(w)
	time.Sleep(time.Duration(1000+w.rng.IntN(1000)) * time.Millisecond)
	if rounds() > 2 {
		time.Sleep(time.Duration(2000+w.rng.IntN(1000)) * time.Millisecond)
	}
	if w.net != nil {
		w.net.heal()
	}
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
	if w.servers != nil {
		w.servers.synchronous()
	}
	quiet := time.Now()
	k, err := newChecker(w.t.Context(), w.dsn(), w.dir, round)
	require.NoError(w.t, err)
	defer k.shut()
	k.dirty = w.dirty
	for name, check := range map[string]func() error{
		"entries": k.checkEntries, "facts": k.checkFacts, "armed": k.checkArmed, "events": k.checkEvents,
		"tokens": k.checkTokens, "documents": func() error { k.checkDocuments(); return nil },
	} {
		require.NoError(w.t, check(), name)
	}
	for _, old := range w.olds {
		require.NoError(w.t, k.checkOld(old.DSN()))
		w.servers.close(old)
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

// rounds is how many rounds a test plays.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("AGENTMEMORY_PARTED_ROUNDS")); err == nil {
		return n
	}
	if os.Getenv("AGENTMEMORY_LONG") == "1" {
		return 60
	}
	return 2 // shorter ones
}

// What hosts have acknowledged holds, and nothing else happens, while the network parts.
func TestM8K2E3_NetworksThatPart(t *testing.T) {
	of := seed()
	t.Logf("AGENTMEMORY_PARTED_SEED=%d", of)
	newWorld(t, of, "").playAll()
}

// The same over a file, whose disk is full or read-only at times.
func TestM8K2E3_DisksThatFail(t *testing.T) {
	of := seed()
	t.Logf("AGENTMEMORY_PARTED_SEED=%d", of)
	newFileWorld(t, of).playAll()
}

func (w *world) playAll() {
	began := time.Now()
	for round := range rounds() {
		for _, problem := range w.play(round) {
			w.t.Errorf("round %d: %s", round, problem)
		}
	}
	w.t.Logf("%d rounds in %v", rounds(), time.Since(began).Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(w.counts)) {
		w.t.Logf("%s: %d", name, w.counts[name])
	}
}

// A store that answers too early, has no fence or repeats what may have been done is found within ten rounds.
func TestM8K2_PlantedFaults(t *testing.T) {
	if os.Getenv("AGENTMEMORY_LONG") != "1" {
		t.Skip("takes minutes: set AGENTMEMORY_LONG=1")
	}
	for _, fault := range []string{earlyAnswer, noFence, retries} {
		t.Run(fault, func(t *testing.T) {
			of := seed()
			t.Logf("AGENTMEMORY_PARTED_SEED=%d", of)
			w := newWorld(t, of, fault)
			for round := range 10 {
				if problems := w.play(round); len(problems) > 0 {
					t.Logf("found in round %d: %s", round, problems[0])
					return
				}
			}
			t.Error("not found in ten rounds")
		})
	}
}

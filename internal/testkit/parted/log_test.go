//go:build linux

package parted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// outcome is what a call came to. One that the host did not live to see is unknown too.
type outcome string

const (
	unknown outcome = ""
	done    outcome = "done"
	refused outcome = "refused" // nothing was changed
)

// call is one call of a host, as its log has it: a line when it begins, and one when it ends.
type call struct {
	Host, N      int
	Kind         string
	Tenant       string
	Run          string   `json:",omitempty"`
	Name, Old    string   `json:",omitempty"` // of the entry, the fact, the document's value or the firing; what it takes the place of
	ID           string   `json:",omitempty"`
	Subject      string   `json:",omitempty"`
	Names        []string `json:",omitempty"` // what a read has shown
	Token        string   `json:",omitempty"`
	Fence        int64    `json:",omitempty"`
	Outcome      outcome
	Conflict     bool   `json:",omitempty"`
	Problem      string `json:",omitempty"`
	Began, Ended int64  // by the clock that all processes of the machine share
	Try          int64  `json:",omitempty"` // how often it was made
}

func clock() int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return at.Nano()
}

// logFile is the log of a host process.
type logFile struct {
	host int
	mu   sync.Mutex
	n    int
	file *os.File
}

func (l *logFile) write(c *call) {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// begin numbers a call and writes it down.
func (l *logFile) begin(c *call) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	c.Host, c.N, c.Began = l.host, l.n, clock()
	l.write(c)
	return c
}

// end writes down what a call came to.
func (l *logFile) end(c *call) {
	c.Ended = clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(c)
}

// forever is when a call ends whose outcome is unknown.
const forever = int64(1) << 62

// readLogs reads the calls of all hosts in a round, each once.
func readLogs(dir string, round int) (calls []*call, err error) {
	tenants := fmt.Appendf(nil, `"round-%d-`, round)
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		last := map[int]*call{}
		for line := range bytes.Lines(text) {
			c := new(call)
			if line[len(line)-1] != '\n' || !bytes.Contains(line, tenants) || json.Unmarshal(line, c) != nil {
				continue // the host was killed as it wrote
			}
			if last[c.N] == nil {
				last[c.N] = c
				calls = append(calls, c)
			}
			*last[c.N] = *c
		}
	}
	for _, c := range calls {
		if c.Outcome == unknown {
			c.Ended = forever
		}
	}
	return calls, nil
}

package crashload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Log is what outlives a load, in a file: the outcomes of its operations, and the events that
// were delivered. One Log of a directory is open at a time.
type Log struct {
	seed        uint64
	lanes       atomic.Int64 // that were begun
	comparisons int          // of a store that is found broken

	mu sync.Mutex
	f  *os.File
}

const logFile = "load.jsonl"

// outcome is a line of the log, after the store has answered. The first one has the seed.
type outcome struct {
	Seed uint64 `json:"seed,omitempty"`
	Lane int64  `json:"lane,omitempty"`
	// Begins is that of a lane, before its first operation. Of an operation a line says what
	// the store made of it, or that it refused it.
	Begins  bool    `json:"begins,omitempty"`
	Refused bool    `json:"refused,omitempty"`
	Revs    []int64 `json:"revs,omitempty"`
	Hit     bool    `json:"hit,omitempty"`
	// Reading is what a scope held behind the operation before.
	Reading *reading `json:"reading,omitempty"`
	// Kept is what a comparison has found of the kept events of a run.
	Kept *keptSoFar `json:"kept,omitempty"`
	// Event is the line of one that was delivered.
	Event string `json:"event,omitempty"`
}

type keptSoFar struct {
	Tenant, Run string
	Count       int
	Sum         string // of their ids
}

type reading struct {
	driver.Scope
	driver.Version
	IDs []string
}

// Open opens the log in a directory, or makes one there. The seed decides what the loads
// do; one that is there keeps its own.
func Open(dir string, seed uint64) (*Log, error) {
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{f: f, comparisons: 3}
	all, err := l.read()
	if err == nil && len(all) == 0 {
		all = []outcome{{Seed: seed}}
		err = l.add(all...)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	l.seed = all[0].Seed
	for _, out := range all {
		l.lanes.Store(max(l.lanes.Load(), out.Lane))
	}
	return l, nil
}

// Close closes the file.
func (l *Log) Close() error { return l.f.Close() }

// read returns all lines. What a process was writing when it died, and so never went on from, is
// cut off.
func (l *Log) read() (all []outcome, err error) {
	content, err := os.ReadFile(l.f.Name())
	if err != nil {
		return nil, err
	}
	content = content[:bytes.LastIndexByte(content, '\n')+1]
	for text := range bytes.Lines(content) {
		var out outcome
		if err := json.Unmarshal(text, &out); err != nil {
			return nil, fmt.Errorf("crashload: line %d of the log is not readable", len(all)+1)
		}
		all = append(all, out)
	}
	return all, l.f.Truncate(int64(len(content)))
}

// add appends lines together and returns when the kernel has them: by one write, which survives
// the death of the process, not that of the machine.
func (l *Log) add(lines ...outcome) error {
	var text bytes.Buffer
	for _, out := range lines {
		if err := json.NewEncoder(&text).Encode(out); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.f.Write(text.Bytes())
	return err
}

// eventLine tells what an event is, without what it says.
func eventLine(r *events.Record) string {
	payload := must(json.Marshal(r.Payload))
	return fmt.Sprintf("the event %s of %s of %s: %s %s", r.ID, r.RunID, r.Tenant, r.Payload.EventType(), sum(string(payload)))
}

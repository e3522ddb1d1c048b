package crashload

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// Log is what outlives a load, in a file: the outcomes of its operations, and the events that
// were delivered. One Log of a directory is open at a time.
type Log struct {
	seed  uint64
	lanes int64 // that were begun
	lines *lines

	comparisons int // of a store that is found broken
}

const logFile = "load.jsonl"

// outcome is a line of the log, after the store has answered. The first one has the seed.
type outcome struct {
	Seed  uint64 `json:"seed,omitempty"`
	Opens bool   `json:"opens,omitempty"` // a load begins
	Lane  int64  `json:"lane,omitempty"`
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
	// Event was delivered.
	Event *delivery `json:"event,omitempty"`
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

type delivery struct {
	Tenant  string          `json:"tenant"`
	Run     string          `json:"run"`
	ID      string          `json:"id"`
	Type    events.Type     `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// Open opens the log in a directory, or makes one there. The seed decides what the loads
// do; one that is there keeps its own.
func Open(dir string, seed uint64) (*Log, error) {
	f, err := openLines(filepath.Join(dir, logFile))
	if err != nil {
		return nil, err
	}
	l := &Log{lines: f, comparisons: 3}
	if err := l.load(seed); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) load(seed uint64) error {
	all, err := readLines[outcome](l.lines)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		all = []outcome{{Seed: seed}}
		err = l.lines.add(all[0])
	}
	l.seed = all[0].Seed
	for _, out := range all {
		l.lanes = max(l.lanes, out.Lane)
	}
	return err
}

// Close closes the file.
func (l *Log) Close() error { return l.lines.f.Close() }

// deliver writes events down.
func (l *Log) deliver(recs []events.Record) error {
	taken := make([]any, len(recs))
	for i := range recs {
		d, err := deliveryOf(&recs[i])
		if err != nil {
			return err
		}
		taken[i] = outcome{Event: &d}
	}
	return l.lines.add(taken...)
}

func deliveryOf(r *events.Record) (delivery, error) {
	payload, err := json.Marshal(r.Payload)
	return delivery{r.Tenant, r.RunID, r.ID, r.Payload.EventType(), payload}, err
}

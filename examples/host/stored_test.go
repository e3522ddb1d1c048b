package main

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory/driver"
)

// logs is a store that remembers which runs have events, those of passes and firings too: a log is read by
// the id of its run, and no list of runs has them all.
type logs struct {
	driver.Versioned
	mu   sync.Mutex
	seen map[logOf]bool
}

type logOf struct{ tenant, run string }

func rememberLogs(t testing.TB, store driver.Adapter) *logs {
	versioned, ok := driver.As[driver.Versioned](store)
	require.True(t, ok)
	return &logs{Versioned: versioned, seen: map[logOf]bool{}}
}

func (l *logs) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	l.mu.Lock()
	for _, ev := range m.Events {
		l.seen[logOf{tenant, ev.RunID}] = true
	}
	l.mu.Unlock()
	return l.Versioned.Apply(ctx, tenant, m)
}

// As offers what the store offers, its mutations through this one.
func (l *logs) As(target any) bool {
	to := reflect.ValueOf(target).Elem()
	for _, from := range []any{l, l.Versioned} {
		if reflect.TypeOf(from).Implements(to.Type()) {
			to.Set(reflect.ValueOf(from))
			return true
		}
	}
	return false
}

// everyEventIsValid reads the logs of all runs, passes and firings, in both versions (E2): each event has the
// published structure, and its ids those of version 2 (identity.md §5).
func (s *served) everyEventIsValid(l *logs) {
	read := 0
	l.mu.Lock()
	defer l.mu.Unlock()
	for of := range maps.Keys(l.seen) {
		log, err := s.host.recorded(context.Background(), of.tenant, of.run)
		require.NoError(s.t, err)
		for _, ev := range log {
			for version, name := range map[wire.Version]string{wire.V1: "1", wire.V2: "2"} {
				assert.NoError(s.t, validEvent(version, name, ev), "run %s of %s", of.run, of.tenant)
			}
			read++
		}
	}
	s.t.Logf("%d events of %d runs and passes are valid", read, len(l.seen))
}

func validEvent(version wire.Version, name string, ev events.RunEvent) error {
	raw, err := wire.Encoder{Version: version}.RunEvent(ev)
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	if err := valid("event-"+name, any(doc)); err != nil {
		return err
	}
	return valid(map[string]string{"1": "payload ", "2": "payload-2 "}[name]+doc["type"].(string), doc["payload"])
}

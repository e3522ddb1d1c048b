package crashload

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

func openDurableLog(ctx context.Context) (driver.EventKeeper, func() error, error) {
	store, shut, err := openDurable(ctx)
	if err != nil {
		return nil, nil, err
	}
	return store.(*durable), shut, nil
}

// E3: what was acknowledged is kept after kill -9, under its number.
func TestE3_KilledKeptEvents(t *testing.T) {
	rounds := LogRounds{Dir: t.TempDir(), Seed: 1, N: 4, Open: openDurableLog}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		rounds.N = 60
	}
	t.Setenv(envChanges, filepath.Join(rounds.Dir, "changes"))
	rounds.Seen = func(round, events int) { t.Logf("round %d: %d events", round+1, events) }
	require.NoError(t, rounds.Run(t.Context()))
}

// A store that loses, doubles, reorders or tears is found out.
func TestLogRoundsFindBrokenStores(t *testing.T) {
	for name, spoil := range map[string]func([]events.RunEvent) []events.RunEvent{
		"ends with its first page": nil,
		"loses the first":          func(evs []events.RunEvent) []events.RunEvent { return evs[min(1, len(evs)):] },
		"changes an id": func(evs []events.RunEvent) []events.RunEvent {
			for i := range evs {
				evs[i].ID += "x"
			}
			return evs
		},
		"swaps two": func(evs []events.RunEvent) []events.RunEvent {
			if len(evs) > 5 {
				evs[0].Record, evs[5].Record = evs[5].Record, evs[0].Record
			}
			return evs
		},
		"doubles": func(evs []events.RunEvent) []events.RunEvent {
			if len(evs) > 1 {
				evs[1].Record = evs[0].Record
			}
			return evs
		},
	} {
		t.Run(name, func(t *testing.T) {
			rounds := LogRounds{Dir: t.TempDir(), Seed: 1, N: 1}
			rounds.Open = func(ctx context.Context) (driver.EventKeeper, func() error, error) {
				store, shut, err := openDurableLog(ctx)
				return spoiltLog{store, spoil}, shut, err
			}
			t.Setenv(envChanges, filepath.Join(rounds.Dir, "changes"))
			require.ErrorContains(t, rounds.Run(t.Context()), "crashload: ")
		})
	}
}

type spoiltLog struct {
	driver.EventKeeper
	spoil func([]events.RunEvent) []events.RunEvent
}

func (s spoiltLog) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	evs, err := s.EventKeeper.Read(ctx, tenant, run, from, limit)
	switch {
	case err != nil || from > 0 && s.spoil != nil:
		return evs, err
	case s.spoil == nil:
		return evs[:len(evs)*int(max(0, 1-from))], nil
	}
	return s.spoil(evs), nil
}

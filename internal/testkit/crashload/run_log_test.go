package crashload

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
)

const envLogFile = "AGENTMEMORY_CRASHLOAD_LOG_FILE"

// openLogFile opens the log behind a batch that a crash has torn.
func openLogFile(context.Context) (events.RunLog, func() error, error) {
	f, err := os.OpenFile(os.Getenv(envLogFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(`{"eventId":"torn","runId":"run-0","type":"acme.x","payload":1,"timestamp":"2026-05-01T12:00:00Z","sequence":`)
		f.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	log, err := events.OpenFile(os.Getenv(envLogFile))
	if err != nil {
		return nil, nil, err
	}
	return log, log.Close, nil
}

// E3: what was acknowledged is in the file after kill -9, under its number, whatever is torn.
func TestE3_KilledLogFile(t *testing.T) {
	rounds := LogRounds{Dir: t.TempDir(), Seed: 1, N: 4, Open: openLogFile}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		rounds.N = 60
	}
	t.Setenv(envLogFile, filepath.Join(rounds.Dir, "log.jsonl"))
	rounds.Seen = func(round, events int) { t.Logf("round %d: %d events", round+1, events) }
	require.NoError(t, rounds.Run(t.Context()))
}

// A log that loses, doubles, reorders or tears is found out.
func TestLogRoundsFindBrokenLogs(t *testing.T) {
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
			rounds.Open = func(ctx context.Context) (events.RunLog, func() error, error) {
				log, shut, err := openLogFile(ctx)
				return spoiltLog{log, spoil}, shut, err
			}
			t.Setenv(envLogFile, filepath.Join(rounds.Dir, "log.jsonl"))
			require.ErrorContains(t, rounds.Run(t.Context()), "crashload: ")
		})
	}
}

type spoiltLog struct {
	events.RunLog
	spoil func([]events.RunEvent) []events.RunEvent
}

func (s spoiltLog) Read(ctx context.Context, tenant, run string, from int64, limit int) ([]events.RunEvent, error) {
	evs, err := s.RunLog.Read(ctx, tenant, run, from, limit)
	switch {
	case err != nil || from > 0 && s.spoil != nil:
		return evs, err
	case s.spoil == nil:
		return evs[:len(evs)*int(max(0, 1-from))], nil
	}
	return s.spoil(evs), nil
}

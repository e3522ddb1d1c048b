package consolidate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/memory"
)

// conflicting are notes of the file that look much alike and do not say the same: a number, a date,
// a unit, a name, a negation or a quantifier differs. They are given by date and time.
var conflicting = [][]string{
	{"03-02 09:26", "03-09 09:45", "04-23 12:52"},
	{"03-03 08:20", "03-10 11:40", "04-28 12:46"},
	{"03-04 10:45", "03-11 10:44", "05-28 13:45"},
	{"03-06 09:50", "03-18 09:31"},
	{"03-12 11:00", "03-24 11:14", "05-05 12:45"},
	{"03-16 11:21", "03-19 10:41", "05-04 10:31"},
	{"03-23 11:05", "03-27 10:53"},
	{"03-25 11:28", "03-31 14:12"},
	{"03-30 11:27", "04-08 08:25"},
	{"04-02 11:50", "04-10 10:20"},
	{"04-08 14:47", "04-13 14:31"},
	{"04-09 12:22", "04-14 10:48"},
	{"04-15 11:19", "04-17 13:20"},
	{"04-16 11:53", "04-20 15:23"},
	{"04-22 10:26", "04-27 10:28"},
	{"05-07 10:20", "05-11 10:35"},
	{"05-08 12:50", "05-14 08:23"},
	{"05-12 12:30", "05-15 12:52"},
	{"05-19 09:24", "05-22 10:12"},
	{"05-20 11:58", "05-21 09:16"},
	{"05-26 13:41", "05-27 12:59"},
}

// In three months of a support agent's notes, what restates another note word for word is merged, and
// what contradicts one is not.
func TestC8_SupportNotes(t *testing.T) {
	file, err := os.ReadFile("testdata/support.jsonl")
	require.NoError(t, err)
	var entries []memory.Entry
	for line := range bytes.Lines(file) {
		var note struct {
			memory.Entry
			About []string `json:"subjects"`
		}
		require.NoError(t, json.Unmarshal(line, &note))
		note.ID, note.Subjects = fmt.Sprintf("mem_%04d", len(entries)), note.About
		entries = append(entries, note.Entry)
	}
	plan, err := consolidate.Rules{}.Plan(context.Background(), entries)
	require.NoError(t, err)
	stays := map[string]string{} // by the id of what is merged
	for _, g := range plan {
		for _, id := range g.Retire {
			if !g.Superseded {
				stays[id] = g.Keep
			}
		}
	}
	require.GreaterOrEqual(t, len(stays), 20)

	byID, byTime := map[string]memory.Entry{}, map[string]memory.Entry{}
	for _, e := range entries {
		byID[e.ID], byTime[e.CreatedAt.Format("01-02 15:04")] = e, e
	}
	plain := func(e memory.Entry) string {
		return strings.TrimSuffix(strings.Join(strings.Fields(e.Content), " "), ".")
	}
	for id, kept := range stays {
		require.Equal(t, plain(byID[id]), plain(byID[kept]))
	}
	head := func(e memory.Entry) string {
		if kept, ok := stays[e.ID]; ok {
			return kept
		}
		return e.ID
	}
	for _, group := range conflicting {
		for i, at := range group {
			a, ok := byTime[at]
			require.True(t, ok, "there is no note at %s", at)
			for _, earlier := range group[:i] {
				if b := byTime[earlier]; a.Content != b.Content {
					require.NotEqual(t, head(a), head(b), "%q, %q", a.Content, b.Content)
				}
			}
		}
	}
}

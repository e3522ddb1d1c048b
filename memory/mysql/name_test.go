package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// Jobs of two hosts that put a text under one name, and then edit it in place of the version that they read, lose no
// edit, and the name has one live entry.
func TestM8_ANameHasOneLiveEntryAndLosesNoEdit(t *testing.T) {
	dsn := freshDatabase(t)
	var banks []*memory.Bank
	for range 2 {
		bank, err := memory.New(opened(t, dsn).Memory(), memory.Config{})
		require.NoError(t, err)
		banks = append(banks, bank)
	}
	live := func(bank *memory.Bank) []memory.Entry {
		entries, err := bank.Reader("acme").List(t.Context(), "m", memory.ListOptions{})
		require.NoError(t, err)
		return entries
	}
	edit := func(job *memory.Job, bank *memory.Bank, line string) error {
		d := memory.Draft{Content: line, Name: "/a"}
		if before := live(bank); len(before) > 0 {
			d.Content, d.Replaces = before[0].Content+"\n"+line, []string{before[0].ID}
		}
		_, err := job.Put(t.Context(), "m", d)
		return err
	}
	const jobs, edits = 6, 8
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() {
			bank := banks[i%2]
			secrets := redact.New(redact.Config{})
			job, err := bank.Background(memory.JobConfig{ID: fmt.Sprint("job-", i), Tenant: "acme", Redactor: secrets})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range edits {
				err := edit(job, bank, fmt.Sprintf("job%d edit%d.", i, n))
				for errors.Is(err, memory.ErrConflict) {
					err = edit(job, bank, fmt.Sprintf("job%d edit%d.", i, n))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	entries := live(banks[0])
	require.Len(t, entries, 1)
	for i := range jobs {
		for n := range edits {
			require.Equal(t, 1, strings.Count(entries[0].Content, fmt.Sprintf("job%d edit%d.", i, n)))
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// The other words for an entry that is forgotten are in no byte of the files of SQLite.
func TestS3_ForgottenOtherWordsAreInNoByte(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	elsewhere := []string{"zanzibar", "mogadishu", "mombasa"}
	said := &expander{other: map[string]string{}}
	db, err := sqlite.Open(ctx, filepath.Join(dir, "memory.db"), sqlite.Options{})
	require.NoError(t, err)
	defer db.Close()
	ranker, err := recall.New(recall.Config{Expander: said, Redactor: noSecrets})
	require.NoError(t, err)
	bank, err := memory.New(db.Memory(), memory.Config{Ranker: ranker})
	require.NoError(t, err)
	job, err := bank.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	for i := range 300 {
		text := fmt.Sprint("note ", i)
		said.other[text] = fmt.Sprintf("%s, number %d", elsewhere[i%3], i)
		_, err := job.Put(ctx, "m", memory.Draft{Content: text, Subjects: []string{fmt.Sprint("s", i%3)}})
		require.NoError(t, err)
		if i%100 == 99 {
			require.NoError(t, said.keep(ctx, bank, 100))
		}
	}
	has := func(word string) (n int) {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			raw, err := os.ReadFile(filepath.Join(dir, f.Name()))
			require.NoError(t, err)
			n += bytes.Count(bytes.ToLower(raw), []byte(word))
		}
		return n
	}
	find := func() int {
		hits, err := bank.Search(ctx, "acme", "m", memory.Search{Text: elsewhere[1]})
		require.NoError(t, err)
		return len(hits)
	}
	require.Equal(t, 100, find())
	require.GreaterOrEqual(t, has(elsewhere[1]), 100)
	_, err = bank.Forget(ctx, "acme", "s1")
	require.NoError(t, err)
	require.Zero(t, has(elsewhere[1]))
	require.Zero(t, find())
	require.GreaterOrEqual(t, has(elsewhere[2]), 100)
}

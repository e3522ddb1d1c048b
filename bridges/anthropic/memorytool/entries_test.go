package memorytool_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

func (h *host) job(tenant string) *memory.Job {
	job, err := h.Background(memory.JobConfig{ID: "other", Tenant: tenant, Redactor: bridgetest.Secrets(h.t)})
	require.NoError(h.t, err)
	return job
}

// Any other entry that has the tags of a file is none: it is not shown, not overwritten and not deleted.
func TestOtherEntriesAreLeftAlone(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	var ids []string
	for _, tags := range [][]string{
		{"file:/memories/a"}, {"memory-file"}, {"memory-file", "file:/memories"}, {"memory-file", "file:/etc/a"},
		{"memory-file", "file:/memories/a/../a"}, {"memory-file", "file:/memories/b", "file:/memories/a"}, {"memory-file-deleted", "file:/memories/a"},
	} {
		e, err := job.Put(t.Context(), ref, memory.Draft{Content: "no file", Tags: tags})
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	f := h.live("acme")
	fails(t, f, "command", "view", "path", "/memories/a")
	ok(t, f, "command", "create", "path", "/memories/a", "file_text", "mine")
	assert.Contains(t, ok(t, f, "command", "view", "path", "/memories/a"), "mine")
	assert.Equal(t, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"+
		"11\t/memories\n4\t/memories/a\n7\t/memories/b", ok(t, f, "command", "view", "path", "/memories"))
	ok(t, f, "command", "delete", "path", "/memories/a")
	left, err := job.Live(t.Context(), ref, ids)
	require.NoError(t, err)
	assert.Len(t, left, len(ids))
}

// Full memory can be emptied, and what it holds can be edited and renamed.
func TestFullMemory(t *testing.T) {
	h := newHost(t)
	const most = 5
	bank, err := memory.New(inmem.New(), memory.Config{Limits: func(context.Context, string) (driver.Limits, error) {
		return driver.Limits{Entries: most}, nil
	}})
	require.NoError(t, err)
	h.Host.Bank = bank
	f := h.live("acme")
	for i := range 3 {
		ok(t, f, "command", "create", "path", fmt.Sprintf("/memories/d/%d", i), "file_text", "text")
	}
	const full = "Error: memory is full. Delete files first."
	ok(t, f, "command", "create", "path", "/memories/4", "file_text", "text")
	ok(t, f, "command", "create", "path", "/memories/5", "file_text", "text")
	assert.Equal(t, full, fails(t, f, "command", "create", "path", "/memories/6", "file_text", "text"))
	ok(t, f, "command", "str_replace", "path", "/memories/4", "old_str", "text", "new_str", "other text")
	ok(t, f, "command", "rename", "old_path", "/memories/d", "new_path", "/memories/e")
	ok(t, f, "command", "delete", "path", "/memories/e")
	ok(t, f, "command", "delete", "path", "/memories/4")
	ok(t, f, "command", "delete", "path", "/memories/5")
	for e, err := range h.job("acme").Scan(t.Context(), ref) {
		t.Errorf("left: %v %v", e.Tags, err)
	}
}

// A path cannot write a line of its own into a list.
func TestPathsAreOfOneLine(t *testing.T) {
	f := files(memorytool.InRun(newHost(t).run("acme")))
	forms := map[string]string{"LF": "\n", "NEL": "\u0085", "LS": "\u2028", "PS": "\u2029", "ESC": "\x1b", "CSI": "\u009b"}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		text := fails(t, f, "command", "create", "path", "/memories/a"+forms[name]+"b", "file_text", "")
		assert.Contains(t, text, "is not valid", name)
		assert.NotContains(t, text, forms[name], name)
	}
}

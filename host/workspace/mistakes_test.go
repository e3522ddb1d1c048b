package workspace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
)

// What a host's author does wrong is named, with what to do.
func TestM2_MistakesAreNamed(t *testing.T) {
	h, bg := newHost(t), context.Background()
	files := newWorkspace(t, workspace.Config{})
	open := func(cfg workspace.Config) error { _, err := workspace.New(cfg); return err }
	write := func(job *memory.Job, d workspace.Draft) error { _, err := files.Write(bg, job, d); return err }
	index := func(context.Context, *memory.Job) (workspace.File, error) { return workspace.File{}, nil }
	_, unread := files.Read(bg, nil, "notes.md", 0)
	_, unlisted := files.List(bg, nil, "")
	_, undeleted := files.Delete(bg, nil, "notes.md", "")
	const path = "workspace: the path is not up to 256 letters, digits and . _ - / that begin with a letter or digit and have no empty, . or .. part"
	const noJob = "workspace: the job is nil: open one by Bank.Background or Bank.Pass"
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"a limit below zero": {open(workspace.Config{MaxFiles: -1}), memory.ErrValidation,
			"workspace: Config.MaxFiles is below 0: 0 means the default"},
		"a limit above what fits": {open(workspace.Config{MaxFileBytes: 9 << 20}), memory.ErrValidation,
			"workspace: Config.MaxFileBytes is above 8 MiB"},
		"an index without a path": {open(workspace.Config{Index: index}), memory.ErrValidation,
			"workspace: Config has only one of Index and IndexPath: set both or none"},
		"an index outside":      {open(workspace.Config{Index: index, IndexPath: "../index"}), memory.ErrValidation, path},
		"a path from the root":  {write(h.job("acme"), workspace.Draft{Path: "/notes.md"}), memory.ErrValidation, path},
		"no path":               {write(h.job("acme"), workspace.Draft{Content: "x"}), memory.ErrValidation, path},
		"no job to write":       {write(nil, workspace.Draft{Path: "notes.md"}), memory.ErrValidation, noJob},
		"no job to read":        {unread, memory.ErrValidation, noJob},
		"no job to list":        {unlisted, memory.ErrValidation, noJob},
		"no job to delete":      {undeleted, memory.ErrValidation, noJob},
		"a type of two lines":   {write(h.job("acme"), workspace.Draft{Path: "notes.md", ContentType: "a\nb"}), memory.ErrValidation, "workspace: the content type is longer than 256 bytes, not UTF-8 or has control characters"},
		"a type that is secret": {write(h.job("acme"), workspace.Draft{Path: "notes.md", ContentType: secret}), memory.ErrSecretLeakage, "workspace: the content type holds a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

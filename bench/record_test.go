package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A commit has a plus sign if anything but the figures was changed since, wherever in the tree
// the program was started.
func TestCommit(t *testing.T) {
	repo := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(repo))
	git := func(args ...string) {
		out, err := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=n", "-c", "user.email=e@example.org"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	put := func(name, text string) {
		file := filepath.Join(repo, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	here := filepath.Join(repo, "bench")
	assert.Equal(t, "unknown", commit(repo))
	git("init", "-q")
	put("bench/main.go", "package main")
	put("docs/figures/run.json", "{}")
	git("add", ".")
	git("commit", "-qm", "one")

	clean := commit(here)
	assert.Regexp(t, "^[0-9a-f]{7,}$", clean)
	put("docs/figures/run.json", "")
	assert.Equal(t, clean, commit(here))
	put("docs/page.md", "new")
	assert.Equal(t, clean+"+", commit(here))
}

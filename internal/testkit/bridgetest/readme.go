package bridgetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Readme compiles the program that the README of the module shows, in the directory of the test.
func Readme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, program, found := strings.Cut(string(page), "```go\npackage main\n")
	require.True(t, found, "README.md shows no program")
	program, _, _ = strings.Cut(program, "```")
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte("package main\n"+program), 0o600))
	said, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput()
	require.NoError(t, err, "the program does not compile: %s", said)
}

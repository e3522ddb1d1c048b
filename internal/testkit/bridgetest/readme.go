package bridgetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Readme compiles the program that the README of the module shows, in the directory of the test.
func Readme(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(page), "```go\npackage main\n")
	if !found {
		t.Fatal("README.md shows no program")
	}
	program, _, _ = strings.Cut(program, "```")
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("package main\n"+program), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("the program does not compile: %v\n%s", err, said)
	}
}

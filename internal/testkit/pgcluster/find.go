package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// The environment of a test decides which server it gets.
const (
	EnvDSN     = "AGENTMEMORY_POSTGRES_DSN"     // use this server
	EnvRequire = "AGENTMEMORY_REQUIRE_POSTGRES" // 1: no server is a failure
)

// ErrNoServer: the machine has no PostgreSQL server that could be started.
var ErrNoServer = errors.New("pgcluster: no PostgreSQL server found (set " + EnvDSN + ", or install one)")

// ForTests returns the server that a test is to use: the one that [EnvDSN] names,
// else a new private cluster. A machine without either is [ErrNoServer], on which a
// test skips; if [EnvRequire] is 1 it is another error, on which a test fails.
func ForTests(ctx context.Context) (*Cluster, error) {
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return &Cluster{dsn: dsn}, nil
	}
	c, err := Start(ctx)
	if errors.Is(err, ErrNoServer) && os.Getenv(EnvRequire) == "1" {
		return nil, fmt.Errorf("%s is set: %v", EnvRequire, err)
	}
	return c, err
}

// binaries is a directory that holds both initdb and postgres, not as links.
func binaries(debian string) (string, error) {
	dirs, _ := filepath.Glob(filepath.Join(debian, "*", "bin")) // of all versions
	slices.Reverse(dirs)
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = slices.Insert(dirs, 0, filepath.Dir(path))
	}
	for _, dir := range dirs {
		_, err1 := exec.LookPath(filepath.Join(dir, "initdb"))
		_, err2 := exec.LookPath(filepath.Join(dir, "postgres"))
		if err1 == nil && err2 == nil {
			server, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
			return filepath.Dir(server), err
		}
	}
	return "", ErrNoServer
}

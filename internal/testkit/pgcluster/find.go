package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
func binaries(ctx context.Context, debian string) (string, error) {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	versions, _ := filepath.Glob(filepath.Join(debian, "*", "bin"))
	slices.SortFunc(versions, func(a, b string) int { return version(b) - version(a) })
	dirs = append(dirs, versions...)
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			server, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
			return filepath.Dir(server), err
		}
	}
	return "", ErrNoServer
}

// version is the number in /usr/lib/postgresql/15/bin.
func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}

func executable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

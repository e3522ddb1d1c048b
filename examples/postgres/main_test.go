package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/openwop/agentmemory/internal/pgcluster"
)

// Each start sees what the ones before it left, until it is forgotten.
func TestTry(t *testing.T) {
	var out bytes.Buffer
	err := try(t.Context(), &out)
	if errors.Is(err, pgcluster.ErrNoServer) && (os.Getenv(pgcluster.EnvRequire) != "1" || os.Getenv(pgcluster.EnvDSN) != "") {
		t.Skip(pgcluster.ErrNoServer)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^0 remembered
1 remembered
  [-0-9]+ [:0-9]+  Lena prefers e-mail\.
erased 1 entries
1 remembered
  [-0-9]+ [:0-9]+  The office is closed on Fridays\.
$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("got %q", out.String())
	}
}

func TestRun_NoDatabase(t *testing.T) {
	if err := run(context.Background(), told{}, new(bytes.Buffer)); !errors.Is(err, errNoDSN) {
		t.Errorf("got %v", err)
	}
}

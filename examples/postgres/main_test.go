package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
)

// Each start sees what the ones before it left, until it is forgotten. The server is one of
// the test's own, so that nothing is there at first.
func TestRun(t *testing.T) {
	cluster, err := pgcluster.Start(t.Context())
	if errors.Is(err, pgcluster.ErrNoServer) && (os.Getenv(pgcluster.EnvRequire) != "1" || os.Getenv(pgcluster.EnvDSN) != "") {
		t.Skip(pgcluster.ErrNoServer)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	var out bytes.Buffer
	for _, start := range []told{
		{note: "Lena prefers e-mail.", about: "customer:1"},
		{note: "The office is closed on Fridays."},
		{forget: "customer:1"},
		{},
	} {
		start.dsn = cluster.DSN()
		if err := run(t.Context(), start, &out); err != nil {
			t.Fatal(err)
		}
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

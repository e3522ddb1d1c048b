package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// eachStore runs a test on both stores, with a server that it can use.
func eachStore(t *testing.T, test func(t *testing.T, s settings, srv server)) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			s := settings{store: kind, tenants: []int{50}, clients: 3, steps: 60, span: time.Minute, rounds: 2, verify: 50, seed: 1}
			srv, err := newServer(t.Context(), s.store, os.Getenv(pgcluster.EnvDSN))
			if errors.Is(err, pgcluster.ErrNoServer) && os.Getenv(pgcluster.EnvRequire) != "1" {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := srv.(*postgresServer); ok {
				s.dsn = p.dsn
			}
			test(t, s, srv)
			if err := srv.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was written to fifty tenants is there, with no other tenant, and the report says
// something about each operation.
func TestSimulate(t *testing.T) {
	eachStore(t, func(t *testing.T, s settings, _ server) {
		r, err := simulate(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		w := r.Worlds[0]
		if w.Entries != 250 || w.Compared < 225 || w.Purging.Tenants != 50 || w.Purging.Purged < 25 {
			t.Errorf("filled with %d entries, compared %d; of %d tenants %d entries were purged", w.Entries, w.Compared, w.Purging.Tenants, w.Purging.Purged)
		}
		for _, name := range []string{"run start", "run list 20", "run put", "run get", "run end", "recall", "recall, first", "arm", "round, noting", "round, purging", "round, idle"} {
			if l := w.Latencies[name]; l.Count == 0 || l.P50 <= 0 || l.P50 > l.P95 || l.P95 > l.P99 || l.P99 > l.Max {
				t.Errorf("%s: %+v", name, l)
			}
		}
		var out bytes.Buffer
		r.describe()
		r.print(&out)
		data, err := json.Marshal(r)
		if err != nil || !bytes.Contains(out.Bytes(), []byte("50 tenants, 250 entries")) || !bytes.Contains(data, []byte(`"run put"`)) {
			t.Errorf("%v: %s%s", err, out.Bytes(), data)
		}
	})
}

// The comparison notices an entry that is missing, one that was not written, and one that is
// about another tenant.
func TestVerify(t *testing.T) {
	eachStore(t, func(t *testing.T, s settings, srv server) {
		made := 0
		for name, spoil := range map[string]func(w *world) error{
			"none": func(*world) error { return nil },
			"an entry is missing": func(w *world) error {
				w.books[7].live["mem_lost"] = kept{}
				return nil
			},
			"an entry is there that was not written, or has ended": func(w *world) error { return write(t, w, 7, 7) },
			"an entry of another tenant is listed":                 func(w *world) error { return write(t, w, 7, 8) },
		} {
			made++
			db, err := srv.database(t.Context(), fmt.Sprint("verified", made))
			if err != nil {
				t.Fatal(err)
			}
			w, err := newWorld(t.Context(), db, 20, s.seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(w); err != nil {
				t.Fatal(err)
			}
			_, err = w.verifyTenant(t.Context(), 7)
			if (err == nil) != (name == "none") || err != nil && err.Error() != name {
				t.Errorf("%s: %v", name, err)
			}
			if err := w.close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// write puts an entry that is in no book into the memory of a tenant, about another one.
func write(t *testing.T, w *world, into, about int) error {
	job, err := w.bank.Background(memory.JobConfig{ID: "pass", Tenant: tenantName(into), Redactor: redact.New(redact.Config{})})
	if err != nil {
		return err
	}
	_, err = job.Put(t.Context(), ref, memory.Draft{Content: "For " + tenantName(about) + ": no"})
	return err
}

package boltstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

var (
	home = driver.Scope{Tenant: "acme", Ref: "support"}
	noon = time.Date(2001, 3, 4, 12, 0, 0, 0, time.UTC)
)

func note(id string) driver.Entry {
	return driver.Entry{ID: id, Content: "about " + id, CreatedAt: noon}
}

func at(t *testing.T, path string) *Store {
	t.Helper()
	st, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// overwrite puts other bytes in the place of what a store keeps under a key.
func overwrite(t *testing.T, st *Store, k []byte, data string) {
	t.Helper()
	err := st.db.Update(func(b *bolt.Tx) error { return b.Bucket(bucket).Put(k, []byte(data)) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestM2_ADamagedRecordIsAnErrorWithoutItsText(t *testing.T) {
	ctx := context.Background()
	st := at(t, filepath.Join(t.TempDir(), "memory"))
	first, err := st.Version(ctx, home.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Put(ctx, home, note("a")); err != nil {
		t.Fatal(err)
	}
	overwrite(t, st, key("record", home.Tenant, home.Ref, "a"), `{"secret`)
	_, get := st.Get(ctx, home, "a", noon)
	_, list := st.List(ctx, home, driver.Query{At: noon})
	_, ended := st.Delete(ctx, home, "a", noon)
	_, purge := st.Purge(ctx, home.Tenant, first, noon)
	for _, err := range []error{get, list, ended, purge, st.Put(ctx, home, note("a"))} {
		if !errors.Is(err, driver.ErrInternal) || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	}
}

func TestE3_AnEventThatCannotBeReadHoldsUpItsOwnRun(t *testing.T) {
	ctx := context.Background()
	st := at(t, filepath.Join(t.TempDir(), "memory"))
	var m driver.Mutation
	for _, run := range []string{"bad", "good"} {
		for _, id := range []string{"2", "1"} {
			m.Events = append(m.Events, events.Record{ID: id, Tenant: home.Tenant, RunID: run, Time: noon, Payload: events.MemoryWritten{MemoryRef: home.Ref, MemoryID: id}})
		}
	}
	if _, err := st.Apply(ctx, home.Tenant, m); err != nil {
		t.Fatal(err)
	}
	overwrite(t, st, key("event", home.Tenant, "bad", "2"), "?")
	var came []string
	var failed error
	for r, err := range st.Undelivered(ctx, "", "") {
		if failed = err; err == nil {
			came = append(came, r.RunID+r.ID)
		}
	}
	if strings.Join(came, " ") != "good2 good1" || !errors.Is(failed, driver.ErrInternal) {
		t.Error(came, failed)
	}
}

// A backup that is written on has the same numbers for other versions.
func TestM7_AVersionOfALostHistoryIsRefused(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	st := at(t, filepath.Join(dir, "memory"))
	backup, err := os.ReadFile(filepath.Join(dir, "memory"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "backup"), backup, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	restored := at(t, filepath.Join(dir, "backup"))
	for _, one := range []*Store{st, restored} {
		if err := one.Put(ctx, home, note("a")); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := st.Version(ctx, home.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restored.List(ctx, home, driver.Query{Version: lost, At: noon}); !errors.Is(err, driver.ErrSnapshotUnavailable) {
		t.Error(err)
	}
	if entries, err := st.List(ctx, home, driver.Query{Version: lost, At: noon}); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

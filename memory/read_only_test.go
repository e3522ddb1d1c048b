package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A bank that only reads shows what the store has, and changes nothing by any way.
func TestReadOnly(t *testing.T) {
	store := inmem.New()
	h := newHostOn(t, store)
	full := h.run("r1", "acme")
	token, err := full.Token(ctx)
	require.NoError(t, err)
	kept, err := full.Put(ctx, "m", memory.Draft{Content: "kept", Subjects: []string{"s"}, TTL: 1e9})
	require.NoError(t, err)
	logged := events.Record{ID: "e", Tenant: "acme", RunID: "logged", Time: epoch, Payload: events.WorkspaceUpdated{Path: "p", Version: 1}}
	_, err = store.Apply(ctx, "acme", driver.Mutation{At: epoch, Events: []events.Record{logged}, Keep: true})
	require.NoError(t, err)
	before, err := store.Version(ctx, "acme")
	require.NoError(t, err)

	bank, err := memory.New(store, memory.Config{Now: h.clock.Now, Sink: h.log, WriteEvents: true, ReadOnly: true})
	require.NoError(t, err)
	offers := bank.Engines().Offers()
	require.False(t, offers.Writes || offers.Transactions || offers.WriteEvents)
	require.True(t, offers.Views)

	list, err := bank.Reader("acme").List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []memory.Entry{kept}, list)
	got, err := bank.Reader("acme").Get(ctx, "m", kept.ID)
	require.NoError(t, err)
	require.Equal(t, kept, got)
	past, err := bank.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	list, err = past.List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, list)
	found, err := bank.Search(ctx, "acme", "m", memory.Search{Text: "kept"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	outcomes, err := bank.Lineage(ctx, "acme", "m", kept.ID)
	require.NoError(t, err)
	require.Contains(t, outcomes, kept.ID)
	require.Equal(t, memory.Live, outcomes[kept.ID].State)
	for ref, err := range bank.Refs(ctx, "acme") {
		require.NoError(t, err)
		require.Equal(t, "m", ref)
	}
	exported := 0
	for _, err := range bank.Export(ctx, "acme", "s") {
		require.NoError(t, err)
		exported++
	}
	require.Equal(t, 1, exported)
	ledger := []memory.Erasure{{At: epoch, Entries: map[string][]string{"m": {kept.ID}}}}
	run, err := bank.Start(ctx, memory.RunConfig{ID: "r2", Tenant: "acme", Redactor: newVault()})
	require.NoError(t, err)
	list, err = run.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	job, err := bank.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: newVault()})
	require.NoError(t, err)
	for name, change := range map[string]func() error{
		"run put":    func() error { _, err := run.Put(ctx, "m", memory.Draft{Content: "x"}); return err },
		"run delete": func() error { _, err := run.Delete(ctx, "m", kept.ID); return err },
		"job put":    func() error { _, err := job.Put(ctx, "m", memory.Draft{Content: "x"}); return err },
		"rewrite":    func() error { _, err := job.Rewrite(ctx, "m", memory.Rewrite{Erase: []string{kept.ID}}); return err },
		"swap": func() error {
			_, err := bank.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{Kind: "k", Key: "k"}})
			return err
		},
		"forget": func() error { _, err := bank.Forget(ctx, "acme", "s"); return err },
		"scrub":  func() error { _, err := bank.Scrub(ctx, "acme", newVault("k", "kept")); return err },
		"purge":  func() error { _, err := bank.Purge(ctx, "acme"); return err },
		"drop":   func() error { return bank.DropTenant(ctx, "acme") },
		"erase again": func() error {
			_, err := bank.EraseAgain(ctx, "acme", ledger, nil)
			return err
		},
		"emit into the store": func() error {
			keeping, err := memory.New(store, memory.Config{Now: h.clock.Now, KeepEvents: time.Hour, ReadOnly: true})
			require.NoError(t, err)
			run, err := keeping.Start(ctx, memory.RunConfig{ID: "r3", Tenant: "acme", Redactor: newVault()})
			require.NoError(t, err)
			return run.Emit(ctx, events.Record{Payload: events.WorkspaceUpdated{Path: "p", Version: 1}})
		},
	} {
		require.ErrorIs(t, change(), memory.ErrNotProvided, name)
	}
	require.NoError(t, run.End(ctx))
	require.NoError(t, job.End(ctx))
	_, err = bank.Maintain(ctx)
	require.NoError(t, err)
	after, err := store.Version(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, before, after, "nothing has changed")
	n, err := store.Waiting(ctx, "acme", 10)
	require.NoError(t, err)
	require.Equal(t, 1, n, "what waits is for the process that fills the store")

	model, err := capability.Derive(capability.Inputs{Bank: bank})
	require.NoError(t, err)
	require.False(t, model.Satisfies(capability.Write))
	require.True(t, model.Satisfies(capability.Read))
}

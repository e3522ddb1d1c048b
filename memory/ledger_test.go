package memory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// exported lists what an export yields, by what it says.
func exported(t *testing.T, h *host, subject string) (out []string) {
	t.Helper()
	for x, err := range h.Export(ctx, "acme", subject) {
		require.NoError(t, err)
		if x.Record != nil {
			out = append(out, x.Record.Entry.Content)
		} else {
			out = append(out, string(x.Document.Value))
		}
	}
	return out
}

// A subject's export has all that a forgetting would erase, and nothing else.
func TestM10_ExportIsWhatForgetErases(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a, err := job.Put(ctx, "m", memory.Draft{Content: "a", Subjects: []string{"s"}, Key: "k"})
	require.NoError(t, err)
	b := put(t, job, "m", "b")
	put(t, job, "n", "deleted", "s")
	put(t, job, "n", "another's", "other")
	put(t, h.job("globex"), "m", "another tenant's", "s")
	made, err := job.Rewrite(ctx, "m", memory.Rewrite{
		Derive: []memory.Derived{{Draft: memory.Draft{Content: "a and b"}, Sources: []string{a.ID, b.ID}, Merges: []string{a.ID, b.ID}}},
		Documents: func(stored []memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{
				{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "x", Key: "1", Value: []byte("archive"), Of: []string{stored[0].ID}}},
				{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "x", Key: "2", Value: []byte("of b"), Of: []string{b.ID}}},
				{Document: driver.Document{Class: driver.HostText, Kind: "file", Key: "1", Value: []byte("file"), Subjects: []string{"s"}}},
			}
		}})
	require.NoError(t, err)
	require.Len(t, made.Revs, 3)
	require.ElementsMatch(t, []string{"a", "deleted", "a and b", "archive", "file"}, exported(t, h, "s"))
	_, err = h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Empty(t, exported(t, h, "s"))
	require.Equal(t, []string{"another's"}, exported(t, h, "other"))
	for _, err := range h.Export(ctx, "acme", "") {
		require.ErrorIs(t, err, memory.ErrValidation)
	}
}

// What was forgotten stays so after a backup was restored: the ledger is applied to a
// store as it was before the forgetting.
func TestM10_TheLedgerOutlivesABackup(t *testing.T) {
	h, backup := newHost(t), newHost(t)
	for _, h := range []*host{h, backup} {
		var documents []driver.DocumentSwap
		for i := range 3 {
			documents = append(documents, driver.DocumentSwap{Document: driver.Document{
				Class: driver.HostText, Kind: "file", Key: fmt.Sprint(i), Value: []byte("text"), Subjects: []string{fmt.Sprint("s", i)}}})
		}
		_, err := h.job("acme").Rewrite(ctx, "m", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap { return documents }})
		require.NoError(t, err)
	}
	ids := map[string]string{}
	for i := range 6 {
		e := put(t, h.job("acme"), "m", fmt.Sprint("fact ", i), fmt.Sprint("s", i%3))
		ids[e.Content] = e.ID
		require.NoError(t, backup.store.Put(ctx, memory.Scope{Tenant: "acme", Ref: "m"}, e))
	}
	_, err := h.Forget(ctx, "acme", "s1")
	require.NoError(t, err)
	_, err = h.Scrub(ctx, "acme", newVault("late", "fact 5"))
	require.NoError(t, err)
	var ledger []memory.Erasure
	for x, err := range h.Erasures(ctx, "acme") {
		require.NoError(t, err)
		ledger = append(ledger, x)
	}
	text, err := json.Marshal(ledger)
	require.NoError(t, err)
	require.NotContains(t, string(text), "fact")
	require.NotContains(t, string(text), "s1")
	require.NotContains(t, string(text), "late")

	var kept []memory.Erasure
	require.NoError(t, json.Unmarshal(text, &kept))
	job := backup.job("acme")
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: "derived after the restoration"}, Sources: []string{ids["fact 0"], ids["fact 1"]}, Merges: []string{ids["fact 0"], ids["fact 1"]}}}})
	require.NoError(t, err)
	done, err := backup.EraseAgain(ctx, "acme", kept, nil)
	require.NoError(t, err)
	require.Len(t, done.Erased, 4, "facts 1, 4 and 5, and what was derived")
	require.Equal(t, 1, done.Documents)
	require.ElementsMatch(t, []string{"fact 0", "fact 2", "fact 3"}, contents(t, backup.Reader("acme"), "m"))
	require.NotZero(t, document(t, job, "", "file", "0").Rev)
	require.Zero(t, document(t, job, "", "file", "1").Rev)
	for range 2 {
		done, err = backup.EraseAgain(ctx, "acme", kept, nil)
		require.NoError(t, err)
		require.Empty(t, done.Erased)
	}
	h.clock.Advance(time.Hour)
	require.NotZero(t, len(ledger))
}

func TestEveryReaderIsPagedToItsEnd(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	for i := range 2500 {
		put(t, run, "m", fmt.Sprint(i))
	}
	token, err := run.Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	for name, r := range map[string]memory.Reader{"live": h.Reader("acme"), "run": run.Memory(), "as of": asOf} {
		var all []string
		for o := (memory.ListOptions{Limit: memory.MaxListLimit}); ; {
			page, err := r.List(ctx, "m", o)
			require.NoError(t, err)
			for _, e := range page {
				all = append(all, e.Content)
			}
			if len(page) < o.Limit {
				break
			}
			o.After = page[len(page)-1].Cursor()
		}
		require.Len(t, all, 2500, name)
		require.Equal(t, "0", all[2499], name)
		_, err := r.List(ctx, "m", memory.ListOptions{After: driver.Cursor{ID: "no\x00cursor"}})
		require.ErrorIs(t, err, memory.ErrValidation, name)
	}
}

package memory_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func TestM8_ADerivedEntryNeedsLiveSources(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	job := h.job("acme")
	a, b := put(t, job, "m", "a", "s1"), put(t, job, "m", "b", "s2", "s1")
	derive := func(ids ...string) ([]memory.Entry, error) {
		made, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: "ab", Subjects: []string{"s3"}}, Sources: ids}}})
		return made.Entries, err
	}
	stored, err := derive(a.ID, b.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"s3", "s1", "s2"}, stored[0].Subjects, "it takes over its sources' subjects")
	require.Equal(t, []string{a.ID, b.ID}, stored[0].Sources)
	require.Equal(t, "pass", stored[0].RunID)

	_, err = derive(a.ID, "mem_absent")
	require.ErrorIs(t, err, memory.ErrConflict)
	// A source that goes between the plan and the commit.
	store.fail = func(call string) error {
		if call == "Apply" {
			store.fail = nil
			_, err := store.Versioned.Delete(ctx, memory.Scope{Tenant: "acme", Ref: "m"}, b.ID, h.Now())
			return err
		}
		return nil
	}
	before := len(contents(t, h.Reader("acme"), "m"))
	_, err = derive(a.ID, b.ID)
	require.ErrorIs(t, err, memory.ErrConflict)
	require.Len(t, contents(t, h.Reader("acme"), "m"), before-1)
}

func TestRewriteIsAllOrNothing(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	a, b := put(t, job, "m", "a"), put(t, job, "m", "b")
	for name, c := range map[string]struct {
		rw   memory.Rewrite
		want error
	}{
		"expects a dead entry":    {memory.Rewrite{Expect: []string{"mem_absent"}}, memory.ErrConflict},
		"restores a live one":     {memory.Rewrite{Restore: []string{a.ID}}, memory.ErrConflict},
		"retires an absent one":   {memory.Rewrite{Retire: []memory.Retire{{ID: "mem_absent", State: memory.Deleted}}}, memory.ErrConflict},
		"for an absent one":       {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Merged, For: "mem_absent"}}}, memory.ErrConflict},
		"swaps a changed cell":    {memory.Rewrite{Documents: one(driver.Document{Kind: "k", Key: "c", Rev: 7})}, memory.ErrConflict},
		"for itself":              {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Merged, For: a.ID}}}, memory.ErrValidation},
		"for one that goes":       {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Merged, For: b.ID}, {ID: b.ID, State: memory.Deleted}}}, memory.ErrValidation},
		"twice":                   {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Deleted}, {ID: a.ID, State: memory.Deleted}}}, memory.ErrValidation},
		"deleted for somebody":    {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Deleted, For: b.ID}}}, memory.ErrValidation},
		"merged for nobody":       {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Merged}}}, memory.ErrValidation},
		"back to life":            {memory.Rewrite{Retire: []memory.Retire{{ID: a.ID, State: memory.Live}}}, memory.ErrValidation},
		"too large":               {memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{Content: string(make([]byte, 70000))}}}}, memory.ErrValidation},
		"derives what is expired": {memory.Rewrite{Derive: []memory.Derived{{Draft: memory.Draft{ExpiresAt: epoch}}}}, memory.ErrValidation},
	} {
		rw := c.rw
		rw.Derive = append([]memory.Derived{{Draft: memory.Draft{Content: "side effect"}}}, rw.Derive...)
		documents := rw.Documents
		rw.Documents = func(stored []memory.Entry) []driver.DocumentSwap {
			all := one(driver.Document{Scope: memory.Scope{Ref: "m"}, Kind: "k", Key: "other", Value: []byte("side effect")})(stored)
			if documents != nil {
				all = append(all, documents(stored)...)
			}
			return all
		}
		_, err := job.Rewrite(ctx, "m", rw)
		require.ErrorIs(t, err, c.want, name)
		require.Equal(t, []string{"b", "a"}, contents(t, h.Reader("acme"), "m"), name)
		doc, err := job.Document(ctx, "m", "k", "other")
		require.NoError(t, err)
		require.Zero(t, doc.Rev, name)
	}
}

// one names a single document of a rewrite.
func one(d driver.Document) func([]memory.Entry) []driver.DocumentSwap {
	return func([]memory.Entry) []driver.DocumentSwap { return []driver.DocumentSwap{{Document: d}} }
}

func TestJobTellsWhoseItIsAndRedacts(t *testing.T) {
	h := newHost(t)
	job, err := h.Background(memory.JobConfig{ID: "p1", Tenant: "acme", Redactor: newVault("k", secret)})
	require.NoError(t, err)
	require.Equal(t, "p1", job.ID())
	require.Equal(t, "acme", job.Tenant())
	require.Equal(t, h.Now(), job.Now())
	require.Equal(t, "r1", h.run("r1", "acme").ID())
	got, err := job.Redact(ctx, secret+" [BYOK:x]")
	require.NoError(t, err)
	require.Equal(t, "[REDACTED:k] [REDACTED:x]", got)
	require.NoError(t, job.End(ctx))
	_, err = job.Redact(ctx, "x")
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
}

// stubborn is a redactor that will not close.
type stubborn struct{ open }

func (stubborn) Close() error { return errors.New("busy") }

func TestEndReportsARegistryThatDoesNotClose(t *testing.T) {
	h := newHost(t)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: stubborn{open{newVault()}}})
	require.NoError(t, err)
	require.ErrorIs(t, run.End(ctx), memory.ErrInternal)
	_, err = run.Token(ctx)
	require.ErrorIs(t, err, memory.ErrEnded)
}

// Without a ranker a question is a filter, in live memory, in a run and as of its token.
func TestSearchFilters(t *testing.T) {
	for name, store := range map[string]driver.Adapter{"store's own": newHost(t).store, "bank's": newSpy()} {
		h := newHostOn(t, store, func(c *memory.Config) { c.TokenCounter = chars{} })
		job := h.job("acme")
		for i := range 20 {
			tags := []string{fmt.Sprint("mod", i%2), fmt.Sprint("mod", i%3+10)}
			_, err := job.Put(ctx, "m", memory.Draft{Content: fmt.Sprintf("Note %d über Straße", i), Tags: tags, Subjects: []string{fmt.Sprint("n", i%4)}, CreatedAt: epoch.Add(time.Duration(i-30) * time.Hour)})
			require.NoError(t, err)
		}
		run := h.run("r", "acme")
		token, err := run.Token(ctx)
		require.NoError(t, err)
		put(t, job, "m", "a later note")
		for _, c := range []struct {
			q    memory.Search
			want int
		}{
			{memory.Search{}, 20},
			{memory.Search{Text: "note 1"}, 11},
			{memory.Search{Text: "ÜBER"}, 20},
			{memory.Search{Text: "absent"}, 0},
			{memory.Search{Tags: []string{"mod0"}}, 10},
			{memory.Search{Tags: []string{"mod0", "mod10"}}, 4},
			{memory.Search{Tags: []string{"mod0", "mod1"}}, 0},
			{memory.Search{Since: epoch.Add(-20 * time.Hour)}, 10},
			{memory.Search{Until: epoch.Add(-20 * time.Hour)}, 10},
			{memory.Search{Since: epoch.Add(-25 * time.Hour), Until: epoch.Add(-20 * time.Hour)}, 5},
			{memory.Search{Subject: "n1"}, 5},
			{memory.Search{Subject: "n1", Tags: []string{"mod10"}, Text: "note"}, 1},
			{memory.Search{Subject: "n"}, 0},
			{memory.Search{Limit: 3}, 3},
			{memory.Search{Text: "note", Limit: 3}, 3},
			{memory.Search{Text: "note", TokenBudget: 60}, 3}, // of 19 characters each
		} {
			found, err := run.Search(ctx, "m", c.q)
			require.NoError(t, err)
			require.Len(t, found, c.want, "%s %+v", name, c.q)
			for i := range found[min(1, len(found)):] {
				require.True(t, found[i].Entry.CreatedAt.After(found[i+1].Entry.CreatedAt))
			}
			past, err := h.AsOf(ctx, "acme", token)
			require.NoError(t, err)
			then, err := past.Search(ctx, "m", c.q)
			require.NoError(t, err)
			require.Equal(t, found, then, "%s %+v", name, c.q)
			live, err := h.Search(ctx, "acme", "m", c.q)
			require.NoError(t, err)
			later := 0
			if len(c.q.Tags) == 0 && c.q.Subject == "" && c.q.Until.IsZero() && c.q.Limit == 0 && c.q.Text == "" {
				later = 1
			}
			require.Len(t, live, c.want+later, "%s %+v", name, c.q)
		}
	}
}

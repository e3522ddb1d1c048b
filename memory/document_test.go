package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// document reads one document of a ref.
func document(t *testing.T, j *memory.Job, ref, kind, key string) driver.Document {
	t.Helper()
	d, err := j.Document(ctx, ref, kind, key)
	require.NoError(t, err)
	return d
}

func TestDocumentsAreSwappedByRevision(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	lease := document(t, job, "m", "lease", "a")
	require.Zero(t, lease.Rev)
	lease.Value = []byte("1")
	made, err := job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(lease)})
	require.NoError(t, err)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(lease)})
	require.ErrorIs(t, err, memory.ErrConflict, "it is there by now")
	held := document(t, job, "m", "lease", "a")
	require.Equal(t, made.Revs, []int64{held.Rev})
	require.Equal(t, "1", string(held.Value))
	require.Zero(t, document(t, job, "n", "lease", "a").Rev, "a document belongs to its ref")

	held.Value, held.Due, held.Group = []byte("2"), h.Now().Add(time.Minute), "g"
	revs, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: held})
	require.NoError(t, err)
	require.Greater(t, revs[0], held.Rev)
	due, err := h.Engines().Due(ctx, "lease", 10)
	require.NoError(t, err)
	require.Empty(t, due)
	h.clock.Advance(time.Minute)
	due, err = h.Engines().Due(ctx, "lease", 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, "2", string(due[0].Value))
	_, err = h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: due[0], Act: driver.Remove})
	require.NoError(t, err)
	require.Zero(t, document(t, job, "m", "lease", "a").Rev)
}

// What a node or an engine must not get into the store by a document: SR-1 holds for each
// class and each name.
func TestM3_DocumentsPassTheRedactor(t *testing.T) {
	h := newHost(t)
	job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: newVault("k", secret)})
	require.NoError(t, err)
	e := put(t, job, "m", "source")
	at := memory.Scope{Ref: "m"}
	for name, d := range map[string]driver.Document{
		"kind":      {Scope: at, Kind: secret, Key: "a"},
		"key":       {Scope: at, Kind: "k", Key: "a" + secret},
		"group":     {Scope: at, Kind: "k", Key: "a", Group: secret},
		"machinery": {Scope: at, Kind: "k", Key: "a", Value: []byte("id " + secret)},
		"content":   {Scope: at, Class: driver.Content, Kind: "k", Key: "a", Value: []byte(secret), Of: []string{e.ID}},
		"leak form": {Scope: at, Class: driver.Content, Kind: "k", Key: "a", Value: []byte("[BYOK:x]"), Of: []string{e.ID}},
		"subject":   {Scope: at, Class: driver.HostText, Kind: "k", Key: "a", Subjects: []string{secret}},
	} {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(d)})
		require.ErrorIs(t, err, memory.ErrSecretLeakage, name)
		require.NotContains(t, err.Error(), secret)
	}
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(driver.Document{
		Class: driver.HostText, Kind: "file", Key: "a.md", Value: []byte("the key is " + secret)})})
	require.NoError(t, err)
	require.Equal(t, "the key is [REDACTED:k]", string(document(t, job, "", "file", "a.md").Value))
}

func TestM1_DocumentsOfOthersAreAbsent(t *testing.T) {
	h := newHost(t, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if owner, _, ok := strings.Cut(ref, "/"); ok {
				return owner, nil
			}
			return "", memory.ErrNotFound
		}
	})
	acme, globex := h.job("acme"), h.job("globex")
	_, err := acme.Rewrite(ctx, "acme/m", memory.Rewrite{Documents: one(driver.Document{Scope: memory.Scope{Ref: "acme/m"}, Kind: "k", Key: "a"})})
	require.NoError(t, err)
	_, err = acme.Rewrite(ctx, "acme/m", memory.Rewrite{Documents: one(driver.Document{Kind: "k", Key: "own"})})
	require.NoError(t, err)
	for _, ref := range []string{"acme/m", "globex/m", "nobody", "..", ""} {
		require.Zero(t, document(t, globex, ref, "k", "a").Rev, ref)
		require.Zero(t, document(t, globex, ref, "k", "own").Rev, ref)
	}
	for d, err := range h.Engines().Documents(ctx, "globex", driver.DocumentQuery{EveryRef: true}) {
		require.Fail(t, "a document of another tenant", "%v %v", d, err)
	}
	require.NotZero(t, document(t, acme, "acme/m", "k", "a").Rev)
	require.NotZero(t, document(t, acme, "", "k", "own").Rev)
	_, err = acme.Rewrite(ctx, "acme/m", memory.Rewrite{Documents: one(driver.Document{Scope: memory.Scope{Ref: "acme/n"}, Kind: "k", Key: "a"})})
	require.ErrorIs(t, err, memory.ErrValidation, "a rewrite is of one ref")
}

// The bank gives out and takes machinery only where no redactor is at hand.
func TestM3_OnlyMachineryGoesWithoutAJob(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	e := put(t, job, "m", "x")
	content := driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "k", Key: "c", Of: []string{e.ID}}
	text := driver.Document{Class: driver.HostText, Kind: "k", Key: "t"}
	for _, d := range []driver.Document{content, text} {
		_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: d})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(d)})
		require.NoError(t, err)
	}
	for range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{EveryRef: true}) {
		require.Fail(t, "content or host text")
	}
	_, err := h.Engines().Swap(ctx, "acme")
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = h.Engines().Swap(ctx, "\x00", driver.DocumentSwap{Document: driver.Document{Kind: "k", Key: "m"}})
	require.ErrorIs(t, err, memory.ErrValidation)
}

// Forgetting takes along what was made of the entries, and host text by its own label,
// in the mutation that erases.
func TestM10_ForgetTakesDocumentsAlong(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	theirs, ours := put(t, job, "m", "about them", "customer:1"), put(t, job, "m", "about us")
	doc := func(key string, of ...string) driver.Document {
		return driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "archive", Key: key, Value: []byte(key), Of: of}
	}
	file := func(key string, subjects ...string) driver.Document {
		return driver.Document{Class: driver.HostText, Kind: "file", Key: key, Value: []byte(key), Subjects: subjects}
	}
	for _, d := range []driver.Document{
		doc("theirs", theirs.ID), doc("ours", ours.ID), doc("both", ours.ID, theirs.ID),
		file("their.md", "customer:1", "customer:2"), file("our.md", "customer:2"),
	} {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(d)})
		require.NoError(t, err)
	}
	done, err := h.Forget(ctx, "acme", "customer:1")
	require.NoError(t, err)
	require.Len(t, done.Erased, 1)
	require.Equal(t, 1, done.Documents)
	for key, want := range map[string]bool{"theirs": false, "ours": true, "both": false} {
		require.Equal(t, want, document(t, job, "m", "archive", key).Rev != 0, key)
	}
	require.Zero(t, document(t, job, "", "file", "their.md").Rev)
	require.NotZero(t, document(t, job, "", "file", "our.md").Rev)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(doc("late", theirs.ID))})
	require.ErrorIs(t, err, memory.ErrConflict, "nothing is made of what was erased")
}

func TestM10_ScrubCleansDocuments(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	e := put(t, job, "m", "clean")
	for _, d := range []driver.Document{
		{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "k", Key: "dirty", Value: []byte(secret), Of: []string{e.ID}},
		{Scope: memory.Scope{Ref: "m"}, Class: driver.Content, Kind: "k", Key: "clean", Value: []byte("fine"), Of: []string{e.ID}},
		{Class: driver.HostText, Kind: "file", Key: "a.md", Value: []byte("x " + secret)},
		{Class: driver.HostText, Kind: "file", Key: "b.md", Value: []byte("fine")},
		{Class: driver.HostText, Kind: "file", Key: secret, Value: []byte("named so")},
	} {
		_, err := job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(d)})
		require.NoError(t, err)
	}
	done, err := h.Scrub(ctx, "acme", newVault("late", secret))
	require.NoError(t, err)
	require.Empty(t, done.Erased)
	require.Equal(t, 3, done.Documents)
	require.Zero(t, document(t, job, "m", "k", "dirty").Rev)
	require.NotZero(t, document(t, job, "m", "k", "clean").Rev)
	require.Equal(t, "x [REDACTED:late]", string(document(t, job, "", "file", "a.md").Value))
	require.NotZero(t, document(t, job, "", "file", "b.md").Rev)
	require.Zero(t, document(t, job, "", "file", secret).Rev)
}

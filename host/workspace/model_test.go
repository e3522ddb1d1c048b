package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/host/workspace"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const secret = "sk-very-secret-value"

// host is a bank over an in-memory store, whose tenants all have one secret.
type host struct {
	*memory.Bank
	log events.Log
	now time.Time
	t   testing.TB
}

func newHost(t testing.TB) *host {
	h := &host{t: t, now: time.UnixMilli(1_790_000_000_000).UTC()}
	bank, err := memory.New(inmem.New(), memory.Config{Sink: &h.log, Now: func() time.Time { return h.now }})
	require.NoError(t, err)
	h.Bank = bank
	return h
}

func registry(t testing.TB, values ...string) *redact.SecretRegistry {
	r := redact.New(redact.Config{})
	for i, v := range values {
		require.NoError(t, r.Register(fmt.Sprintf("key-%d", i), []byte(v)))
	}
	return r
}

func (h *host) job(tenant string) *memory.Job {
	job, err := h.Background(memory.JobConfig{ID: "files", Tenant: tenant, Redactor: registry(h.t, secret)})
	require.NoError(h.t, err)
	return job
}

func newWorkspace(t testing.TB, cfg workspace.Config) *workspace.Workspace {
	w, err := workspace.New(cfg)
	require.NoError(t, err)
	return w
}

// tree is what an oracle knows of a tenant's files.
type tree struct {
	last     map[string]int64                    // the last version of each path, deletes too
	current  map[string]int64                    // of the files that are there
	contents map[string]map[int64]workspace.File // the versions that are kept
}

func newTree() *tree {
	return &tree{map[string]int64{}, map[string]int64{}, map[string]map[int64]workspace.File{}}
}

func (o *tree) moved(path string, version int64, kept int) {
	o.last[path] = version
	for v := range o.contents[path] {
		if v <= version-int64(kept) {
			delete(o.contents[path], v)
		}
	}
}

// TestWorkspace_LikeItsModel compares random operations of two tenants with a model: versions,
// ETags, what is kept, what is forgotten, and what was announced.
func TestWorkspace_LikeItsModel(t *testing.T) {
	const most = 4
	paths := []string{"a.md", "a/b.md", "ab.md", "A.md", "notes/x_1.json", "z-9"}
	seeds := uint64(16)
	if testing.Short() {
		seeds = 4
	}
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		seeds = 400
	}
	for seed := range seeds {
		kept := 1 + int(seed%4)
		rng := rand.New(rand.NewPCG(seed, 7))
		h := newHost(t)
		w := newWorkspace(t, workspace.Config{MaxVersions: kept, MaxFiles: most, MaxFileBytes: 64})
		trees := map[string]*tree{"acme": newTree(), "globex": newTree()}
		announced := map[string]int{}
		for step := range 60 {
			h.now = h.now.Add(time.Millisecond)
			tenant := []string{"acme", "globex"}[rng.IntN(2)]
			job, o := h.job(tenant), trees[tenant]
			path := paths[rng.IntN(len(paths))]
			at := fmt.Sprintf("seed %d, step %d, %s of %s", seed, step, path, tenant)
			now, there := o.current[path]
			match := ""
			switch rng.IntN(5) {
			case 0:
				match = "*"
			case 1:
				match = o.contents[path][now].ETag
			case 2:
				match = `"stale"`
			}
			conflict := match != "" && (!there || match != "*" && match != o.contents[path][now].ETag)
			switch op := rng.IntN(10); {
			case op < 5:
				d := workspace.Draft{Path: path, Content: fmt.Sprintf("%d of %s", step, secret), IfMatch: match, IfNoneMatch: rng.IntN(8) == 0}
				if rng.IntN(3) == 0 {
					d.Subjects = []string{"person:ann"}
				}
				if rng.IntN(10) == 0 {
					d.Content = strings.Repeat("x", 65)
				}
				f, err := w.Write(t.Context(), job, d)
				conflicting, limited := (*wire.Error)(nil), (*wire.Error)(nil)
				switch {
				case len(d.Content) > 64:
					require.ErrorAs(t, err, &limited, at)
					require.Equal(t, wire.CodeWorkspaceTooLarge, limited.Kind, at)
				case conflict, d.IfNoneMatch && there:
					require.ErrorAs(t, err, &conflicting, at)
					require.Equal(t, wire.CodeWorkspaceConflict, conflicting.Kind, at)
					require.Equal(t, now, conflicting.Details["currentVersion"], at)
				case !there && len(o.current) >= most:
					require.ErrorAs(t, err, &limited, at)
					require.Equal(t, memory.CodeStorageLimit, limited.Kind, at)
				default:
					require.NoError(t, err, at)
					require.Equal(t, o.last[path]+1, f.Version, at)
					require.Equal(t, strings.ReplaceAll(d.Content, secret, "[REDACTED:key-0]"), f.Content)
					if o.contents[path] == nil {
						o.contents[path] = map[int64]workspace.File{}
					}
					o.contents[path][f.Version], o.current[path] = f, f.Version
					o.moved(path, f.Version, kept)
					announced[tenant]++
				}
			case op < 7:
				version, err := w.Delete(t.Context(), job, path, match)
				conflicting := (*wire.Error)(nil)
				switch {
				case conflict:
					require.ErrorAs(t, err, &conflicting, at)
				case !there:
					require.ErrorIs(t, err, memory.ErrNotFound, at)
				default:
					require.NoError(t, err, at)
					require.Equal(t, o.last[path]+1, version, at)
					delete(o.current, path)
					o.moved(path, version, kept)
					announced[tenant]++
				}
			case op == 7:
				_, err := h.Forget(t.Context(), tenant, "person:ann")
				require.NoError(t, err, at)
				for path, versions := range o.contents {
					for v, f := range versions {
						if len(f.Subjects) > 0 {
							delete(versions, v)
						}
					}
					if now, there := o.current[path]; there && versions[now].Version == 0 {
						delete(o.current, path)
						for v := range versions {
							o.current[path] = max(o.current[path], v)
						}
					}
				}
			}
			for tenant, o := range trees {
				same(t, w, h.job(tenant), o, paths, at)
			}
			require.NoError(t, job.End(t.Context()))
			require.Len(t, h.log.Events(tenant, "files"), announced[tenant], at)
		}
	}
}

// same compares every path and version of a tenant with the model.
func same(t *testing.T, w *workspace.Workspace, job *memory.Job, o *tree, paths []string, at string) {
	t.Helper()
	var listed []string
	files, err := w.List(t.Context(), job, "")
	require.NoError(t, err, at)
	for _, f := range files {
		listed = append(listed, f.Path)
		want := o.contents[f.Path][o.current[f.Path]]
		want.Content = ""
		require.Equal(t, want, f, at)
	}
	require.Equal(t, slices.Sorted(maps.Keys(o.current)), listed, at)
	for _, path := range paths {
		for v := int64(0); v <= o.last[path]+1; v++ {
			want, held := o.contents[path][v]
			if v == 0 {
				want, held = o.contents[path][o.current[path]]
			}
			f, err := w.Read(t.Context(), job, path, v)
			if !held {
				require.ErrorIs(t, err, memory.ErrNotFound, "%s, version %d", at, v)
				continue
			}
			require.NoError(t, err, at)
			require.Equal(t, want, f, at)
		}
	}
}

// Writers of the same file at once make one version each.
func TestWorkspace_RacingWritersMakeOneVersionEach(t *testing.T) {
	h := newHost(t)
	w := newWorkspace(t, workspace.Config{MaxVersions: 1000})
	var wg sync.WaitGroup
	const writers, each = 8, 10
	for n := range writers {
		wg.Go(func() {
			job := h.job("acme")
			for i := range each {
				_, err := w.Write(t.Context(), job, workspace.Draft{Path: "shared.md", Content: fmt.Sprint(n, i)})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for v := int64(1); v <= writers*each; v++ {
		f, err := w.Read(t.Context(), h.job("acme"), "shared.md", v)
		require.NoError(t, err)
		require.False(t, seen[f.Content])
		seen[f.Content] = true
	}
}

func TestWorkspace_Refusals(t *testing.T) {
	h := newHost(t)
	w := newWorkspace(t, workspace.Config{})
	job := h.job("acme")
	for _, path := range []string{
		"", "/a", "a//b", "a/./b", "a/../b", "..", "a/..", ".a", "-a", "a b", "a@1", "a\x00b", "ä", "a/", strings.Repeat("a", 257),
	} {
		_, err := w.Write(t.Context(), job, workspace.Draft{Path: path, Content: "x"})
		assert.ErrorIs(t, err, memory.ErrValidation, "%q", path)
		_, err = w.Read(t.Context(), job, path, 0)
		assert.ErrorIs(t, err, memory.ErrNotFound, "%q", path)
		_, err = w.Delete(t.Context(), job, path, "")
		assert.ErrorIs(t, err, memory.ErrNotFound, "%q", path)
	}
	for name, d := range map[string]workspace.Draft{
		"invalid UTF-8":         {Path: "a", Content: "\xff"},
		"a zero":                {Path: "a", Content: "a\x00b"},
		"a control character":   {Path: "a", ContentType: "text/plain\nX: y"},
		"a type that is long":   {Path: "a", ContentType: strings.Repeat("x", 300)},
		"a malformed subject":   {Path: "a", Subjects: []string{"a\nb"}},
		"a subject that is one": {Path: "a", Subjects: []string{secret}},
		"a path that is one":    {Path: secret},
		"a type that is one":    {Path: "a", ContentType: secret},
	} {
		_, err := w.Write(t.Context(), job, d)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), secret, name)
		code := memory.CodeOf(err)
		assert.True(t, code == memory.CodeValidation || code == memory.CodeSecretLeakage, "%s: %v", name, err)
	}
	files, err := w.List(t.Context(), job, "")
	require.NoError(t, err)
	assert.Empty(t, files)
	_, err = workspace.New(workspace.Config{MaxFiles: -1})
	assert.ErrorIs(t, err, memory.ErrValidation)
	_, err = workspace.New(workspace.Config{MaxFileBytes: 9 << 20})
	assert.ErrorIs(t, err, memory.ErrValidation)
	_, err = workspace.New(workspace.Config{IndexPath: "X"})
	assert.ErrorIs(t, err, memory.ErrValidation)
}

// M3: a secret that is registered late goes from every version, and the ETag moves.
func TestM3_ScrubReachesEveryVersion(t *testing.T) {
	h := newHost(t)
	w := newWorkspace(t, workspace.Config{})
	job := h.job("acme")
	late := "another-late-secret"
	first, err := w.Write(t.Context(), job, workspace.Draft{Path: "a.json", Content: `{"k":"` + late + `"}`})
	require.NoError(t, err)
	_, err = w.Write(t.Context(), job, workspace.Draft{Path: "a.json", Content: "again " + late})
	require.NoError(t, err)
	_, err = h.Scrub(t.Context(), "acme", registry(t, late))
	require.NoError(t, err)
	old, err := w.Read(t.Context(), job, "a.json", 1)
	require.NoError(t, err)
	assert.Equal(t, `{"k":"[REDACTED:key-0]"}`, old.Content)
	assert.NotEqual(t, first.ETag, old.ETag)
	now, err := w.Read(t.Context(), job, "a.json", 0)
	require.NoError(t, err)
	assert.Equal(t, "again [REDACTED:key-0]", now.Content)
}

// A file whose current version was forgotten is as its newest version that is left, and goes on
// from the number that was forgotten. A deleted one stays deleted.
func TestM10_AFileShowsTheNewestVersionThatIsLeft(t *testing.T) {
	h, w := newHost(t), newWorkspace(t, workspace.Config{})
	job := h.job("acme")
	for _, path := range []string{"a.md", "gone.md"} {
		for _, subject := range []string{"tom", "ann", "lena", "lena"} {
			_, err := w.Write(t.Context(), job, workspace.Draft{Path: path, Content: "of " + subject, Subjects: []string{subject}})
			require.NoError(t, err)
		}
	}
	_, err := w.Delete(t.Context(), job, "gone.md", "")
	require.NoError(t, err)
	done, err := h.Forget(t.Context(), "acme", "lena")
	require.NoError(t, err)
	require.Equal(t, 4, done.Documents, "two versions of each file")
	f, err := w.Read(t.Context(), job, "a.md", 0)
	require.NoError(t, err)
	require.Equal(t, "of ann", f.Content)
	require.EqualValues(t, 2, f.Version)
	files, err := w.List(t.Context(), job, "")
	require.NoError(t, err)
	require.Len(t, files, 1)
	_, err = w.Read(t.Context(), job, "gone.md", 0)
	require.ErrorIs(t, err, memory.ErrNotFound)
	f, err = w.Write(t.Context(), job, workspace.Draft{Path: "a.md", Content: "new", IfMatch: f.ETag})
	require.NoError(t, err)
	require.EqualValues(t, 5, f.Version)
}

// A secret in a path, found out too late, is in no ledger and in no list, and its file is found
// again in a backup.
func TestM3_AScrubbedPathIsNotInTheLedger(t *testing.T) {
	h, w := newHost(t), newWorkspace(t, workspace.Config{})
	write := func(h *host) {
		job, err := h.Background(memory.JobConfig{ID: "files", Tenant: "acme", Redactor: redact.New(redact.Config{})})
		require.NoError(t, err)
		for range 3 {
			_, err = w.Write(t.Context(), job, workspace.Draft{Path: "keys/hunter2hunter2.md", Content: "x"})
			require.NoError(t, err)
		}
	}
	write(h)
	late := registry(t, "hunter2hunter2")
	_, err := h.Scrub(t.Context(), "acme", late)
	require.NoError(t, err)
	var ledger []memory.Erasure
	for x, err := range h.Erasures(t.Context(), "acme") {
		require.NoError(t, err)
		ledger = append(ledger, x)
	}
	require.NotContains(t, fmt.Sprint(ledger), "hunter2")
	require.Contains(t, fmt.Sprint(ledger), "keys/[REDACTED:key-0].md@2")
	backup := newHost(t)
	write(backup)
	done, err := backup.EraseAgain(t.Context(), "acme", ledger, late)
	require.NoError(t, err)
	require.Equal(t, 3, done.Documents)
	files, err := w.List(t.Context(), backup.job("acme"), "")
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestSnapshotIsOfItsInstant(t *testing.T) {
	h := newHost(t)
	w := newWorkspace(t, workspace.Config{MaxVersions: 2})
	job := h.job("acme")
	write := func(path, content string) {
		_, err := w.Write(t.Context(), job, workspace.Draft{Path: path, Content: content})
		require.NoError(t, err)
	}
	write("a.md", "one")
	write("gone.md", "here")
	seen, err := w.Snapshot(t.Context(), job)
	require.NoError(t, err)
	write("a.md", "two")
	write("new.md", "new")
	_, err = w.Delete(t.Context(), job, "gone.md", "")
	require.NoError(t, err)
	read := func(path string) string {
		f, err := seen.Read(t.Context(), w, job, path)
		if errors.Is(err, memory.ErrNotFound) {
			return "none"
		}
		require.NoError(t, err)
		return f.Content
	}
	assert.Equal(t, []string{"one", "here", "none"}, []string{read("a.md"), read("gone.md"), read("new.md")})
	write("a.md", "three")
	assert.Equal(t, "none", read("a.md"), "a pruned version is never another one")
}

func TestIndexIsRendered(t *testing.T) {
	h := newHost(t)
	_, err := newWorkspace(t, workspace.Config{}).Write(t.Context(), h.job("acme"), workspace.Draft{Path: "MEMORY-INDEX.json", Content: "before there was an index"})
	require.NoError(t, err)
	content := "{}"
	w := newWorkspace(t, workspace.Config{IndexPath: "MEMORY-INDEX.json", Index: func(context.Context, *memory.Job) (workspace.File, error) {
		return workspace.File{Content: content, ContentType: "application/json", Version: int64(len(content) - 1)}, nil
	}})
	job := h.job("acme")
	f, err := w.Read(t.Context(), job, "MEMORY-INDEX.json", 0)
	require.NoError(t, err)
	assert.Equal(t, []any{"{}", int64(1), "MEMORY-INDEX.json"}, []any{f.Content, f.Version, f.Path})
	before := f.ETag
	content = "{ }"
	f, err = w.Read(t.Context(), job, "MEMORY-INDEX.json", 2)
	require.NoError(t, err)
	assert.NotEqual(t, before, f.ETag)
	_, err = w.Read(t.Context(), job, "MEMORY-INDEX.json", 1)
	assert.ErrorIs(t, err, memory.ErrNotFound)
	_, err = w.Write(t.Context(), job, workspace.Draft{Path: "MEMORY-INDEX.json", Content: "mine"})
	assert.ErrorIs(t, err, memory.ErrForbidden)
	_, err = w.Delete(t.Context(), job, "MEMORY-INDEX.json", "")
	assert.ErrorIs(t, err, memory.ErrForbidden)
	files, err := w.List(t.Context(), job, "MEM")
	require.NoError(t, err)
	require.Len(t, files, 1)
	assert.Empty(t, files[0].Content)
}

// A file that the library's first stores kept is read and written on.
func TestFilesOfMigratedStoresAreRead(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	_, err := job.Rewrite(t.Context(), "", memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
		return []driver.DocumentSwap{{Document: driver.Document{Class: driver.HostText, Kind: "workspace/file", Key: "a.json",
			Value: []byte(`{"format":1,"type":"application/json","version":7,"etag":"x","at":1700000000000,"content":"{}"}`)}}}
	}})
	require.NoError(t, err)
	w := newWorkspace(t, workspace.Config{})
	f, err := w.Read(t.Context(), job, "a.json", 0)
	require.NoError(t, err)
	assert.Equal(t, []any{int64(7), "{}"}, []any{f.Version, f.Content})
	f, err = w.Write(t.Context(), job, workspace.Draft{Path: "a.json", Content: "[]", IfMatch: f.ETag})
	require.NoError(t, err)
	assert.Equal(t, int64(8), f.Version)
	f, err = w.Read(t.Context(), job, "a.json", 7)
	require.NoError(t, err)
	assert.Equal(t, "{}", f.Content)
}

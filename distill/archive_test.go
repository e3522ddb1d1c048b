package distill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
)

// sampleArchive has every escape that JSON knows.
func sampleArchive() *distill.Archive {
	a := &distill.Archive{
		Budget: 500, Format: distill.Format, MaxBytes: 4096, MemoryRef: "mem://acme/\u2028é", Redactor: "r\"1\\", Summarizer: "s", Tokenizer: "t",
		Items: []distill.Item{
			{Sources: []string{"mem_1"}, Text: "tab\tquote\" back\\ bell\u0007 \b\f\r del\u007f <&> 漢字🙂"},
			{Sources: nil, Text: "line\nline"},
		},
		Parents: []distill.Digest{{1}, {2}},
		Sources: []distill.ArchivedSource{{Digest: distill.Digest{9}, ID: "mem_1", Weight: 1}, {ID: "mem_2", Weight: 7}},
		Tokens:  distill.Tokens{Input: 300, Output: 200},
	}
	a.Key = a.Question()
	return a
}

func TestD2_ArchivesAreCanonicalJSON(t *testing.T) {
	data := sampleArchive().Encode()
	canonical, err := jcs.Transform(data)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(data))
	a, err := distill.Decode(data)
	require.NoError(t, err)
	require.Equal(t, data, a.Encode())
	require.NoError(t, distill.Verify(data, distill.DigestOf(data)))
	require.ErrorIs(t, distill.Verify(data, distill.Digest{}), distill.ErrArchive)
	e := memory.Entry{Content: "a\u0001\"é", Tags: []string{"x", "y\\"}, CreatedAt: epoch}
	plain, err := json.Marshal(map[string]any{"content": e.Content, "tags": e.Tags, "createdAt": "2026-03-01T23:00:00.000Z"})
	require.NoError(t, err)
	plain, err = jcs.Transform(plain)
	require.NoError(t, err)
	require.Equal(t, distill.DigestOf(plain), distill.SourceDigest(e))
}

func TestD2_AnArchiveThatContradictsItselfDoesNotVerify(t *testing.T) {
	for name, spoil := range map[string]func(a *distill.Archive){
		"format":     func(a *distill.Archive) { a.Format = "openwop.agentmemory.archive/2" },
		"budget":     func(a *distill.Archive) { a.Budget = 499 },
		"no budget":  func(a *distill.Archive) { a.Budget = 0 },
		"tokens":     func(a *distill.Archive) { a.Tokens.Input = -1 },
		"key":        func(a *distill.Archive) { a.Key = distill.Digest{} },
		"no items":   func(a *distill.Archive) { a.Items = nil },
		"no sources": func(a *distill.Archive) { a.Sources = nil },
		"order":      func(a *distill.Archive) { a.Sources[0], a.Sources[1] = a.Sources[1], a.Sources[0] },
		"weight":     func(a *distill.Archive) { a.Sources[0].Weight = 0 },
		"parents":    func(a *distill.Archive) { a.Parents[1] = a.Parents[0] },
		"blank item": func(a *distill.Archive) { a.Items[0].Text = "" },
		"stranger":   func(a *distill.Archive) { a.Items[0].Sources = []string{"mem_3"} },
		"item order": func(a *distill.Archive) { a.Items[0].Sources = []string{"mem_2", "mem_1"} },
		"limit":      func(a *distill.Archive) { a.MaxBytes = 10 },
	} {
		a := sampleArchive()
		spoil(a)
		if name != "key" && name != "format" {
			a.Key = a.Question()
		}
		data := a.Encode()
		require.ErrorIs(t, distill.Verify(data, distill.DigestOf(data)), distill.ErrArchive, name)
	}
	data := string(sampleArchive().Encode())
	for _, other := range []string{
		"", "null", "[]", data + " ", data + "{}", " " + data, strings.Replace(data, `"budget"`, `"Budget"`, 1), strings.Replace(data, `{"budget":500`, `{"budget":1,"budget":500`, 1),
		strings.Replace(data, `{"budget":500`, `{"aaa":1,"budget":500`, 1), strings.Replace(data, `500`, `5e2`, 1), strings.Replace(data, `500`, `1e400`, 1),
		strings.Replace(data, "漢", `\u6f22`, 1), strings.Replace(data, "漢", "\xff", 1), strings.Repeat("[", 100000),
	} {
		_, err := distill.Decode([]byte(other))
		require.ErrorIs(t, err, distill.ErrArchive)
		require.NotContains(t, err.Error(), "mem_")
	}
}

// A changed archive never verifies, whatever the change.
func FuzzVerify(f *testing.F) {
	good := sampleArchive().Encode()
	address := distill.DigestOf(good)
	f.Add(good, 0, byte(1))
	f.Add([]byte(`{"budget":1}`), 3, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if bytes.Equal(data, good) && len(data) > 0 && flip != 0 {
			data = bytes.Clone(data)
			data[uint(at)%uint(len(data))] ^= flip
		}
		if err := distill.Verify(data, address); (err == nil) != bytes.Equal(data, good) {
			t.Errorf("verified: %t", err == nil)
		}
		// By itself, what decodes is canonical.
		if a, err := distill.Decode(data); err == nil && !bytes.Equal(a.Encode(), data) {
			t.Error("two forms of one archive")
		}
	})
}

func TestD2_EveryFlippedBitIsFound(t *testing.T) {
	good := sampleArchive().Encode()
	address := distill.DigestOf(good)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		require.ErrorIs(t, distill.Verify(bad, address), distill.ErrArchive)
	}
}

func TestDigest_TextForm(t *testing.T) {
	d := distill.DigestOf([]byte("x"))
	back, err := distill.ParseDigest(d.String())
	require.NoError(t, err)
	require.Equal(t, d, back)
	for _, s := range []string{"", "sha256:", d.String()[:70], strings.ToUpper(d.String()), "md5" + d.String(), strings.Replace(d.String(), "a", "g", -1) + "0"} {
		_, err := distill.ParseDigest(s)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
}

func TestFileStore_DamageIsFound(t *testing.T) {
	dir := t.TempDir()
	s, err := distill.OpenFileStore(dir)
	require.NoError(t, err)
	a := sampleArchive()
	address, err := s.Keep(ctx, scope, a.Key, a.Encode(), epoch)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	for _, damage := range []string{"", "{}", string(a.Encode())[:100]} {
		require.NoError(t, os.WriteFile(files[0], []byte(damage), 0o600))
		_, err = s.Load(ctx, scope, address)
		require.ErrorIs(t, err, distill.ErrArchive)
	}
	require.NoError(t, s.Drop(ctx, scope, address, time.Time{}))
	// Its key names nothing now, as after a crash, and does not stand in the way.
	got, err := s.Keep(ctx, scope, a.Key, a.Encode(), epoch)
	require.NoError(t, err)
	require.Equal(t, address, got)
	keys, err := filepath.Glob(filepath.Join(dir, "*", "keys", "*"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(keys[0], []byte("rubbish"), 0o600))
	_, err = s.Find(ctx, scope, a.Key)
	require.ErrorIs(t, err, memory.ErrNotFound)
	got, err = s.Keep(ctx, scope, a.Key, a.Encode(), epoch)
	require.NoError(t, err)
	require.Equal(t, address, got)
	left, err := filepath.Glob(filepath.Join(dir, "new-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = distill.OpenFileStore(files[0])
	require.Error(t, err)
}

func TestFileStore_UnderARunner(t *testing.T) {
	h := newHost(t)
	dir := t.TempDir()
	open := func() *distill.Runner {
		s, err := distill.OpenFileStore(dir)
		require.NoError(t, err)
		h.archives = s
		return h.runner(func(c *distill.Config) { c.ArchiveRetention = "P1D" })
	}
	h.put(notes(5)...)
	first := h.distill(open(), distill.Options{})
	second := h.distill(open(), distill.Options{})
	require.Equal(t, first.Archive, second.Archive)
	require.True(t, second.Existing)
	h.advance(72 * time.Hour)
	n, err := open().GC(ctx, h.job(), ref)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestWorkspace_PathsAndVersions(t *testing.T) {
	for _, p := range []string{"a", "MEMORY-INDEX.json", "a/b..c/d", "9.x"} {
		require.NoError(t, distill.CheckPath(p), p)
	}
	for _, p := range []string{"", "/a", "..", "a/../b", "a/..", "a//b", "a/./b", "a/", ".hidden", "a b", "a\x00", "ä", strings.Repeat("a", 257)} {
		require.ErrorIs(t, distill.CheckPath(p), distill.ErrPath, p)
		require.ErrorIs(t, distill.CheckPath(p), memory.ErrValidation, p)
	}
	h := newHost(t)
	w := h.workspace
	_, err := w.ReadFile(ctx, tenant, "a/../b")
	require.ErrorIs(t, err, distill.ErrPath)
	_, err = w.WriteFile(ctx, distill.Write{Tenant: tenant, Path: "a/../b"})
	require.ErrorIs(t, err, distill.ErrPath)
	write := distill.Write{Tenant: tenant, RunID: "r", Path: "x.md", Content: "1", At: epoch}
	one, err := w.WriteFile(ctx, write)
	require.NoError(t, err)
	require.EqualValues(t, 1, one.Version)
	_, err = w.WriteFile(ctx, write)
	require.ErrorIs(t, err, memory.ErrConflict)
	write.IfMatch = one.ETag
	two, err := w.WriteFile(ctx, write)
	require.NoError(t, err)
	require.EqualValues(t, 2, two.Version)
	require.NotEqual(t, one.ETag, two.ETag)
	_, err = w.ReadFile(ctx, "globex", "x.md")
	require.ErrorIs(t, err, memory.ErrNotFound)
	require.Equal(t, 2, h.updates())
}

func TestIndex_IsSharedByRefsAndRetriedOnConflict(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	r := h.runner()
	first := h.distill(r, distill.Options{})
	j := h.job()
	_, err := j.Put(ctx, "mem://acme/sales", memory.Draft{Content: "Another ref."})
	require.NoError(t, err)
	busy := &busyWorkspace{Workspace: h.workspace, times: 3}
	h.workspace = busy
	res, err := h.runner().Distill(ctx, j, "mem://acme/sales", distill.Options{})
	require.NoError(t, err)
	require.NoError(t, res.IndexErr)
	f, err := busy.ReadFile(ctx, tenant, distill.IndexPath)
	require.NoError(t, err)
	x, err := distill.ParseIndex(f.Content)
	require.NoError(t, err)
	require.Len(t, x.Refs, 2)
	require.Equal(t, first.Archive, x.Refs[ref][0].ArchiveChecksum)
	require.NotContains(t, f.Content, "Another")

	busy.times = 1000
	h.put("Again.")
	res, err = h.runner().Distill(ctx, h.job(), ref, distill.Options{})
	require.NoError(t, err, "the pass is complete")
	require.ErrorIs(t, res.IndexErr, memory.ErrConflict)
	busy.times = 0
	require.NoError(t, h.runner().Reindex(ctx, h.job(), ref))
	lines, err := h.runner().LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.Len(t, lines, 2)

	for _, bad := range []string{"", "{}", `{"version":2,"refs":{}}`, `{"version":1,"refs":{},"x":1}`, `{"version":1,"refs":{}} {}`} {
		_, err := distill.ParseIndex(bad)
		require.ErrorIs(t, err, distill.ErrIndex, bad)
	}
	none := h.runner(func(c *distill.Config) { c.Workspace = nil })
	lines, err = none.LoadIndex(ctx, h.bank.Reader(tenant), tenant, ref)
	require.NoError(t, err)
	require.Empty(t, lines)
	require.NoError(t, none.Reindex(ctx, h.job(), ref))
}

// busyWorkspace has somebody else write first, a number of times.
type busyWorkspace struct {
	distill.Workspace
	times int
}

func (b *busyWorkspace) WriteFile(c context.Context, w distill.Write) (distill.File, error) {
	if b.times > 0 {
		b.times--
		return distill.File{}, memory.ErrConflict
	}
	return b.Workspace.WriteFile(c, w)
}

func TestErrors_HoldNothingOfWhatAHostSays(t *testing.T) {
	h := newHost(t)
	h.put(notes(2)...)
	f := &fuse{off: true}
	h.archives = crashArchives{h.archives, f}
	r := h.runner()
	f.off, f.left = false, 0
	_, err := r.Distill(ctx, h.job(), ref, distill.Options{})
	require.ErrorIs(t, err, errCrash)
	require.NotContains(t, err.Error(), errCrash.Error())
	require.Equal(t, memory.CodeInternal, memory.CodeOf(err))
}

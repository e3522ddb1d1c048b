package memorytool_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
	"github.com/openwop/agentmemory/internal/testkit/bridgetest"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// interrupted is a store before whose mutations another writer may come.
type interrupted struct {
	driver.Versioned
	before  func()
	applied int
}

func (s *interrupted) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	s.applied++
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	return s.Versioned.Apply(ctx, tenant, m)
}

// tree returns the live files with their texts, and fails if one has two versions.
func (h *host) tree(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, e := range h.Entries("acme") {
		for _, tag := range e.Tags {
			require.NotEqual(t, "memory-file-deleted", tag, "a mark is left")
			if p, ok := strings.CutPrefix(tag, "file:"); ok {
				require.NotContains(t, found, p, "two versions of a file are live")
				found[p] = e.Content
			}
		}
	}
	return found
}

const a, b = "/memories/a", "/memories/b"

type args = []any

func create(p, text string) args { return args{"command", "create", "path", p, "file_text", text} }
func remove(p string) args       { return args{"command", "delete", "path", p} }
func rename(from, to string) args {
	return args{"command", "rename", "old_path", from, "new_path", to}
}
func insert(p, text string) args {
	return args{"command", "insert", "path", p, "insert_line", 0, "insert_text", text}
}
func replace(p, old, text string) args {
	return args{"command", "str_replace", "path", p, "old_str", old, "new_str", text}
}

// An edit that another writer was faster than is done again on the newest version, or refused with a text that says so.
func TestB_AnEditIsDoneAgainOnTheNewestVersion(t *testing.T) {
	const (
		again  = " Another writer has changed it meanwhile: view it again."
		absent = "Error: The path /memories/a does not exist"
		valid  = ". Please provide a valid path."
	)
	type texts = map[string]string // by path
	for name, c := range map[string]struct {
		mine, theirs args
		refused      string
		want         texts
	}{
		"insert after insert": {insert(a, "1"), insert(a, "2"), "", texts{a: "1\n2\ntext"}},
		"edit after insert":   {replace(a, "text", "new"), insert(a, "2"), "", texts{a: "2\nnew"}},
		"delete after insert": {remove(a), insert(a, "2"), "", texts{}},
		"rename after insert": {rename(a, b), insert(a, "2"), "", texts{b: "2\ntext"}},
		"create after create": {create(b, "1"), create(b, "2"), "Error: File /memories/b already exists" + again,
			texts{a: "text", b: "2"}},
		"rename after create": {rename(a, b), create(b, "2"), "Error: The destination /memories/b already exists" + again,
			texts{a: "text", b: "2"}},
		"create after rename": {create(b, "1"), rename(a, b), "Error: File /memories/b already exists" + again,
			texts{b: "text"}},
		"insert after rename": {insert(a, "1"), rename(a, b), absent + valid + again, texts{b: "text"}},
		"insert after delete": {insert(a, "1"), remove(a), absent + valid + again, texts{}},
		"delete after delete": {remove(a), remove(a), absent + again, texts{}},
		"edit after edit": {replace(a, "text", "1"), replace(a, "text", "2"),
			"No replacement was performed, old_str `text` did not appear verbatim in /memories/a." + again, texts{a: "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := &interrupted{Versioned: inmem.New()}
			h := &host{Host: bridgetest.NewHost(t, store), t: t}
			mine, theirs := h.live("acme"), h.live("acme")
			ok(t, mine, create("/memories/a", "text")...)
			store.before = func() { ok(t, theirs, c.theirs...) }
			text, failed := call(mine, c.mine...)
			require.Equal(t, c.refused != "", failed, text)
			if failed {
				require.Equal(t, c.refused, text)
			}
			require.Equal(t, c.want, h.tree(t))
		})
	}
}

// A run never undoes what others have done since it started: it is told that it does not see it.
func TestB_AStaleRunUndoesNoEdit(t *testing.T) {
	for name, c := range map[string]struct{ mine, theirs args }{
		"insert": {insert("/memories/a", "1"), insert("/memories/a", "2")},
		"rename": {rename("/memories/d", "/memories/e"), insert("/memories/d/x", "2")},
		"delete": {remove("/memories/d"), insert("/memories/d/x", "2")},
		"create": {create("/memories/b", "1"), create("/memories/b", "2")},
		"onto":   {rename("/memories/a", "/memories/b"), create("/memories/b", "2")},
		"moved":  {replace("/memories/a", "text", "1"), rename("/memories/a", "/memories/b")},
		"gone":   {replace("/memories/a", "text", "1"), remove("/memories/a")},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for _, p := range []string{"/memories/a", "/memories/d/x", "/memories/d/y"} {
				ok(t, h.live("acme"), create(p, "text")...)
			}
			stale := files(memorytool.InRun(h.run("acme")))
			seen := ok(t, stale, "command", "view", "path", "/memories")
			ok(t, files(memorytool.InRun(h.run("acme"))), c.theirs...)
			before := h.tree(t)
			require.Equal(t, "Error: another writer has changed this since the session began, and the session does not see it. "+
				"Nothing was changed: look again in a new session.", fails(t, stale, c.mine...))
			require.Equal(t, before, h.tree(t))
			require.Equal(t, seen, ok(t, stale, "command", "view", "path", "/memories"), "its view does not move")
		})
	}
}

// Nor does it make a file beside one that a person has corrected past the tool since then.
func TestB_AStaleRunUndoesNoCorrection(t *testing.T) {
	h := newHost(t)
	stale := files(memorytool.InRun(h.run("acme")))
	ok(t, h.live("acme"), create(a, "text")...)
	_, err := h.run("acme").Replace(t.Context(), ref, h.Entries("acme")[0].ID, memory.Draft{Content: "corrected"})
	require.NoError(t, err)
	fails(t, stale, create(a, "stale")...)
	require.Equal(t, map[string]string{a: "corrected"}, h.tree(t))
}

// What four jobs of one process were told is stored is there, in one version.
func TestB_JobsLoseNoEdit(t *testing.T) {
	h := newHost(t)
	ok(t, h.live("acme"), create("/memories/a", "end")...)
	var wg sync.WaitGroup
	for job := range 4 {
		f := h.live("acme")
		wg.Go(func() {
			for n := range 20 {
				if text, failed := call(f, insert("/memories/a", fmt.Sprintf("job%d edit%d.", job, n))...); failed {
					t.Error(text)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, strings.Split(h.tree(t)["/memories/a"], "\n"), 81)
}

// An edit that others are always faster than ends, and says so.
func TestB_AnEditEnds(t *testing.T) {
	store := &interrupted{Versioned: inmem.New()}
	h := &host{Host: bridgetest.NewHost(t, store), t: t}
	mine, theirs := h.live("acme"), h.live("acme")
	ok(t, mine, create("/memories/a", "text")...)
	var faster func()
	faster = func() {
		ok(t, theirs, insert("/memories/a", "x")...)
		store.before = faster
	}
	store.before = faster
	require.Equal(t, "Error: other writers change this all the time. Nothing was changed: view it again and try again.",
		fails(t, mine, insert("/memories/a", "1")...))
	store.before = nil
	require.NotContains(t, h.tree(t)["/memories/a"], "1")
}

// A directory is renamed and deleted in one mutation, so that a crash leaves all of it or nothing.
func TestB_ADirectoryMovesWhole(t *testing.T) {
	store := &interrupted{Versioned: inmem.New()}
	h := &host{Host: bridgetest.NewHost(t, store), t: t}
	f := h.live("acme")
	want := map[string]string{}
	for n := range 5 {
		ok(t, f, create(fmt.Sprintf("/memories/d/%d", n), "text")...)
		want[fmt.Sprintf("/memories/e/%d", n)] = "text"
	}
	store.applied = 0
	ok(t, f, rename("/memories/d", "/memories/e")...)
	require.Equal(t, want, h.tree(t))
	require.Equal(t, 1, store.applied)
	ok(t, f, remove("/memories/e")...)
	require.Empty(t, h.tree(t))
	require.Equal(t, 2, store.applied)
}

// What other writers have made two versions of is one after the next edit.
func TestB_AnEditLeavesOneVersion(t *testing.T) {
	for name, c := range map[string]args{"insert": insert(a, "1"), "rename": rename(a, b), "delete": remove(a)} {
		for _, live := range []bool{true, false} {
			h := newHost(t)
			for _, text := range []string{"old", "new"} {
				h.Put("acme", memory.Draft{Content: text, Tags: []string{"memory-file", "file:/memories/a"}})
				h.Advance(time.Second)
			}
			f := h.live("acme")
			if !live {
				f = files(memorytool.InRun(h.run("acme")))
			}
			ok(t, f, c...)
			for _, text := range h.tree(t) {
				assert.Contains(t, text, "new", name)
			}
			_, failed := call(f, "command", "view", "path", "/memories/a")
			assert.Equal(t, name != "insert", failed, name)
		}
	}
}

// An edit does not lengthen the life of a file (M4).
func TestM4_AnEditedFileEndsWhenItWould(t *testing.T) {
	h := newHost(t)
	h.Put("acme", memory.Draft{Content: "text", Tags: []string{"memory-file", "file:/memories/a"}, TTL: time.Minute})
	f := h.live("acme")
	ok(t, f, insert("/memories/a", "1")...)
	ok(t, f, rename("/memories/a", "/memories/b")...)
	h.Advance(time.Minute)
	fails(t, f, "command", "view", "path", "/memories/b")
	ok(t, f, create("/memories/b", "again")...)
}

// A replay of a run says to the model what the run said, refusals too, and writes nothing.
func TestE4_AReplayRepeatsTheCommands(t *testing.T) {
	h := newHost(t)
	bank, err := memory.New(inmem.New(), memory.Config{WriteEvents: true, KeepEvents: time.Hour, Now: h.Now})
	require.NoError(t, err)
	h.Host.Bank = bank
	for _, p := range []string{"/memories/a", "/memories/d/x", "/memories/d/y"} {
		ok(t, h.live("acme"), create(p, "text")...)
	}
	run := h.run("acme")
	from, err := run.Token(t.Context())
	require.NoError(t, err)
	ok(t, h.live("acme"), insert("/memories/a", "of another")...)
	ok(t, h.live("acme"), create("/memories/b", "of another")...)
	work := func(run *memory.Run) (said []string) {
		f := files(memorytool.InRun(run))
		for _, c := range []args{
			insert(a, "1"), create(b, "1"), create("/memories/c", "1"), rename("/memories/d", "/memories/e"),
			remove("/memories/e/x"), create("/memories/e/x", "again"), create(b, "2"), remove(a),
			{"command", "view", "path", "/memories"},
		} {
			h.Advance(time.Second)
			text, _ := call(f, c...)
			said = append(said, text)
		}
		return said
	}
	first := work(run)
	to, err := run.Token(t.Context())
	require.NoError(t, err)
	require.NoError(t, run.End(t.Context()))
	log, err := h.Log().Read(t.Context(), "acme", run.ID(), 0, 1000)
	require.NoError(t, err)
	before := h.tree(t)
	again, err := h.Start(t.Context(), memory.RunConfig{ID: "again", Tenant: "acme", Redactor: bridgetest.Secrets(t),
		Replay: &memory.Replay{Events: log, From: from, To: to}})
	require.NoError(t, err)
	require.Equal(t, first, work(again))
	require.Equal(t, before, h.tree(t))
}

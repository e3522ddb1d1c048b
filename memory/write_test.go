package memory_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

const secret = "hunter2-hunter2-hunter2"

func TestM3_NothingReachesTheStoreUnredacted(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	keys := newVault("vault/key", secret)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r1", Tenant: "acme", Redactor: keys})
	require.NoError(t, err)
	job, err := h.Background(memory.JobConfig{ID: "p1", Tenant: "acme", Redactor: keys})
	require.NoError(t, err)

	e, err := run.Put(ctx, "m", memory.Draft{Content: "it is " + secret + "!", Tags: []string{"", "k:" + secret, "plain", ""}})
	require.NoError(t, err)
	require.Equal(t, "it is [REDACTED:vault/key]!", e.Content)
	require.Equal(t, []string{"k:[REDACTED:vault/key]", "plain"}, e.Tags)
	_, err = job.Put(ctx, "m", memory.Draft{Content: secret})
	require.NoError(t, err)
	derived, err := job.Rewrite(ctx, "m", memory.Rewrite{Derive: []memory.Derived{{
		Draft:   memory.Draft{Content: "says " + secret + " and [BYOK:x]", Tags: []string{secret}},
		Sources: []string{e.ID},
	}}})
	require.NoError(t, err)
	require.NotContains(t, derived.Entries[0].Content, "[BYOK:", "R5: a leak form in derived text")

	for name, d := range map[string]memory.Draft{
		"subject": {Subjects: []string{"customer:" + secret}},
		"node":    {NodeID: secret},
		"agent":   {AgentID: secret},
	} {
		before := len(store.wrote)
		_, err := run.Put(ctx, "m", d)
		require.ErrorIs(t, err, memory.ErrSecretLeakage, name)
		require.NotContains(t, err.Error(), secret)
		require.Len(t, store.wrote, before, name)
	}
	_, err = run.Put(ctx, "m/"+secret, memory.Draft{Content: "x"})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Documents: one(driver.Document{Kind: "k", Key: "c", Value: []byte(secret)})})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)

	_, err = job.Rewrite(ctx, "m", memory.Rewrite{Announce: func([]memory.Entry) []events.Record {
		return []events.Record{{Payload: events.WorkspaceUpdated{Path: "notes/" + secret, Version: 1}}}
	}})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)

	require.Len(t, store.wrote, 3)
	for _, m := range store.wrote {
		require.NotContains(t, fmt.Sprintf("%+v", m), secret)
	}
	_, err = h.Relay(ctx)
	require.NoError(t, err)
	logged, err := json.Marshal(h.log.Events("acme", "r1"))
	require.NoError(t, err)
	require.NotContains(t, string(logged), secret)
}

func TestM3_IDsAreIssuedAndAscend(t *testing.T) {
	h := newHost(t)
	run := h.run("r1", "acme")
	seen := map[string]bool{}
	last := ""
	for i := range 2000 {
		if i%300 == 0 {
			h.clock.Advance(time.Duration(i%7-3) * time.Hour) // backwards too
		}
		e := put(t, run, "m", "x")
		require.False(t, seen[e.ID])
		require.Greater(t, e.ID, last)
		seen[e.ID], last = true, e.ID
	}
}

func TestR6_RunWithoutRedactorIsRefusedAndAClosedOneFailsClosed(t *testing.T) {
	h := newHost(t)
	_, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme"})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = h.Background(memory.JobConfig{ID: "p", Tenant: "acme"})
	require.ErrorIs(t, err, memory.ErrValidation)

	keys := newVault("k", secret)
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys})
	require.NoError(t, err)
	child, err := run.Child("c")
	require.NoError(t, err)
	require.NoError(t, child.End(ctx))
	require.False(t, keys.closed, "the registry is the parent's")
	late, err := run.Child("late")
	require.NoError(t, err)
	require.NoError(t, run.End(ctx))
	require.True(t, keys.closed)
	_, err = late.Put(ctx, "m", memory.Draft{Content: secret})
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	require.NotContains(t, err.Error(), secret)
	require.Empty(t, contents(t, h.Reader("acme"), "m"))
}

func TestEndedRunsRefuseEverything(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r", "acme"), h.job("acme")
	e := put(t, run, "m", "x")
	require.NoError(t, run.End(ctx))
	require.NoError(t, job.End(ctx))
	require.NoError(t, run.End(ctx), "ending twice is fine")
	require.NoError(t, job.End(ctx))
	for name, call := range map[string]func() error{
		"put":      func() error { _, err := run.Put(ctx, "m", memory.Draft{}); return err },
		"delete":   func() error { _, err := run.Delete(ctx, "m", e.ID); return err },
		"list":     func() error { _, err := run.Memory().List(ctx, "m", memory.ListOptions{}); return err },
		"get":      func() error { _, err := run.Memory().Get(ctx, "m", e.ID); return err },
		"search":   func() error { _, err := run.Search(ctx, "m", memory.Search{}); return err },
		"token":    func() error { _, err := run.Token(ctx); return err },
		"child":    func() error { _, err := run.Child("c"); return err },
		"join":     func() error { return run.Join(ctx, "") },
		"job put":  func() error { _, err := job.Put(ctx, "m", memory.Draft{}); return err },
		"job get":  func() error { _, err := job.Get(ctx, "m", e.ID); return err },
		"job del":  func() error { _, err := job.Delete(ctx, "m", e.ID); return err },
		"rewrite":  func() error { _, err := job.Rewrite(ctx, "m", memory.Rewrite{}); return err },
		"document": func() error { _, err := job.Document(ctx, "m", "k", "c"); return err },
		"scan": func() error {
			for _, err := range job.Scan(ctx, "m") {
				return err
			}
			return nil
		},
		"history": func() error {
			for _, err := range job.History(ctx, "m") {
				return err
			}
			return nil
		},
	} {
		require.ErrorIs(t, call(), memory.ErrEnded, name)
	}
}

func TestM4_ExpiryIsExactInEveryRead(t *testing.T) {
	h := newHost(t)
	run := h.run("writer", "acme")
	e, err := run.Put(ctx, "m", memory.Draft{Content: "short", ExpiresAt: epoch.Add(time.Second + 999*time.Microsecond)})
	require.NoError(t, err)
	require.Equal(t, epoch.Add(time.Second), e.ExpiresAt, "what is finer than a millisecond is dropped")
	late := h.run("reader", "acme")
	token, err := late.Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)

	visible := func() map[string]bool {
		out := map[string]bool{}
		for name, r := range map[string]memory.Reader{"live": h.Reader("acme"), "own": run.Memory(), "view": late.Memory(), "as of": asOf} {
			entries, err := r.List(ctx, "m", memory.ListOptions{})
			require.NoError(t, err)
			_, err = r.Get(ctx, "m", e.ID)
			require.Equal(t, len(entries) == 1, err == nil, name)
			out[name] = len(entries) == 1
		}
		found, err := h.Search(ctx, "acme", "m", memory.Search{Text: "short"})
		require.NoError(t, err)
		out["search"] = len(found) == 1
		found, err = late.Search(ctx, "m", memory.Search{Text: "short"})
		require.NoError(t, err)
		out["view search"] = len(found) == 1
		n := 0
		for _, err := range h.job("acme").Scan(ctx, "m") {
			require.NoError(t, err)
			n++
		}
		out["scan"] = n == 1
		return out
	}
	h.clock.Advance(999 * time.Millisecond)
	for name, seen := range visible() {
		require.True(t, seen, name)
	}
	h.clock.Advance(time.Millisecond)
	for name, seen := range visible() {
		require.Equal(t, name == "as of", seen, "%s: a token judges expiry at its own instant", name)
	}
	h.clock.Advance(-time.Hour)
	for name, seen := range visible() {
		require.Equal(t, name == "as of", seen, "%s: the bank's clock never runs backwards", name)
	}
}

func TestM4_BadInstantsAreRefused(t *testing.T) {
	h := newHost(t)
	run, job := h.run("r", "acme"), h.job("acme")
	for _, at := range []time.Time{
		epoch, epoch.Add(-time.Millisecond), epoch.Add(999 * time.Microsecond), time.Unix(0, 0),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("west", -3600)),
	} {
		_, err := run.Put(ctx, "m", memory.Draft{Content: "x", ExpiresAt: at})
		require.ErrorIs(t, err, memory.ErrValidation, "%v", at)
	}
	_, err := run.Put(ctx, "m", memory.Draft{Content: "x", CreatedAt: epoch})
	require.ErrorIs(t, err, memory.ErrValidation, "a run cannot backdate")
	for _, at := range []time.Time{epoch.Add(time.Millisecond), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := job.Put(ctx, "m", memory.Draft{Content: "x", CreatedAt: at})
		require.ErrorIs(t, err, memory.ErrValidation, "%v", at)
	}
	require.Empty(t, contents(t, h.Reader("acme"), "m"))

	east := time.FixedZone("east", 9*3600)
	e, err := job.Put(ctx, "m", memory.Draft{CreatedAt: time.Date(2026, 2, 1, 3, 4, 5, 6_700_000, east), ExpiresAt: epoch.Add(time.Hour).In(east)})
	require.NoError(t, err)
	got, err := h.Reader("acme").Get(ctx, "m", e.ID)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 1, 31, 18, 4, 5, 6_000_000, time.UTC), got.CreatedAt)
	require.Equal(t, epoch.Add(time.Hour), got.ExpiresAt)
	require.Equal(t, time.UTC, got.ExpiresAt.Location())
}

func TestM5_NewestFirstWithTiesByID(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	var ids []string
	for i := range 50 {
		e, err := job.Put(ctx, "m", memory.Draft{CreatedAt: epoch.Add(-time.Duration(i%5) * time.Hour), Tags: []string{"t"}})
		require.NoError(t, err)
		ids = append(ids, e.ID)
	}
	for name, r := range map[string]memory.Reader{"live": h.Reader("acme"), "run": h.run("r", "acme").Memory()} {
		got, err := r.List(ctx, "m", memory.ListOptions{Tag: "t"})
		require.NoError(t, err)
		require.Len(t, got, len(ids), name)
		for i := range got[1:] {
			require.True(t, got[i].CreatedAt.After(got[i+1].CreatedAt) ||
				(got[i].CreatedAt.Equal(got[i+1].CreatedAt) && got[i].ID > got[i+1].ID), name)
		}
	}
}

func TestM9_LimitsHoldForTheRedactedForm(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.MaxEntryBytes = 30 })
	run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault("k", "12345678")})
	require.NoError(t, err)
	for _, c := range []struct {
		d  memory.Draft
		ok bool
	}{
		{memory.Draft{Content: strings.Repeat("x", 30)}, true},
		{memory.Draft{Content: strings.Repeat("x", 31)}, false},
		{memory.Draft{Content: strings.Repeat("é", 16)}, false},
		{memory.Draft{Content: "1234567812345678"}, true},                                // two markers of 12 bytes
		{memory.Draft{Content: "123456781234567812345678"}, false},                       // three
		{memory.Draft{Content: ""}, true},                                                //
		{memory.Draft{Content: "a\x00b"}, false},                                         //
		{memory.Draft{Content: "a\xffb"}, false},                                         //
		{memory.Draft{Tags: []string{strings.Repeat("é", 256)}}, true},                   //
		{memory.Draft{Tags: []string{strings.Repeat("x", 257)}}, false},                  //
		{memory.Draft{Tags: []string{"12345678" + strings.Repeat("x", 245)}}, false},     // 257 redacted
		{memory.Draft{Tags: []string{"a\x00"}}, false},                                   //
		{memory.Draft{Tags: []string{"\xff"}}, false},                                    //
		{memory.Draft{Subjects: []string{""}}, false},                                    //
		{memory.Draft{Subjects: []string{"a\nb"}}, false},                                //
		{memory.Draft{Subjects: []string{strings.Repeat("x", 257)}}, false},              //
		{memory.Draft{Subjects: []string{strings.Repeat("é", 256), "customer:1"}}, true}, //
		{memory.Draft{NodeID: strings.Repeat("x", 129)}, false},                          //
		{memory.Draft{AgentID: "a\x00"}, false},                                          //
	} {
		_, err := run.Put(ctx, "m", c.d)
		if c.ok {
			require.NoError(t, err, "%q", c.d)
			continue
		}
		require.ErrorIs(t, err, memory.ErrValidation, "%q", c.d)
	}
	require.Len(t, contents(t, run.Memory(), "m"), 5)
}

func TestM9_ListsAreBounded(t *testing.T) {
	h := newHost(t)
	job := h.job("acme")
	for range memory.MaxListLimit + 10 {
		put(t, job, "m", "x")
	}
	run := h.run("r", "acme")
	for limit, want := range map[int]int{0: 100, 1: 1, 99: 99, 1000: 1000, 1001: 1000, math.MaxInt: 1000} {
		for _, r := range []memory.Reader{h.Reader("acme"), run.Memory()} {
			got, err := r.List(ctx, "m", memory.ListOptions{Limit: limit})
			require.NoError(t, err)
			require.Len(t, got, want)
		}
		found, err := h.Search(ctx, "acme", "m", memory.Search{Limit: limit})
		require.NoError(t, err)
		require.Len(t, found, want)
	}
	for _, o := range []memory.ListOptions{{Limit: -1}, {Tag: "\x00"}, {Tag: strings.Repeat("x", 257)}, {Tag: "\xff"}} {
		_, err := run.Memory().List(ctx, "m", o)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	for _, q := range []memory.Search{{Limit: -1}, {Text: "\x00"}, {Tags: []string{"\xff"}}} {
		_, err := h.Search(ctx, "acme", "m", q)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	n := 0
	for _, err := range job.Scan(ctx, "m") {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, memory.MaxListLimit+10, n)
}

// TestM8_HandedOutEntriesAreTheCallersOwn: nothing that a caller does to an entry
// reaches the store.
func TestM8_HandedOutEntriesAreTheCallersOwn(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	tags := []string{"a", "b"}
	e, err := run.Put(ctx, "m", memory.Draft{Content: "x", Tags: tags, Subjects: []string{"s"}})
	require.NoError(t, err)
	tags[0] = "changed"
	e.Tags[1], e.Subjects[0] = "changed", "changed"
	got, err := run.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, got[0].Tags)
	got[0].Tags[0] = "changed"
	again, err := h.Reader("acme").Get(ctx, "m", e.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, again.Tags)
	require.Equal(t, []string{"s"}, again.Subjects)
}

func TestEntryJSONIsTheProtocolsMemoryEntry(t *testing.T) {
	e := memory.Entry{ID: "mem_1", Content: "x", CreatedAt: epoch, RunID: "r", Subjects: []string{"s"}, Sources: []string{"y"}}
	got, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"mem_1","content":"x","tags":[],"createdAt":"2026-03-01T09:00:00Z"}`, string(got))
	e.ExpiresAt = epoch.Add(1500 * time.Millisecond)
	got, err = json.Marshal(e)
	require.NoError(t, err)
	require.Contains(t, string(got), `"expiresAt":"2026-03-01T09:00:01.5Z"`)
}

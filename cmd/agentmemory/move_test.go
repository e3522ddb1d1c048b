package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// runs is the queue of a host, which outlives the move of its memory: one run for a key.
type runs struct {
	keys map[string]int // how often a run was asked for under each
	of   []string       // what each run is for, in their order
	lose bool           // the answers, after a run has started
}

func (r *runs) Enqueue(_ context.Context, f commitment.Firing) (string, error) {
	if r.keys[f.Key]++; r.keys[f.Key] == 1 {
		r.of = append(r.of, f.Ref+" "+f.Arm.Spec+f.Arm.Every.String()+" "+f.Instant.Format(time.RFC3339))
	}
	if r.lose {
		return "", errors.New("the answer is lost")
	}
	return fmt.Sprint("run-", f.Key), nil
}

// reminding is a host over a store, with a clock of its own.
type reminding struct {
	t      *testing.T
	tenant string
	bank   *memory.Bank
	engine *commitment.Engine
	now    time.Time
}

func remind(t *testing.T, at []string, tenant string, now time.Time, queue commitment.Enqueuer) *reminding {
	store := open(t, at)
	t.Cleanup(func() { assert.NoError(t, store.close()) })
	h := &reminding{t: t, tenant: tenant, now: now}
	var err error
	h.bank, err = memory.New(store.store, memory.Config{Now: func() time.Time { return h.now }})
	require.NoError(t, err)
	h.engine, err = commitment.New(h.bank, commitment.Config{
		Enqueuer: queue, Inferrer: commitment.Tagged{}, Predicate: func(string, string) bool { return true },
		Redactor: func(context.Context, string) (memory.Redactor, error) { return redact.New(redact.Config{}), nil },
	})
	require.NoError(t, err)
	return h
}

func (h *reminding) job() *memory.Job {
	job, err := h.bank.Background(memory.JobConfig{ID: "notes", Tenant: h.tenant, Redactor: redact.New(redact.Config{})})
	require.NoError(h.t, err)
	return job
}

// note writes an entry in a ref of its own and arms what its tag asks for.
func (h *reminding) note(ref string, tags ...string) commitment.Commitment {
	_, err := h.job().Put(h.t.Context(), ref, memory.Draft{Content: "a note for " + ref, Tags: tags})
	require.NoError(h.t, err)
	armed, err := h.engine.Infer(h.t.Context(), h.job(), ref)
	require.NoError(h.t, err)
	require.Len(h.t, armed.Armed, 1, ref)
	return armed.Armed[0]
}

// goOn ticks every ten minutes until an instant.
func (h *reminding) goOn(until time.Time) {
	for ; h.now.Before(until); h.now = h.now.Add(10 * time.Minute) {
		_, err := h.engine.Tick(h.t.Context())
		require.NoError(h.t, err)
	}
}

// states are the commitments of a host, by ref.
func (h *reminding) states() map[string]commitment.Commitment {
	all := map[string]commitment.Commitment{}
	for c, err := range h.engine.Commitments(h.t.Context(), h.tenant) {
		require.NoError(h.t, err)
		all[c.Ref] = c
	}
	return all
}

// K2, K3: memory that moves to another store takes along how far each reminder has come, so that none
// fires again and none is lost, though the host reads every note again there.
func TestK2_RemindersMoveWithTheirStore(t *testing.T) {
	file := func(t *testing.T) []string { return []string{"-db", filepath.Join(t.TempDir(), "memory.db")} }
	server := func(t *testing.T) []string { return []string{"-postgres", database(t)} }
	other := func(t *testing.T) []string { return []string{"-mysql", mysqlDatabase(t)} }
	for name, way := range map[string]struct {
		from, to func(*testing.T) []string
		tenant   string
	}{
		"file to server": {file, server, "acme"}, "server to file": {server, file, "acme"},
		"file to mysql": {file, other, "acme"}, "mysql to file": {other, file, "acme"},
		"another tenant": {file, file, "acme two"},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := way.from(t), way.to(t)
			queue := &runs{keys: map[string]int{}}
			end := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
			begin := end.Add(-72 * time.Hour)
			a := remind(t, from, "acme", begin, queue)
			due := func(d time.Duration) string { return "due:" + begin.Add(d).Format(time.RFC3339) }
			a.note("fired", due(time.Hour))
			a.note("daily", "every:24h")
			a.note("later", due(100*time.Hour))
			canceled := a.note("canceled", due(110*time.Hour))
			stopped := a.note("stopped", "every:12h")
			watched := a.note("watched", "when:raining", "recurring")
			forgotten := a.note("forgotten", due(120*time.Hour))
			_, err := a.engine.Arm(t.Context(), a.job(), commitment.Source{Ref: "whole"}, commitment.Arm{Every: 48 * time.Hour})
			require.NoError(t, err)
			_, err = a.engine.Observe(t.Context(), wet("acme"))
			require.NoError(t, err)
			a.goOn(begin.Add(30 * time.Hour))
			for _, c := range []commitment.Commitment{canceled, stopped} {
				_, err = a.engine.Cancel(t.Context(), "acme", c.ID)
				require.NoError(t, err)
			}
			_, err = a.job().Delete(t.Context(), "forgotten", forgotten.MemoryID)
			require.NoError(t, err)
			a.goOn(end)
			lost := a.note("lost", "due:"+end.Add(time.Minute).Format(time.RFC3339))
			queue.lose, a.now = true, end.Add(2*time.Minute)
			_, err = a.engine.Tick(t.Context())
			require.NoError(t, err)
			queue.lose = false
			before, fired := a.states(), slices.Clone(queue.of)
			require.Equal(t, commitment.Claimed, before["lost"].State)

			exported := succeed(t, with(from, "-tenant", "acme"), "export")
			require.NotContains(t, exported[strings.Index(exported, `{"commitment":`):], "a note for", "K8")
			path := filepath.Join(t.TempDir(), "acme.jsonl")
			writeFile(t, path, exported)
			tenant := with(to, "-tenant", way.tenant)
			said := succeed(t, tenant, "import", path)
			assert.Contains(t, said, "8 commitments as they were, 0 left out")
			assert.NotContains(t, said, "does not say")
			assert.Contains(t, succeed(t, tenant, "import", path), "8 commitments as they were", "importing again changes nothing")

			b := remind(t, to, way.tenant, a.now, queue)
			for ref, was := range before {
				if ref == "forgotten" {
					continue
				}
				is := b.states()[ref]
				assert.Equal(t, []any{was.State, was.Reason, was.Mark, was.Position, was.Fired}, []any{is.State, is.Reason, is.Mark, is.Position, is.Fired}, ref)
				_, err := b.engine.Infer(t.Context(), b.job(), ref)
				require.NoError(t, err)
			}
			assert.Len(t, b.states(), 8, "reading the notes again arms nothing")
			n, err := b.engine.Observe(t.Context(), wet(way.tenant))
			require.NoError(t, err)
			assert.Empty(t, n, "of before the move")
			b.goOn(begin.Add(150 * time.Hour))
			assert.Equal(t, 2, queue.keys[key(lost)], "asked for again under its key")
			assert.Equal(t, watched.Arm, b.states()["watched"].Arm)

			var after []string
			for _, of := range queue.of[len(fired):] {
				ref, _, _ := strings.Cut(of, " ")
				after = append(after, ref)
			}
			slices.Sort(after)
			assert.Equal(t, []string{"daily", "daily", "daily", "later", "whole", "whole"}, after)
			seen := map[string]bool{}
			for _, of := range queue.of {
				assert.False(t, seen[of], of)
				seen[of] = true
			}
		})
	}
}

// K1: an export right after notes were replaced, which no host has read since, takes their reminders along: what a
// person has canceled does not fire again in the other store, and what recurs goes on.
func TestK1_RemindersOfReplacedNotesMoveToo(t *testing.T) {
	from := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	to := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	end := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	queue := &runs{keys: map[string]int{}}
	a := remind(t, from[:2], "acme", end.Add(-30*time.Hour), queue)
	canceled, daily := a.note("canceled", "every:12h"), a.note("daily", "every:24h")
	a.goOn(end)
	_, err := a.engine.Cancel(t.Context(), "acme", canceled.ID)
	require.NoError(t, err)
	run, err := a.bank.Start(t.Context(), memory.RunConfig{ID: "mends-a-typo-0001", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	for _, c := range []commitment.Commitment{canceled, daily} {
		_, err = run.Replace(t.Context(), c.Ref, c.MemoryID, memory.Draft{Content: "mended"})
		require.NoError(t, err)
	}
	assert.Contains(t, succeed(t, to, "import", file(t, succeed(t, from, "export"))), "2 commitments as they were, 0 left out")
	b := remind(t, to[:2], "acme", end, queue)
	for _, ref := range []string{"canceled", "daily"} {
		found, err := b.engine.Infer(t.Context(), b.job(), ref)
		require.NoError(t, err)
		assert.Empty(t, found.Armed, ref)
	}
	assert.Equal(t, commitment.Lapsed, b.states()["canceled"].State)
	before := len(queue.of)
	b.goOn(end.Add(24 * time.Hour))
	require.Len(t, queue.of, before+1)
	assert.Equal(t, "daily 24h0m0s "+end.Add(18*time.Hour).Format(time.RFC3339), queue.of[before])
}

func wet(tenant string) commitment.Observation {
	return commitment.Observation{Tenant: tenant, Predicate: "raining", Position: 7, State: []byte("wet"), Holds: true}
}

// key is that of the first firing of a commitment at its instant.
func key(c commitment.Commitment) string {
	c.Claim.Instant = c.Arm.At
	return c.Key()
}

// A file that does not say how far reminders had come is told of, and one that is cut short is too.
func TestImportSaysWhatAnExportLacks(t *testing.T) {
	at := []string{"-db", filepath.Join(t.TempDir(), "memory.db"), "-tenant", "acme"}
	const unsaid = "does not say how far reminders had come"
	assert.Contains(t, succeed(t, at, "import", file(t, tea)), unsaid)
	assert.NotContains(t, succeed(t, at, "import", file(t, tea, `{"commitments":0}`)), unsaid)
	alone := `{"commitment":{"id":"cmt_1","ref":"notes","memoryId":"not-in-the-file","arm":{"every":86400000000000},"state":"armed"}}`
	assert.Contains(t, succeed(t, at, "import", file(t, tea, alone, `{"commitments":1}`)), "0 commitments as they were, 1 left out")
	for _, bad := range []string{
		`{"commitment":{"id":"cmt_1","ref":"notes","arm":{"every":1},"state":"armed"}}`,
		`{"commitment":{"id":"cmt_1","ref":"notes","arm":{"every":86400000000000},"state":"asleep"}}`,
		`{"commitment":{"id":"cmt_1","ref":"` + secret + `","arm":{"every":86400000000000},"state":"armed"}}`,
	} {
		r := call(t, "", at, "import", file(t, tea, bad))
		assert.Equal(t, 1, r.status)
		assert.Contains(t, r.out, "line 2: ")
		assert.NotContains(t, r.out+r.err, secret)
	}
	for _, none := range []string{`{"commitment":{"id":1}}`, `{"commitment":{},"commitments":1}`, `{"commitments":"x"}`, `{"ref":"x","commitments":1,"entry":{}}`} {
		r := call(t, "", at, "import", file(t, tea, none))
		assert.Equal(t, 1, r.status, none)
		assert.Contains(t, r.err, "line 2 is not", none)
	}
}

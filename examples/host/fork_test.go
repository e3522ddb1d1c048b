package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// fork forks a run, and returns the new one's id.
func (s *served) fork(id string, fromSeq int, mode string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"fromSeq":%d,"mode":%q}`, fromSeq, mode)
	return s.ok(201, "a", "POST", "/v1/runs/"+id+":fork", body)["runId"].(string)
}

// variables are what a run has read.
func (s *served) variables(id string) any {
	s.t.Helper()
	run := s.ok(200, "a", "GET", "/v1/runs/"+id, "")
	require.Equal(s.t, "completed", run["status"], "%v", run["error"])
	return run["variables"]
}

// entries are the ids of what a tenant remembers, in the order of its refs.
func (s *served) entries(tenant string) (ids []string) {
	s.t.Helper()
	require.NoError(s.t, s.host.pass(s.t.Context(), tenant, "test", func(job *memory.Job) error {
		for ref, err := range s.host.bank.Refs(s.t.Context(), tenant) {
			if err != nil {
				return err
			}
			for e, err := range job.Scan(s.t.Context(), ref) {
				if err != nil {
					return err
				}
				ids = append(ids, e.ID)
			}
		}
		return nil
	}))
	return ids
}

// written are the ids of the entries that events announce.
func written(log []map[string]any) (ids []string) {
	for _, ev := range log {
		if ev["type"] == "memory.written" {
			ids = append(ids, ev["payload"].(map[string]any)["memoryId"].(string))
		}
	}
	return ids
}

// requireShared expects a log to begin with the first n events of another, word for word but for their envelopes
// (runs.md §Fork), and to be a whole one.
func (s *served) requireShared(source, fork string, n int) {
	s.t.Helper()
	from, log := s.events("a", source), s.events("a", fork)
	require.GreaterOrEqual(s.t, len(log), n)
	for i, ev := range log {
		assert.Equal(s.t, float64(i), ev["sequence"])
		assert.Equal(s.t, i == 0, ev["type"] == "run.started")
		assert.Equal(s.t, i == len(log)-1, ev["type"] == "run.completed")
		if i < n {
			for _, field := range []string{"type", "nodeId", "payload", "timestamp"} {
				assert.Equal(s.t, from[i][field], ev[field])
			}
		}
	}
}

// onBoth runs a test over memory and over a file.
func onBoth(t *testing.T, name string, test func(t *testing.T, s *served)) {
	t.Run(name+" in memory", func(t *testing.T) { test(t, over(t, inmem.New(), options{})) })
	t.Run(name, func(t *testing.T) { test(t, serve(t, options{})) })
}

// A branch at any event has the events below it as its origin has them, with the same ids, reads memory as it was
// there, and writes nothing of it again (runs.md §Fork; MAE-3).
func TestM7_ABranchSharesWhatIsBelowItsForkPoint(t *testing.T) {
	for _, name := range unaided() {
		onBoth(t, name, func(t *testing.T, s *served) {
			source := s.run("a", name)
			id := source["runId"].(string)
			log := s.events("a", id)
			for n := range len(log) + 1 { // of version 1, behind the last one too
				s.run("a", "conformance-noop") // memory goes on
				before := s.entries(tenantA)
				branch := s.fork(id, n, "branch")
				s.requireShared(id, branch, n)
				own := written(s.events("a", branch)[n:])
				assert.Len(t, own, len(written(log[n:])), "at %d", n)
				assert.Len(t, s.entries(tenantA), len(before)+len(own), "at %d only what is behind it is written", n)
				for _, id := range own {
					assert.NotContains(t, before, id)
				}
				if variables := s.variables(branch); n >= len(log)-1 {
					assert.Equal(t, source["variables"], variables, "at %d it reads what its origin has read", n)
				}
			}
		})
	}
}

// A fork of a fork shares what both share, and a replay of either is exact.
func TestM7_AForkOfAFork(t *testing.T) {
	s := serve(t, options{})
	for _, name := range []string{"conformance-agent-memory-injection-budget", "conformance-agent-memory-ttl"} {
		id := s.run("a", name)["runId"].(string)
		log := s.events("a", id)
		for n := range len(log) {
			branch := s.fork(id, n, "branch")
			before := s.entries(tenantA)
			for _, of := range []string{branch, s.fork(branch, 0, "replay")} {
				again := s.fork(of, n, "replay")
				s.requireShared(branch, again, len(log))
				assert.Equal(t, s.variables(branch), s.variables(again), "%s replayed, branched at %d", name, n)
			}
			assert.Equal(t, before, s.entries(tenantA), "a replay writes nothing")
			for m := range len(log) {
				second := s.fork(branch, m, "branch")
				s.requireShared(branch, second, m)
				s.requireShared(id, second, min(n, m))
				if m == len(log)-1 {
					assert.Equal(t, s.variables(branch), s.variables(second))
				}
				third := s.fork(second, len(log)-1, "branch")
				s.requireShared(second, third, len(log)-1)
				assert.Equal(t, s.variables(second), s.variables(third))
			}
		}
	}
}

// A fork point that the log does not have is refused before memory is looked at: in version 1 more than one behind the
// last event (SEAM §10), in version 2 that one too (runs.md §Fork). What is no number from 0 is no request.
func TestM7_AForkPointBeyondTheLogIsRefused(t *testing.T) {
	s := serve(t, options{expiredRun: "run-of-lost-memory"})
	for _, id := range []string{s.run("a", "conformance-noop")["runId"].(string), "run-of-lost-memory"} {
		for _, mode := range []string{"replay", "branch"} {
			for fromSeq, want := range map[string][2]string{
				"3":                    {"", "422 fork_point_invalid"}, // the log has 0, 1 and 2
				"4":                    {"422 invalid_from_seq", "422 fork_point_invalid"},
				"9007199254740991":     {"422 invalid_from_seq", "422 fork_point_invalid"},
				"9007199254740992":     {"400 validation_error", "400 validation_error"},
				"99999999999999999999": {"400 validation_error", "400 validation_error"},
				"-1":                   {"400 validation_error", "400 validation_error"},
				"1.5":                  {"400 validation_error", "400 validation_error"},
				`"1"`:                  {"400 validation_error", "400 validation_error"},
				"[]":                   {"400 validation_error", "400 validation_error"},
			} {
				for i, at := range []string{"/v1/runs/", "/runs/"} {
					if want[i] == "" {
						continue
					}
					w := s.do("a", "POST", at+id+":fork", fmt.Sprintf(`{"fromSeq":%s,"mode":%q}`, fromSeq, mode))
					var refused struct{ Error string }
					require.NoError(t, json.Unmarshal(w.Body.Bytes(), &refused))
					assert.Equal(t, want[i], fmt.Sprint(w.Code, " ", refused.Error), "%s%s of %s: %s", at, mode, id, fromSeq)
				}
			}
		}
	}
}

// addWorkflow adds one for a test.
func addWorkflow(t *testing.T, name string, work func(ctx context.Context, x *execution) error) {
	workflows[name] = work
	t.Cleanup(func() { delete(workflows, name) })
}

// suspended is a workflow that waits between two writes, and does not in a fork.
func suspended(t *testing.T, name string) (waits, resume chan struct{}) {
	waits, resume = make(chan struct{}), make(chan struct{})
	addWorkflow(t, name, func(ctx context.Context, x *execution) error {
		if _, err := x.put(ctx, homeRef, memory.Draft{Content: "before"}); err != nil {
			return err
		}
		if x.doc.ParentRunID == "" {
			close(waits)
			<-resume
		}
		_, err := x.put(ctx, homeRef, memory.Draft{Content: "behind"})
		if err == nil {
			x.doc.Variables["read"], err = x.list(ctx, homeRef, memory.ListOptions{})
		}
		return err
	})
	return waits, resume
}

// A run that is under way is branched from at what it has in its log, and replayed when it has ended.
func TestM7_AForkOfARunUnderWay(t *testing.T) {
	waits, resume := suspended(t, "test.waits")
	s := serve(t, options{})
	const id = "run-request-under-way"
	ended := make(chan error)
	go func() {
		_, err := s.host.start(t.Context(), tenantA, beginning{id: id, workflow: "test.waits"})
		ended <- err
	}()
	<-waits
	require.Len(t, s.events("a", id), 2)
	for n := range 3 { // 2 is where it is
		branch := s.fork(id, n, "branch")
		s.requireShared(id, branch, n)
		assert.Len(t, s.variables(branch).(map[string]any)["read"], 2, "at %d", n)
	}
	s.ok(422, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":3,"mode":"branch"}`)
	early := s.ok(400, "a", "POST", "/v1/runs/"+id+":fork", `{"fromSeq":0,"mode":"replay"}`)
	assert.Equal(t, "validation_error", early["error"])
	close(resume)
	require.NoError(t, <-ended)
	assert.Equal(t, s.variables(id), s.variables(s.fork(id, 0, "replay")))
	assert.Equal(t, s.variables(id), s.variables(s.fork(id, 3, "branch")))
}

// After a restart forks are as before it; a run that was killed is branched from at what its log had then.
func TestM7_AForkAfterARestart(t *testing.T) { everywhere(t, forkAfterRestart) }

func forkAfterRestart(t *testing.T, o options) {
	waits, resume := suspended(t, "test.killed")
	const killed = "run-request-killed"
	source, branch := "", ""
	ended := make(chan struct{})
	t.Run("before", func(t *testing.T) {
		s := reopen(t, o)
		source = s.run("a", "conformance-agent-memory-injection-budget")["runId"].(string)
		branch = s.fork(source, 3, "branch")
		go func() {
			defer close(ended)
			_, _ = s.host.start(context.WithoutCancel(t.Context()), tenantA, beginning{id: killed, workflow: "test.killed"})
		}()
		<-waits
	})
	t.Run("after", func(t *testing.T) {
		s := reopen(t, o)
		assert.Equal(t, s.variables(branch), s.variables(s.fork(branch, 0, "replay")))
		s.requireShared(source, s.fork(source, 2, "branch"), 2)
		second := s.fork(branch, 4, "branch")
		s.requireShared(branch, second, 4)
		s.requireShared(source, second, 3)
		require.Equal(t, "failed", s.ok(200, "a", "GET", "/v1/runs/"+killed, "")["status"])
		for n := range 3 {
			again := s.fork(killed, n, "branch")
			s.requireShared(killed, again, n)
			assert.Len(t, s.variables(again).(map[string]any)["read"], 2, "at %d", n)
		}
	})
	close(resume)
	<-ended
}

// A run whose log was purged is neither replayed, which would write, nor branched from behind what it still has.
func TestM7_AForkOfAPurgedLog(t *testing.T) {
	store := inmem.New()
	s := over(t, store, options{})
	id := s.run("a", "conformance-noop")["runId"].(string)
	branch := s.fork(id, 2, "branch")
	keeper, ok := driver.As[driver.EventKeeper](store)
	require.True(t, ok)
	_, err := keeper.PurgeEvents(t.Context(), s.host.bank.Now().Add(time.Hour), 100)
	require.NoError(t, err)
	before := s.entries(tenantA)
	for _, run := range []string{id, branch} {
		for fromSeq, want := range []string{"replay_memory_snapshot_unavailable", "invalid_from_seq"} {
			out := s.ok(422, "a", "POST", "/v1/runs/"+run+":fork", fmt.Sprintf(`{"fromSeq":%d,"mode":"replay"}`, fromSeq))
			assert.Equal(t, want, out["error"])
			out = s.ok(422, "a", "POST", "/runs/"+run+":fork", fmt.Sprintf(`{"fromSeq":%d,"mode":"replay"}`, fromSeq))
			assert.Equal(t, "fork_point_invalid", out["error"])
		}
		s.ok(422, "a", "POST", "/v1/runs/"+run+":fork", `{"fromSeq":1,"mode":"branch"}`)
	}
	assert.Equal(t, before, s.entries(tenantA))
}

// What was forgotten is in no fork: one that would have to show it is refused, 422 in version 1 and 409 in version 2
// (MAE-3), and one whose shared history it is not part of goes on.
func TestM7_AForkAfterForgetting(t *testing.T) {
	addWorkflow(t, "test.about-ann", func(ctx context.Context, x *execution) error {
		_, err := x.put(ctx, "mem://host/tea", memory.Draft{Content: "Tea is in the kitchen."})
		if err == nil {
			_, err = x.put(ctx, "mem://host/ann", memory.Draft{Content: "Ann likes tea.", Subjects: []string{"ann"}})
		}
		return err
	})
	s := serve(t, options{})
	id := s.run("a", "test.about-ann")["runId"].(string)
	_, err := s.host.bank.Forget(t.Context(), tenantA, "ann")
	require.NoError(t, err)
	for n := range 4 {
		for _, mode := range []string{"branch", "replay"} {
			for at, status := range map[string]int{"/v1/runs/": 422, "/runs/": 409} {
				if mode == "branch" && n < 3 {
					status = 201
				}
				out := s.ok(status, "a", "POST", at+id+":fork", fmt.Sprintf(`{"fromSeq":%d,"mode":%q}`, n, mode))
				if status != 201 {
					assert.Equal(t, "replay_memory_snapshot_unavailable", out["error"])
					assert.Equal(t, "forgotten", out["details"].(map[string]any)["cause"])
				}
			}
		}
	}
}

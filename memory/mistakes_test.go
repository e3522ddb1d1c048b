package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// mistake is what a host's author does wrong, and what the error says to them.
type mistake struct {
	do    func() error
	class error
	says  string
}

// check makes each mistake. The text is all that its author reads: it names the argument, and
// what to do.
func check(t *testing.T, mistakes map[string]mistake) {
	t.Helper()
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			err := m.do()
			require.ErrorIs(t, err, m.class)
			require.EqualError(t, err, m.says)
			require.NotContains(t, err.Error(), secret, "M2")
		})
	}
}

// plainAdapter is a store with the four operations only.
type plainAdapter struct{ driver.Adapter }

// untransacted offers views without the step below them.
type untransacted struct{ driver.Adapter }

func (u untransacted) As(target any) bool {
	switch t := target.(type) {
	case *driver.Scheduler:
		*t = u.Adapter.(driver.Scheduler)
		return true
	}
	return false
}

func TestM2_MistakesWithAConfigAreNamed(t *testing.T) {
	log := new(events.Log)
	with := func(a driver.Adapter, c memory.Config) func() error {
		return func() error { _, err := memory.New(a, c); return err }
	}
	check(t, map[string]mistake{
		"no store": {with(nil, memory.Config{}), memory.ErrValidation,
			"memory: invalid input: the store is nil: give New a driver.Adapter, such as inmem.New()"},
		"a limit below zero": {with(inmem.New(), memory.Config{MaxEntryBytes: -1}), memory.ErrValidation,
			"memory: invalid input: Config.MaxEntryBytes is below zero: 0 means the default, and for KeepEvents that none are kept"},
		"a horizon below zero": {with(inmem.New(), memory.Config{Horizon: -1}), memory.ErrValidation,
			"memory: invalid input: Config.Horizon is below zero: 0 means the default, and for KeepEvents that none are kept"},
		"a backlog below zero": {with(inmem.New(), memory.Config{MaxUndelivered: -1}), memory.ErrValidation,
			"memory: invalid input: Config.MaxUndelivered is below zero: 0 means the default, and for KeepEvents that none are kept"},
		"a retention below zero": {with(inmem.New(), memory.Config{LedgerRetention: -1}), memory.ErrValidation,
			"memory: invalid input: Config.LedgerRetention is below zero: 0 means the default, and for KeepEvents that none are kept"},
		"write events to nobody": {with(inmem.New(), memory.Config{WriteEvents: true}), memory.ErrValidation,
			"memory: invalid input: Config.WriteEvents needs Config.Sink or Config.KeepEvents, which takes the events"},
		"write events over a small store": {with(plainAdapter{inmem.New()}, memory.Config{WriteEvents: true, Sink: log}), memory.ErrNotProvided,
			"memory: not provided: Config.WriteEvents needs a store that is a driver.Transactor"},
		"limits over a small store": {with(plainAdapter{inmem.New()}, memory.Config{Limits: func(context.Context, string) (driver.Limits, error) {
			return driver.Limits{}, nil
		}}), memory.ErrNotProvided,
			"memory: not provided: Config.Limits needs a store that is a driver.Transactor"},
		"a log and a sink": {with(inmem.New(), memory.Config{KeepEvents: time.Hour, Sink: log}), memory.ErrValidation,
			"memory: invalid input: Config.KeepEvents takes the place of Config.Sink: set one of them"},
		"a log that the store has not": {with(plainAdapter{inmem.New()}, memory.Config{KeepEvents: time.Hour}), memory.ErrNotProvided,
			"memory: not provided: Config.KeepEvents needs a store that is a driver.EventKeeper: set Config.Sink instead"},
		"a step without the one below": {with(untransacted{inmem.New()}, memory.Config{}), memory.ErrValidation,
			"memory: invalid input: the store offers driver.Versioned, Scheduler or Tenants and is no driver.Transactor, which these need"},
	})
}

func TestM2_MistakesWithAHandleAreNamed(t *testing.T) {
	h := newHost(t)
	small := newHostOn(t, plainAdapter{inmem.New()}, func(c *memory.Config) { c.WriteEvents = false })
	looking := newHostOn(t, h.store, func(c *memory.Config) { c.WriteEvents, c.ReadOnly = false, true })
	start := func(c memory.RunConfig) func() error {
		return func() error { _, err := h.Start(ctx, c); return err }
	}
	open := func(c memory.JobConfig) func() error {
		return func() error { _, err := h.Background(c); return err }
	}
	list := func(tenant string) func() error {
		return func() error { _, err := h.Reader(tenant).List(ctx, "m", memory.ListOptions{}); return err }
	}
	keys := newVault("k", secret)
	ended := h.run("ended", "acme")
	require.NoError(t, ended.End(ctx))
	late := h.job("acme")
	require.NoError(t, late.End(ctx))
	check(t, map[string]mistake{
		"a run without a tenant": {start(memory.RunConfig{ID: "r", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"a run without an id": {start(memory.RunConfig{Tenant: "acme", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the run's id is empty"},
		"a run with a long id": {start(memory.RunConfig{ID: strings.Repeat("r", 129), Tenant: "acme", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the run's id is longer than 128 bytes"},
		"a run with an id of two lines": {start(memory.RunConfig{ID: "r\n1", Tenant: "acme", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the run's id is not UTF-8 or has control characters"},
		"a run without a redactor": {start(memory.RunConfig{ID: "r", Tenant: "acme"}), memory.ErrValidation,
			"memory: invalid input: the Redactor is nil: give an empty registry, redact.New, to declare that there are no secrets"},
		"a run named by a secret": {start(memory.RunConfig{ID: "r-" + secret, Tenant: "acme", Redactor: keys}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the run's id holds a secret: an identifier is stored as it is"},
		"a child named by a secret": {func() error {
			run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys})
			require.NoError(t, err)
			_, err = run.Child(secret)
			return err
		}, memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the run's id holds a secret: an identifier is stored as it is"},
		"a tenant named by a secret": {func() error {
			run, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: secret, Redactor: keys})
			require.NoError(t, err, "it can read")
			_, err = run.Put(ctx, "m", memory.Draft{Content: "x"})
			return err
		}, memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the tenant holds a secret: an identifier is stored as it is"},
		"a run that resumes and replays": {start(memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys, Resume: "t", Replay: &memory.Replay{}}), memory.ErrValidation,
			"memory: invalid input: RunConfig has both Resume and Replay: set one of them"},
		"a replay of nothing": {start(memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys, Replay: &memory.Replay{}}), memory.ErrValidation,
			"memory: invalid input: Replay needs either From and To or Reads, and not both"},
		"a token that is none": {start(memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys, Resume: "yesterday"}), memory.ErrSnapshotUnavailable,
			"memory: that state of memory is no longer available: the token is not one of this package, or was cut or changed"},
		"a run over a small store": {func() error {
			_, err := small.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: keys})
			return err
		}, memory.ErrNotProvided,
			"memory: not provided: a run needs a store that is driver.Versioned for its view: use Bank.Background and Bank.Reader"},
		"a child without an id": {func() error { _, err := h.run("r", "acme").Child(""); return err }, memory.ErrValidation,
			"memory: invalid input: the run's id is empty"},
		"a run that has ended": {func() error { _, err := ended.Put(ctx, "m", memory.Draft{Content: "x"}); return err }, memory.ErrEnded,
			"memory: the run or job has ended: start another, or resume a suspended one by its last token"},
		"a job without an id": {open(memory.JobConfig{Tenant: "acme", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the job's id is empty"},
		"a job without a tenant": {open(memory.JobConfig{ID: "p", Redactor: keys}), memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"a job named by a secret": {open(memory.JobConfig{ID: secret, Tenant: "acme", Redactor: keys}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the job's id holds a secret: an identifier is stored as it is"},
		"a job that has ended": {func() error { _, err := late.Put(ctx, "m", memory.Draft{Content: "x"}); return err }, memory.ErrEnded,
			"memory: the run or job has ended: open another by Bank.Pass"},
		"a log of a bank that keeps no events": {func() error { _, err := h.Log().Read(ctx, "acme", "r", 0, 0); return err }, memory.ErrNotProvided,
			"memory: not provided: Bank.Log needs Config.KeepEvents"},
		"a reader of nobody": {list(""), memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"a reader of a long name": {list(strings.Repeat("a", 257)), memory.ErrValidation,
			"memory: invalid input: the tenant is longer than 256 bytes"},
		"an entry of nobody": {func() error { _, err := h.Reader("").Get(ctx, "m", "mem_x"); return err }, memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"a search for nobody": {func() error { _, err := h.Search(ctx, "", "m", memory.Search{}); return err }, memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"a trace for nobody": {func() error { _, err := h.Lineage(ctx, "", "m", "mem_x"); return err }, memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"the refs of nobody": {func() error {
			for _, err := range h.Refs(ctx, "") {
				return err
			}
			return nil
		}, memory.ErrValidation, "memory: invalid input: the tenant is empty: take it from the caller's authentication"},
		"forgetting nobody": {func() error { _, err := h.Forget(ctx, "acme", ""); return err }, memory.ErrValidation,
			"memory: invalid input: a subject is empty"},
		"forgetting over a small store": {func() error { _, err := small.Forget(ctx, "acme", "tom"); return err }, memory.ErrNotProvided,
			"memory: not provided: forgetting needs a store that is a driver.Transactor"},
		"forgetting by one who looks": {func() error { _, err := looking.Forget(ctx, "acme", "tom"); return err }, memory.ErrNotProvided,
			"memory: not provided: the bank, or its store, is read-only: change memory by another bank"},
		"a write by one who looks": {func() error { _, err := looking.job("acme").Put(ctx, "m", memory.Draft{Content: "x"}); return err }, memory.ErrNotProvided,
			"memory: not provided: the bank, or its store, is read-only: change memory by another bank"},
		"purging a small store": {func() error { _, err := small.Purge(ctx, "acme"); return err }, memory.ErrNotProvided,
			"memory: not provided: purging needs a store that is driver.Versioned"},
		"what is due in a small store": {func() error { _, err := small.Engines().Due(ctx, "k", 1); return err }, memory.ErrNotProvided,
			"memory: not provided: what is due needs a store that is a driver.Scheduler"},
		"a token of a small store": {func() error { _, err := small.AsOf(ctx, "acme", "t"); return err }, memory.ErrNotProvided,
			"memory: not provided: AsOf needs a store that is driver.Versioned"},
		"content by a swap": {func() error {
			_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{Scope: memory.Scope{Ref: "m"}, Class: driver.HostText, Kind: "k", Key: "k"}})
			return err
		}, memory.ErrValidation,
			"memory: invalid input: Swap takes documents of the class Machinery only: write others by Job.Rewrite"},
	})
}

func TestM2_MistakesWithADraftAreNamed(t *testing.T) {
	h := newHost(t)
	job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: newVault("k", secret)})
	require.NoError(t, err)
	write := func(ref string, d memory.Draft) func() error {
		return func() error { _, err := job.Put(ctx, ref, d); return err }
	}
	x := func(d memory.Draft) func() error { d.Content = "x"; return write("m", d) }
	now := h.clock.Now()
	check(t, map[string]mistake{
		"no ref": {write("", memory.Draft{Content: "x"}), memory.ErrValidation,
			"memory: invalid input: the memoryRef is empty"},
		"a path": {write("a/../b", memory.Draft{Content: "x"}), memory.ErrValidation,
			`memory: invalid input: the memoryRef has ".."`},
		"a long ref": {write(strings.Repeat("ü", 257), memory.Draft{Content: "x"}), memory.ErrValidation,
			"memory: invalid input: the memoryRef is longer than 256 characters"},
		"a ref that is a secret": {write(secret, memory.Draft{Content: "x"}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the memoryRef holds a secret: an identifier is stored as it is"},
		"no text": {write("m", memory.Draft{Content: "\xff"}), memory.ErrValidation,
			"memory: invalid input: a text, such as Draft.Content or a tag, is not UTF-8 or has U+0000"},
		"too much text": {write("m", memory.Draft{Content: strings.Repeat("x", 65537)}), memory.ErrValidation,
			"memory: invalid input: Draft.Content has more than 65536 bytes once redacted: see Config.MaxEntryBytes"},
		"a life that is over": {x(memory.Draft{ExpiresAt: now}), memory.ErrValidation,
			"memory: invalid input: Draft.ExpiresAt, or the end of Draft.TTL, is not in the future of the bank's clock"},
		"a life below zero": {x(memory.Draft{TTL: -time.Second}), memory.ErrValidation,
			"memory: invalid input: Draft.TTL is below zero: 0 is none"},
		"two lives": {x(memory.Draft{TTL: time.Second, ExpiresAt: now.Add(time.Second)}), memory.ErrValidation,
			"memory: invalid input: Draft has both TTL and ExpiresAt: set one of them"},
		"the future": {x(memory.Draft{CreatedAt: now.Add(time.Hour)}), memory.ErrValidation,
			"memory: invalid input: Draft.CreatedAt lies in the future"},
		"a run's past": {func() error {
			_, err := h.run("r", "acme").Put(ctx, "m", memory.Draft{Content: "x", CreatedAt: now})
			return err
		}, memory.ErrValidation, "memory: invalid input: Draft.CreatedAt is set, and a run cannot backdate an entry: use a Job"},
		"a long tag": {x(memory.Draft{Tags: []string{strings.Repeat("t", 257)}}), memory.ErrValidation,
			"memory: invalid input: a tag is longer than 256 characters once redacted"},
		"a tag of the bank": {x(memory.Draft{Tags: []string{"archive:1"}}), memory.ErrValidation,
			"memory: invalid input: a tag begins with compacted-from: or archive:, which only the bank writes"},
		"many tags": {x(memory.Draft{Tags: strings.Split(strings.Repeat("t,", 257), ",")}), memory.ErrValidation,
			"memory: invalid input: tags and subjects are more than 256 or have more than 16384 bytes together"},
		"no subject": {x(memory.Draft{Subjects: []string{""}}), memory.ErrValidation,
			"memory: invalid input: a subject is empty"},
		"a secret subject": {x(memory.Draft{Subjects: []string{secret}}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: a subject holds a secret: an identifier is stored as it is"},
		"a secret node": {x(memory.Draft{NodeID: secret}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: Draft.NodeID holds a secret: an identifier is stored as it is"},
		"an agent of two lines": {x(memory.Draft{AgentID: "a\nb"}), memory.ErrValidation,
			"memory: invalid input: Draft.AgentID is not UTF-8 or has control characters"},
		"a long key": {x(memory.Draft{Key: strings.Repeat("k", 513)}), memory.ErrValidation,
			"memory: invalid input: Draft.Key is longer than 512 bytes"},
		"another's ref": {func() error {
			other := newHost(t, func(c *memory.Config) {
				c.Resolver = func(context.Context, string) (string, error) { return "globex", nil }
			})
			_, err := other.job("acme").Put(ctx, "m", memory.Draft{Content: "x"})
			return err
		}, memory.ErrForbidden, "memory: not allowed: the memoryRef is not the tenant's"},
	})
}

// A caller that lists or recalls is told which part of Config is missing.
func TestM2_MissingPartsAreNamed(t *testing.T) {
	h := newHost(t)
	byWords := newHost(t, func(c *memory.Config) {
		c.Ranker = rankerFunc(func(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) { return nil, nil })
	})
	silent := newHost(t, func(c *memory.Config) { c.Sink, c.WriteEvents = nil, false })
	list := func(o memory.ListOptions) func() error {
		return func() error { _, err := h.Reader("acme").List(ctx, "m", o); return err }
	}
	check(t, map[string]mistake{
		"no ranker": {func() error {
			_, err := h.Search(ctx, "acme", "m", memory.Search{Text: "x", Rank: "lexical"})
			return err
		}, memory.ErrNotProvided,
			"memory: not provided: Search.Rank needs Config.Ranker, such as recall.New, which this bank has not"},
		"no counter of a search": {func() error {
			_, err := h.Search(ctx, "acme", "m", memory.Search{TokenBudget: 1})
			return err
		}, memory.ErrNotProvided,
			"memory: not provided: Search.TokenBudget needs Config.TokenCounter, which this bank has not"},
		"no model": {func() error {
			_, err := byWords.Search(ctx, "acme", "m", memory.Search{Text: "x", Rank: "semantic"})
			return err
		}, memory.ErrNotProvided,
			`memory: not provided: Search.Rank is "semantic", and Config.Ranker has no model: make it with an Embedder`},
		"no such rank": {func() error {
			_, err := byWords.Search(ctx, "acme", "m", memory.Search{Text: "x", Rank: "best"})
			return err
		}, memory.ErrValidation,
			`memory: invalid input: Search.Rank is neither "lexical" nor "semantic" nor empty`},
		"no ranker by meaning": {list(memory.ListOptions{Rank: "relevance", Query: "x"}), memory.ErrNotProvided,
			"memory: not provided: a list by relevance needs Config.Ranker with a model, such as recall.New with an Embedder, which this bank has not"},
		"no counter": {list(memory.ListOptions{TokenBudget: 1}), memory.ErrNotProvided,
			"memory: not provided: ListOptions.TokenBudget needs Config.TokenCounter, which this bank has not"},
		"no sink": {func() error {
			return silent.run("r", "acme").Emit(ctx, events.Record{Payload: events.MemoryWritten{MemoryRef: "m", MemoryID: "mem_x"}})
		}, memory.ErrNotProvided,
			"memory: not provided: an event of the host needs Config.Sink or Config.KeepEvents, which this bank has not"},
		"no payload": {func() error { return h.run("r", "acme").Emit(ctx, events.Record{}) }, memory.ErrValidation,
			"memory: invalid input: an event has no payload: set Record.Payload"},
		"a payload without JSON": {func() error {
			return h.run("r", "acme").Emit(ctx, events.Record{Payload: events.HostPayload{Type: "run.completed"}})
		}, memory.ErrValidation,
			"memory: invalid input: an event breaks its schema: /payload is not JSON in UTF-8"},
		"a payload whose type is a secret": {func() error {
			return h.run("r", "acme").Emit(ctx, events.Record{Payload: events.HostPayload{Type: secret, JSON: []byte(secret)}})
		}, memory.ErrValidation,
			"memory: invalid input: an event breaks its schema: /type is not a host's event type, such as run.completed"},
		"another's event": {func() error {
			return h.run("r", "acme").Emit(ctx, events.Record{RunID: "s", Payload: events.MemoryWritten{MemoryRef: "m", MemoryID: "mem_x"}})
		}, memory.ErrValidation,
			"memory: invalid input: an event names another run: leave Record.RunID empty"},
		"a limit below zero": {list(memory.ListOptions{Limit: -1}), memory.ErrValidation,
			"memory: invalid input: Limit is below zero: 0 means the default"},
		"a budget below zero": {list(memory.ListOptions{TokenBudget: -1}), memory.ErrValidation,
			"memory: invalid input: ListOptions.TokenBudget is below zero: 0 is no budget"},
		"a rank of its own": {list(memory.ListOptions{Rank: "best"}), memory.ErrValidation,
			`memory: invalid input: ListOptions.Rank is neither "recency" nor "relevance"`},
		"a tag that none can have": {list(memory.ListOptions{Tag: "\x00"}), memory.ErrValidation,
			"memory: invalid input: ListOptions.Tag is longer than 256 characters, not UTF-8 or has U+0000"},
		"relevance to nothing": {list(memory.ListOptions{Rank: "relevance", Query: " "}), memory.ErrValidation,
			"memory: invalid input: ListOptions.Query is empty, not UTF-8 or has U+0000, and a list by relevance answers it"},
	})
}

// When a part of the host fails the error names the part, and not the store.
func TestM2_PartsThatFailAreNamed(t *testing.T) {
	down := errors.New("dial " + secret + ": refused")
	h := newHost(t, func(c *memory.Config) {
		c.Sink = sinkFunc(func(context.Context, ...events.Record) error { return down })
		c.Ranker = rankerFunc(func(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) { return nil, down })
	})
	broken := newSpy()
	broken.fail = func(string) error { return down }
	put(t, h.job("acme"), "m", "x")
	check(t, map[string]mistake{
		"the sink": {func() error { _, err := h.Relay(ctx); return err }, memory.ErrInternal,
			"memory: internal failure: the sink failed"},
		"the ranker": {func() error { _, err := h.Search(ctx, "acme", "m", memory.Search{Text: "x"}); return err }, memory.ErrInternal,
			"memory: internal failure: the ranker failed"},
		"the store": {func() error {
			_, err := newHostOn(t, broken).Reader("acme").List(ctx, "m", memory.ListOptions{})
			return err
		}, memory.ErrInternal, "memory: internal failure: the store failed"},
	})
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		defer close(gate)
		h := newHost(t, func(c *memory.Config) {
			c.Sink = sinkFunc(func(context.Context, ...events.Record) error { <-gate; return nil })
			c.Ranker = rankerFunc(func(context.Context, *memory.View, memory.Search) ([]memory.Hit, error) { <-gate; return nil, nil })
		})
		put(t, h.job("acme"), "m", "x")
		_, err := h.Search(ctx, "acme", "m", memory.Search{Text: "x"})
		require.EqualError(t, err, "memory: internal failure: the ranker did not answer in time")
		_, err = h.Relay(ctx)
		require.ErrorIs(t, err, memory.ErrInternal)
		require.ErrorContains(t, err, "the sink")
	})
}

// A redactor that does not redact says why.
func TestR6_ARedactorThatRefusesSaysWhy(t *testing.T) {
	h := newHost(t)
	open := func(r memory.Redactor) func() error {
		return func() error {
			_, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: r})
			return err
		}
	}
	closed := redact.New(redact.Config{})
	require.NoError(t, closed.Close())
	unkeepable := redact.New(redact.Config{})
	require.Error(t, unkeepable.Register("k", []byte("REDACTED")))
	strict := redact.New(redact.Config{Policy: redact.Reject})
	require.NoError(t, strict.Register("k", []byte(secret)))
	parent, err := h.Start(ctx, memory.RunConfig{ID: "parent", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	child, err := parent.Child("child")
	require.NoError(t, err)
	grandchild, err := child.Child("grandchild")
	require.NoError(t, err)
	require.NoError(t, parent.End(ctx))
	check(t, map[string]mistake{
		"a closed registry": {open(closed), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the secret registry is closed: give each run a registry of its own, and write before the run ends"},
		"a zero registry": {open(new(redact.SecretRegistry)), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the secret registry is nil or a zero value: make it by redact.New"},
		"a nil registry": {open((*redact.SecretRegistry)(nil)), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the secret registry is nil or a zero value: make it by redact.New"},
		"a secret like a marker": {open(unkeepable), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: a secret occurs in marker text, so that no text is free of it: choose another id, or use RegisterOptional"},
		"a registry that rejects": {func() error {
			job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: strict})
			require.NoError(t, err)
			_, err = job.Put(ctx, "m", memory.Draft{Content: "the key is " + secret})
			return err
		}, memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the text holds a secret, and the registry's policy is Reject"},
		"a host's own redactor": {func() error {
			vault := newVault()
			vault.closed = true
			_, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: vault})
			return err
		}, memory.ErrSecretLeakage, "memory: refused to protect secrets: the redactor failed"},
		"a child after its parent": {func() error { _, err := child.Put(ctx, "m", memory.Draft{Content: "x"}); return err }, memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the run that this child belongs to has ended, and its redactor is closed: end children before their parent"},
		"a child's child": {func() error { _, err := grandchild.Put(ctx, "m", memory.Draft{Content: "x"}); return err }, memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the run that this child belongs to has ended, and its redactor is closed: end children before their parent"},
	})
}

// A host that names no pause does not spin.
func TestM2_KeepWithoutAPauseRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, pause := range []time.Duration{0, -time.Second} {
			h := newHost(t)
			ending, end := context.WithTimeout(ctx, 10*memory.DefaultPause-1)
			rounds := 0
			register(t, h.Bank, "counter", func(context.Context) error { rounds++; return nil }, nil)
			err := h.Keep(ending, pause)
			end()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 10, rounds)
		}
	})
}

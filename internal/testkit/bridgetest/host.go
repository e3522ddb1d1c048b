package bridgetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// Ref is the memoryRef of all sessions, and Secret what [Secrets] takes out as [REDACTED:key].
const (
	Ref    = "notes"
	Secret = "sk-very-secret-value"
)

// Host is a bank with a ranker, which keeps the questions that it is asked, and a clock.
type Host struct {
	*memory.Bank
	t     testing.TB
	mu    sync.Mutex
	now   time.Time
	asked []memory.Search
}

// recording tells the host of each question.
type recording struct {
	*recall.Ranker
	h *Host
}

func (r recording) Rank(ctx context.Context, v *memory.View, q memory.Search) ([]memory.Hit, error) {
	r.h.mu.Lock()
	r.h.asked = append(r.h.asked, q)
	r.h.mu.Unlock()
	return r.Ranker.Rank(ctx, v, q)
}

// NewHost returns a host over a store.
func NewHost(t testing.TB, store driver.Adapter) *Host {
	t.Helper()
	h := &Host{t: t, now: time.UnixMilli(1_790_000_000_000).UTC()}
	ranker, err := recall.New(recall.Config{})
	require.NoError(h.t, err)
	h.Bank, err = memory.New(store, memory.Config{Ranker: recording{ranker, h}, Now: func() time.Time {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.now
	}})
	require.NoError(h.t, err)
	return h
}

// Advance lets time go by.
func (h *Host) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Secrets returns a registry with Secret.
func Secrets(t testing.TB) *redact.SecretRegistry {
	t.Helper()
	r := redact.New(redact.Config{})
	require.NoError(t, r.Register("key", []byte(Secret)))
	return r
}

// Put writes an entry past the bridge.
func (h *Host) Put(tenant string, d memory.Draft) (e memory.Entry) {
	h.t.Helper()
	h.pass(tenant, func(j *memory.Job) (err error) {
		e, err = j.Put(context.Background(), Ref, d)
		return err
	})
	return e
}

func (h *Host) pass(tenant string, f func(*memory.Job) error) {
	h.t.Helper()
	require.NoError(h.t, h.Pass(context.Background(), memory.JobConfig{ID: "host", Tenant: tenant, Redactor: redact.New(redact.Config{})}, f))
}

// Entries returns a tenant's live entries, newest first.
func (h *Host) Entries(tenant string) []memory.Entry {
	h.t.Helper()
	entries, err := h.Reader(tenant).List(context.Background(), Ref, memory.ListOptions{Limit: memory.MaxListLimit})
	require.NoError(h.t, err)
	return entries
}

// Texts returns what they say.
func (h *Host) Texts(tenant string) (texts []string) {
	h.t.Helper()
	for _, e := range h.Entries(tenant) {
		texts = append(texts, e.Content)
	}
	return texts
}

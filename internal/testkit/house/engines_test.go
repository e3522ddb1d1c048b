package house_test

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// embedder and queue are parts of a host, told apart by their names.
type embedder struct{ model string }

func (e embedder) Model() string { return e.model }

func (e embedder) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

type queue struct{ name string }

func (q *queue) Enqueue(context.Context, commitment.Firing) (string, error) { return q.name, nil }

func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}

func attach(model string) func(*memory.Bank) error {
	return func(b *memory.Bank) error {
		r, err := recall.New(recall.Config{Embedder: embedder{model}, Redactor: noSecrets})
		if err != nil {
			return err
		}
		return r.Attach(b)
	}
}

func engine(cfg commitment.Config) func(*memory.Bank) error {
	return func(b *memory.Bank) error {
		cfg := cfg
		cfg.Redactor = noSecrets
		_, err := commitment.New(b, cfg)
		return err
	}
}

var mail = &queue{"mail"}

// engines are the packages whose engines add to the upkeep of a bank: one that is made first, the
// same again, and others, none of which may be accepted and then never called.
var engines = map[string]struct {
	first  func(*memory.Bank) error
	again  []func(*memory.Bank) error
	others []func(*memory.Bank) error
}{
	"recall": {
		first:  attach("small"),
		others: []func(*memory.Bank) error{attach("large"), attach("small")}, // a ranker has caches of its own
	},
	"commitment": {
		first: engine(commitment.Config{Enqueuer: mail}),
		again: []func(*memory.Bank) error{
			engine(commitment.Config{Enqueuer: mail}),
			engine(commitment.Config{Enqueuer: mail, Lease: commitment.DefaultLease, Inferrer: commitment.Tagged{}}),
		},
		others: []func(*memory.Bank) error{
			engine(commitment.Config{}), engine(commitment.Config{Enqueuer: &queue{"mail"}}),
			engine(commitment.Config{Enqueuer: mail, Lease: time.Hour}), engine(commitment.Config{Enqueuer: mail, Missed: commitment.Skip}),
			engine(commitment.Config{Enqueuer: mail, Predicate: func(string, string) bool { return true }}),
		},
	},
}

// A second engine of a kind is the first, or it is refused: the loop of the bank calls the first only.
func TestASecondEngineIsTheFirstOrRefused(t *testing.T) {
	for kind, e := range engines {
		bank, err := memory.New(inmem.New(), memory.Config{})
		require.NoError(t, err)
		require.NoError(t, e.first(bank), kind)
		for i, again := range e.again {
			require.NoError(t, again(bank), "%s again, %d", kind, i)
		}
		for i, other := range e.others {
			require.ErrorIs(t, other(bank), memory.ErrConflict, "another %s, %d", kind, i)
		}
	}
}

// Every package that registers an engine is among those that are tried above.
func TestEveryEngineThatRegistersIsTried(t *testing.T) {
	registering := map[string]bool{}
	tree := os.DirFS(root)
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if bytes.Contains(text, []byte("Engines().Register(")) {
			registering[path.Dir(name)] = true
		}
		return err
	}))
	require.Equal(t, slices.Sorted(maps.Keys(engines)), slices.Sorted(maps.Keys(registering)))
}

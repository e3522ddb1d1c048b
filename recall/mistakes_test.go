package recall_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// What a host's author does wrong is named, and a part of theirs that fails.
func TestM2_MistakesAreNamed(t *testing.T) {
	open := func(cfg recall.Config) error { _, err := recall.New(cfg); return err }
	ask := func(cfg recall.Config, q memory.Search) error {
		q.Text = "x"
		_, err := newWorld(t, inmem.New(), newRanker(cfg)).bank.Search(bg, tenant, ref, q)
		return err
	}
	down := errors.New("dial canary: refused")
	failing := &senses{model: "senses/1", spoil: func([][]float32) ([][]float32, error) { return nil, down }}
	closed := redact.New(redact.Config{})
	require.NoError(t, closed.Close())
	with := func(r memory.Redactor, err error) func(context.Context, string) (memory.Redactor, error) {
		return func(context.Context, string) (memory.Redactor, error) { return r, err }
	}
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"a model without a redactor": {open(recall.Config{Embedder: failing}), memory.ErrValidation,
			"recall: Config.Embedder needs Config.Redactor, since the model sees redacted text only"},
		"a model without a name": {open(recall.Config{Embedder: scripted{}, Redactor: noSecrets}), memory.ErrValidation,
			"recall: Config.Embedder names no model, or has none"},
		"an expander without a redactor": {open(recall.Config{Expander: speller{"x", nil}}), memory.ErrValidation,
			"recall: Config.Expander needs Config.Redactor, since the model sees redacted text only"},
		"an expander without a name": {open(recall.Config{Expander: speller{}, Redactor: noSecrets}), memory.ErrValidation,
			"recall: Config.Expander names no model, or has none"},
		"a bound below zero": {open(recall.Config{MaxBytes: -1}), memory.ErrValidation,
			"recall: Config.MaxBytes is below zero: 0 means the default"},
		"a weight above one": {open(recall.Config{Weight: 1.5}), memory.ErrValidation,
			"recall: Config.Weight is not between 0 and 1: 0 lets the ranker set it"},
		"a weight that is no number": {open(recall.Config{Weight: math.NaN()}), memory.ErrValidation,
			"recall: Config.Weight is not between 0 and 1: 0 lets the ranker set it"},
		"meaning without a model": {ask(recall.Config{}, memory.Search{Rank: "semantic"}), memory.ErrNotProvided,
			`memory: not provided: Search.Rank is "semantic", and Config.Ranker has no model: make it with an Embedder`},
		"a model that fails": {ask(recall.Config{Embedder: failing, Redactor: noSecrets}, memory.Search{}), memory.ErrInternal,
			"memory: internal failure: the embedder failed"},
		"no registry": {ask(recall.Config{Embedder: failing, Redactor: with(nil, nil)}, memory.Search{}), memory.ErrInternal,
			"memory: internal failure: Config.Redactor returned nil: give an empty registry, redact.New, if there are no secrets"},
		"a source of registries that fails": {ask(recall.Config{Embedder: failing, Redactor: with(nil, down)}, memory.Search{}), memory.ErrInternal,
			"memory: internal failure: the source of redactors failed"},
		"a closed registry": {ask(recall.Config{Embedder: failing, Redactor: with(closed, nil)}, memory.Search{}), memory.ErrSecretLeakage,
			"memory: refused to protect secrets: the secret registry is closed: give each run a registry of its own, and write before the run ends"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

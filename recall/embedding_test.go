package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// allergic is a model that fails at one text.
type allergic struct{ hashed }

func (a allergic) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if slices.Contains(texts, "poison") {
		return nil, errors.New("refused")
	}
	return a.hashed.Embed(ctx, texts)
}

// A round embeds so much and no more, and the next one goes on behind it; a text at which the
// model fails holds up its own ref only, and a tenant whose secrets cannot be opened itself.
func TestAPassIsBoundedAndFair(t *testing.T) {
	ctx := context.Background()
	secrets := func(_ context.Context, tenant string) (memory.Redactor, error) {
		if tenant == "locked" {
			return nil, errors.New("canary: the vault is closed")
		}
		return none{}, nil
	}
	r := made(Config{Embedder: allergic{hashed{8}}, Redactor: secrets})
	b, err := memory.New(inmem.New(), memory.Config{Ranker: r})
	require.NoError(t, err)
	put := func(tenant, ref string, texts ...string) {
		job, err := b.Background(memory.JobConfig{ID: "p", Tenant: tenant, Redactor: none{}})
		require.NoError(t, err)
		for _, text := range texts {
			_, err := job.Put(ctx, ref, memory.Draft{Content: text})
			require.NoError(t, err)
		}
	}
	embedded := func(tenant, ref string) (n int) {
		v, _, err := b.Engines().View(ctx, tenant, ref)
		require.NoError(t, err)
		for _, err := range v.Documents(ctx, driver.DocumentQuery{Kind: vectorKind + mark("hashed"), Bare: true}) {
			require.NoError(t, err)
			n++
		}
		return n
	}
	var many []string
	for i := range roundVectors + 100 {
		many = append(many, fmt.Sprint("note ", i))
	}
	put("acme", "m", many...)
	put("acme", "n", "poison", "tea")
	put("acme", "o", "tea")
	put("locked", "m", "tea")
	put("zeta", "m", "tea", "")
	pass := func(ctx context.Context) error { _, err := b.Maintain(ctx); return err }
	require.NoError(t, pass(ctx))
	require.Equal(t, roundVectors, embedded("acme", "m"))
	err = pass(ctx)
	require.ErrorIs(t, err, memory.ErrInternal, "the model has failed")
	require.Equal(t, [2]int{len(many), 0}, [2]int{embedded("acme", "m"), embedded("acme", "n")})
	require.Zero(t, embedded("acme", "o"))
	err = pass(ctx)
	require.ErrorIs(t, err, memory.ErrInternal, "the vault is closed")
	require.NotContains(t, err.Error(), "canary")
	require.Equal(t, [2]int{1, 1}, [2]int{embedded("acme", "o"), embedded("zeta", "m")}, "an empty text has no vector")
	require.Error(t, pass(ctx))
	require.Zero(t, embedded("acme", "n"))

	// What has no vector cannot keep the pass from the others.
	put("acme", "a", make([]string, roundVectors)...)
	require.Error(t, pass(ctx))
	put("acme", "o", "more tea")
	require.Error(t, pass(ctx))
	require.Error(t, pass(ctx))
	require.Equal(t, [2]int{0, 2}, [2]int{embedded("acme", "a"), embedded("acme", "o")})

	ended, end := context.WithCancel(ctx)
	end()
	require.ErrorIs(t, pass(ended), context.Canceled)
	none, err := memory.New(inmem.New(), memory.Config{Ranker: r})
	require.NoError(t, err)
	_, err = none.Maintain(ctx)
	require.NoError(t, err, "there is nothing to embed")
}

package adaptertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// A caller tries again what may or may not have happened. That the answer is lost does not hurt
// one whose puts say the same.
func ExampleInject() {
	ctx := context.Background()
	lost := errors.New("the connection was closed")
	store := adaptertest.Inject(inmem.New(), adaptertest.At(1, adaptertest.LoseAnswer(lost), "Put"))

	scope := driver.Scope{Tenant: "acme", Ref: "support"}
	entry := driver.Entry{ID: "e1", Content: "Lena prefers e-mail.", CreatedAt: time.UnixMilli(1)}
	fmt.Println(store.Put(ctx, scope, entry))
	fmt.Println(store.Put(ctx, scope, entry))
	entries, err := store.List(ctx, scope, driver.Query{})
	fmt.Println(len(entries), err)
	// Output:
	// the connection was closed
	// <nil>
	// 1 <nil>
}

func TestInject(t *testing.T) {
	ctx, boom := t.Context(), errors.New("boom")
	scope := driver.Scope{Tenant: "acme", Ref: "support"}
	put := func(store driver.Adapter, id string) error {
		return store.Put(ctx, scope, driver.Entry{ID: id, CreatedAt: time.UnixMilli(1)})
	}
	held := func(store driver.Adapter) (ids []string) {
		entries, err := store.List(ctx, scope, driver.Query{})
		require.NoError(t, err)
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return ids
	}
	t.Run("fail", func(t *testing.T) {
		store := adaptertest.Inject(inmem.New(), adaptertest.At(2, adaptertest.Fail(boom)))
		require.NoError(t, put(store, "a"))
		require.ErrorIs(t, put(store, "b"), boom)
		require.NoError(t, put(store, "c"))
		require.Equal(t, []string{"c", "a"}, held(store))
	})
	t.Run("from", func(t *testing.T) {
		store := adaptertest.Inject(inmem.New(), adaptertest.From(2, adaptertest.Fail(boom), "Put"))
		require.NoError(t, put(store, "a"))
		require.ErrorIs(t, put(store, "b"), boom)
		require.ErrorIs(t, put(store, "c"), boom)
		require.Equal(t, []string{"a"}, held(store))
	})
	t.Run("cancel", func(t *testing.T) {
		store := adaptertest.Inject(inmem.New(), adaptertest.At(1, adaptertest.Cancel()))
		require.ErrorIs(t, put(store, "a"), context.Canceled)
		require.Empty(t, held(store))
	})
	t.Run("delay", func(t *testing.T) {
		var seen []string
		inner := inmem.New()
		store := adaptertest.Inject(inner, adaptertest.At(2, adaptertest.Delay(func(context.Context) { seen = held(inner) }), "Put"))
		require.NoError(t, put(store, "a"))
		require.NoError(t, put(store, "b"))
		require.Equal(t, []string{"a"}, seen)
		require.Equal(t, []string{"b", "a"}, held(store))
	})
	t.Run("panic", func(t *testing.T) {
		store := adaptertest.Inject(inmem.New(), adaptertest.At(1, adaptertest.Panic("boom")))
		require.PanicsWithValue(t, "boom", func() { _ = put(store, "a") })
		require.Empty(t, held(store))
	})
	t.Run("loop", func(t *testing.T) {
		store := adaptertest.Inject(inmem.New(), adaptertest.At(1, adaptertest.LoseAnswer(boom), "History"))
		require.NoError(t, put(store, "a"))
		tx, ok := driver.As[driver.Transactor](store)
		require.True(t, ok)
		var ids []string
		var failed error
		for rec, err := range tx.History(ctx, scope.Tenant, driver.HistoryQuery{}) {
			if failed = err; err == nil {
				ids = append(ids, rec.Entry.ID)
			}
		}
		require.Equal(t, []string{"a"}, ids)
		require.ErrorIs(t, failed, boom)
	})
	t.Run("offers", func(t *testing.T) {
		_, ok := driver.As[driver.Versioned](adaptertest.Inject(inmem.New()))
		require.True(t, ok)
		plain := struct{ driver.Adapter }{inmem.New()}
		_, ok = driver.As[driver.Transactor](adaptertest.Inject(plain, adaptertest.Fail(boom)))
		require.False(t, ok)
	})
}

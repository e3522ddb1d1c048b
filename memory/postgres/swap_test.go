package postgres

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// Of swaps that race, of one document, of two, and of one beside an entry, every one that
// succeeded has counted, and no other.
func TestSwap_NoLostUpdates(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	read := func(key string) (d driver.Document) {
		d = lease(key, 0).Document
		for found, err := range st.Documents(ctx, driver.DocumentQuery{Tenant: home.Tenant, Kind: "lease", Key: key}) {
			require.NoError(t, err)
			d = found
		}
		return d
	}
	next := func(key string) driver.DocumentSwap {
		d := read(key)
		n, _ := strconv.Atoi(string(d.Value))
		d.Value = strconv.AppendInt(nil, int64(n+1), 10)
		return driver.DocumentSwap{Document: d}
	}
	var counted [2]atomic.Int64
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			for i := range 60 {
				m := driver.Mutation{At: now}
				switch worker % 3 {
				case 0:
					m.Documents = []driver.DocumentSwap{next("a")}
				case 1: // the other way round, which must not be a deadlock
					m.Documents = []driver.DocumentSwap{next("b"), next("a")}
				case 2:
					m.Documents = []driver.DocumentSwap{next("a"), next("b")}
					m.Put = []driver.Placed{{Scope: home, Entry: entry(strconv.Itoa(worker*1000 + i))}}
				}
				done, err := st.Apply(ctx, home.Tenant, m)
				if errors.Is(err, driver.ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err, errors.Unwrap(err))
					return
				}
				for k, x := range m.Documents {
					counted[x.Key[0]-'a'].Add(1)
					if done.Revs[k] <= x.Rev {
						t.Error("a revision did not ascend")
					}
				}
			}
		})
	}
	group.Wait()
	for i, key := range []string{"a", "b"} {
		require.Positive(t, counted[i].Load())
		require.Equal(t, strconv.FormatInt(counted[i].Load(), 10), string(read(key).Value))
	}
}

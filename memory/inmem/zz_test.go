package inmem

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func zzStore(n int) (*Store, driver.Scope, time.Time) {
	st := New()
	s := driver.Scope{Tenant: "tenant", Ref: "agent/one"}
	at := time.UnixMilli(1_760_000_000_000).UTC()
	for i := range n {
		e := driver.Entry{ID: fmt.Sprintf("mem_%016d", i), Content: "The customer asked", Tags: nil, CreatedAt: at.Add(time.Duration(i/5) * time.Millisecond), RunID: "run"}
		st.Put(context.Background(), s, e)
	}
	return st, s, at.Add(24 * time.Hour)
}

func BenchmarkIter100(b *testing.B) {
	st, s, at := zzStore(100000)
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for b.Loop() {
		for e, err := range st.Scan(context.Background(), s, driver.Query{Limit: 100, At: at}) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(e.Content)
		}
	}
}

func BenchmarkList100(b *testing.B) {
	st, s, at := zzStore(100000)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		st.List(context.Background(), s, driver.Query{Limit: 100, At: at})
	}
}

func BenchmarkPut(b *testing.B) {
	st, s, at := zzStore(1000000)
	ids := make([]string, 0, 1000000)
	for i := range cap(ids) {
		ids = append(ids, fmt.Sprintf("mem_%016d", i+1000000))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		st.Put(context.Background(), s, driver.Entry{ID: ids[i], Content: "The customer asked", CreatedAt: at.Add(time.Duration(i/5) * time.Millisecond), RunID: "run"})
	}
}

package recall

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
)

// crowd is a ref with 100,000 entries that was asked once, what the k-th says, and how to put
// one.
func crowd() (*memory.Bank, func(k int) string, func(k int)) {
	ctx := context.Background()
	st := inmem.New()
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	note := func(k int) string {
		r := rand.New(rand.NewPCG(uint64(k), 9))
		var words []string
		for range 12 {
			x := int(r.ExpFloat64() * 300)
			words = append(words, fmt.Sprintf("w%c%c%c", 'a'+x%26, 'a'+x/26%26, 'a'+x/676))
		}
		return strings.Join(words, " ") + fmt.Sprintf(" rare%dx", k)
	}
	put := func(k int) {
		st.Put(ctx, memory.Scope{Tenant: "t", Ref: "r"}, memory.Entry{ID: fmt.Sprint("m", k), Content: note(k), CreatedAt: base.Add(time.Duration(k) * time.Millisecond)})
	}
	for k := range 100_000 {
		put(k)
	}
	bank, _ := memory.New(st, memory.Config{Ranker: made(Config{MaxBytes: 1 << 30})})
	bank.Search(ctx, "t", "r", memory.Search{Text: "x"})
	return bank, note, put
}

func BenchmarkQuery(b *testing.B) {
	bank, note, _ := crowd()
	b.ResetTimer()
	for i := range b.N {
		w := strings.Fields(note(i * 7919 % 100000))
		bank.Search(context.Background(), "t", "r", memory.Search{Text: strings.Join([]string{w[0], w[3], w[5], w[8], w[12]}, " "), Limit: 10})
	}
}

// BenchmarkAdd is what the first question after a write costs that finds nothing: to bring the
// entry in.
func BenchmarkAdd(b *testing.B) {
	bank, _, put := crowd()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		put(100_000 + i)
		b.StartTimer()
		bank.Search(context.Background(), "t", "r", memory.Search{Text: "zebra", Limit: 10})
	}
}

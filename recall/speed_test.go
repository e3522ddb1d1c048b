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

func BenchmarkQuery(b *testing.B) {
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
	for k := range 100_000 {
		st.Put(ctx, memory.Scope{Tenant: "t", Ref: "r"}, memory.Entry{ID: fmt.Sprint("m", k), Content: note(k), CreatedAt: base.Add(time.Duration(k) * time.Millisecond)})
	}
	bank, _ := memory.New(st, memory.Config{Ranker: New(Config{MaxBytes: 1 << 30})})
	bank.Recall(ctx, "t", "r", memory.Search{Text: "x"})
	b.ResetTimer()
	for i := range b.N {
		k := i * 7919 % 100000
		w := strings.Fields(note(k))
		bank.Recall(ctx, "t", "r", memory.Search{Text: strings.Join([]string{w[0], w[3], w[5], w[8], w[12]}, " "), Limit: 10})
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// distillRows measures counting tokens and distilling.
//
//	distill/estimate       the estimator against exact counting, on a mix of prose in
//	                       seven languages, code, JSON, logs, hex and base64. Counts
//	                       may differ by a tenth: that is what the estimate gives up.
//	distill/run/n=…        one distillation of n different entries by the default
//	                       summarizer, from the scan to the committed entry
func distillRows() []row {
	mix := sync.OnceValue(calibrationText)
	rows := []row{{"distill/estimate", "tiktoken-go/tokenizer", func() (sides, error) {
		text := mix()
		exact, err := tokenizer.Get(tokenizer.O200kBase)
		if err != nil {
			return sides{}, err
		}
		ours := distill.Estimator{}
		theirs := func() int {
			n, err := exact.Count(text)
			must(err)
			return n
		}
		return sides{
			check: func() error {
				if off := float64(ours.Count(text))/float64(theirs()) - 1; off < -0.1 || off > 0.1 {
					return fmt.Errorf("the estimate is off by %.1f %%", 100*off)
				}
				return nil
			},
			ours:   repeat(func() { Estimated += ours.Count(text) }),
			theirs: repeat(func() { Estimated += theirs() }),
			bytes:  len(text),
		}, nil
	}}}
	for _, n := range []int{1_000, 10_000, 100_000} {
		rows = append(rows, row{fmt.Sprintf("distill/run/n=%d", n), "", func() (sides, error) {
			run, err := distillation(n)
			return sides{ours: repeat(run), items: n}, err
		}})
	}
	return rows
}

// calibrationText is what the estimator was not fitted to: every other block.
func calibrationText() string {
	_, here, _, _ := runtime.Caller(0)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(here), "../distill/testdata/calibration/*.txt"))
	must(err)
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(err)
		for i, block := range strings.Split(string(data), "\n\n") {
			if i%2 == 1 {
				text.WriteString(block + "\n\n")
			}
		}
	}
	return text.String()
}

// distillation returns a function that distills n entries. Each call has another
// budget, so that none finds the answer of an earlier one, and ends the life of the
// entry that it has made, so that the index stays as it is.
func distillation(n int) (func(), error) {
	ctx := context.Background()
	now := storeStart
	store := inmem.New()
	for i := range n {
		must(store.Put(ctx, memory.Scope{Tenant: "tenant", Ref: "ref"}, memory.Entry{
			ID:        fmt.Sprintf("mem_%08d", i),
			Content:   fmt.Sprintf("Customer %d asked for order %d to be delivered before noon. The invoice goes to branch %d.", i, 7*i, i%97),
			Tags:      []string{"delivery", "note"},
			CreatedAt: now.Add(time.Duration(i) * time.Millisecond),
			RunID:     "import",
		}))
	}
	bank, err := memory.New(store, memory.Config{Now: func() time.Time { return now.Add(24 * time.Hour) }})
	if err != nil {
		return nil, err
	}
	passes := 0
	return func() {
		passes++
		runner, err := distill.New(distill.Config{MaxTokenBudget: 100 * n})
		must(err)
		secrets := redact.New(redact.Config{})
		must(secrets.Register("key", []byte("acme-live-7Qm2vT9x")))
		job, err := bank.Background(memory.JobConfig{ID: fmt.Sprint("pass-", passes), Tenant: "tenant", Redactor: secrets})
		must(err)
		res, err := runner.Distill(ctx, job, "ref", distill.Options{TokenBudget: 60*n - passes})
		must(err)
		if res.Sources != n || res.Existing {
			panic("the pass did no work")
		}
		_, err = job.Delete(ctx, "ref", res.Output.ID)
		must(err)
		must(job.End(ctx))
	}, nil
}

// Estimated is where counts go, so that the compiler cannot leave out the work.
var Estimated int

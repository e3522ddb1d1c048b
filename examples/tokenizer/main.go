package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/tiktoken-go/tokenizer"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// exact is a [distill.Tokenizer] that counts as the model does.
type exact struct{ codec tokenizer.Codec }

func (e exact) Name() string { return e.codec.GetName() }

func (e exact) Count(text string) int {
	n, err := e.codec.Count(text)
	if err != nil {
		return len(text) // never too few
	}
	return n
}

func main() {
	budget := flag.Int("budget", 0, "token budget, input and output together")
	flag.Parse()
	if err := run(context.Background(), os.Stdin, os.Stdout, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "tokenizer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer, budget int) error {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	count := exact{codec}
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		return err
	}
	job, err := bank.Background(memory.JobConfig{
		ID: "distill-" + rand.Text(), Tenant: "acme", Redactor: redact.New(redact.Config{}),
	})
	if err != nil {
		return err
	}
	lines, tokens, estimated := bufio.NewScanner(in), 0, 0
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		tokens += count.Count(lines.Text())
		estimated += distill.Estimator{}.Count(lines.Text())
		if _, err := job.Put(ctx, "notes", memory.Draft{Content: lines.Text()}); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	runner, err := distill.New(distill.Config{Tokenizer: count})
	if err != nil {
		return err
	}
	res, err := runner.Distill(ctx, job, "notes", distill.Options{TokenBudget: budget})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, res.Output.Content)
	fmt.Fprintf(out, "\n%d lines, %d tokens by %s (estimated %d). Used %d of %d.\n%s\n",
		res.Sources, tokens, runner.TokenizerName(), estimated, res.TokensUsed, res.Budget, res.Archive)
	return job.End(ctx)
}

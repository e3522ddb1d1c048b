package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/openwop/agentmemory/bench/recall/dataset"
	"github.com/openwop/agentmemory/recall"
)

func main() {
	data := flag.String("data", "testdata/notes.jsonl", "the data set, JSON Lines as package dataset says")
	missed := flag.Bool("missed", false, "list the questions that are not held out and whose evidence is not among the first ten")
	expand := flag.Bool("expand", false, "give the ranker what the data set has of entries in other words; live memory only")
	asJSON := flag.Bool("json", false, "print the scores as JSON, one object a line, for -plots of the module above")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *data, *missed, *asJSON, *expand); err != nil {
		fmt.Fprintln(os.Stderr, "recall:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, file string, missed, asJSON, expand bool) (err error) {
	memories, err := readFile(file)
	if err != nil {
		return err
	}
	var cfg recall.Config
	var others *expander
	if expand {
		others = otherWords(memories)
		cfg = recall.Config{Expander: others, Redactor: noSecrets}
	}
	stores, leftOut, err := openStores(ctx, after(memories), cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStores(ctx, stores)) }()
	m, err := measure(ctx, memories, stores, others)
	if err != nil {
		return err
	}
	if asJSON {
		return m.printJSON(w)
	}
	m.print(w, file, memories)
	if leftOut != "" {
		fmt.Fprintf(w, "\n%s\n", leftOut)
	}
	if missed {
		m.printMissed(w)
	}
	return nil
}

func readFile(name string) ([]*dataset.Memory, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	memories, err := dataset.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, m := range memories {
		if len(m.Entries) == 0 {
			return nil, fmt.Errorf("%s: ref %q has no entries", name, m.Ref)
		}
	}
	return memories, nil
}

// after is an instant after the last entry.
func after(memories []*dataset.Memory) time.Time {
	var last time.Time
	for _, m := range memories {
		for _, e := range m.Entries {
			if e.At.After(last) {
				last = e.At
			}
		}
	}
	return last.Add(24 * time.Hour)
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: calibrate DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	exact, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			n, err := exact.Count(block)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s\t%d\t%d\n", name, i, n)
		}
	}
	return os.WriteFile(filepath.Join(dir, "counts.tsv"), []byte(out.String()), 0o644)
}

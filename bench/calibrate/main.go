// Command calibrate counts, with the exact tokenizer o200k_base, the blocks of text
// that package distill's estimator is calibrated on:
//
//	go run ./calibrate ../distill/testdata/calibration
//
// It writes counts.tsv into that directory: class, number of the block, tokens. Blocks
// are parted by empty lines. The weights are then fitted by
//
//	AGENTMEMORY_CALIBRATE=1 go test -run Calibrate ./distill
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

func main() {
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

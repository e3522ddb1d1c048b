package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
)

//go:embed corpus.jsonl
var corpus []byte

func main() {
	count := 0
	bad, err := readLines(bytes.NewReader(corpus), func(line) error {
		count++
		return nil
	})
	for _, b := range bad {
		fmt.Fprintln(os.Stderr, b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d notes, %d bad lines\n", count, len(bad))
}

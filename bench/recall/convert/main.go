package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/openwop/agentmemory/bench/recall/dataset"
)

func main() {
	locomo := flag.String("locomo", "", "convert this file of LoCoMo (locomo10.json)")
	longMemEval := flag.String("longmemeval", "", "convert this file of LongMemEval (longmemeval_s.json, longmemeval_oracle.json)")
	flag.Parse()
	if err := run(*locomo, *longMemEval); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func run(locomo, longMemEval string) error {
	convert, file := convertLoCoMo, locomo
	if longMemEval != "" {
		convert, file = convertLongMemEval, longMemEval
	}
	if file == "" || locomo != "" && longMemEval != "" || flag.NArg() > 0 {
		return errors.New("give one file, by -locomo or by -longmemeval")
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	out := bufio.NewWriter(os.Stdout)
	left, err := convert(bufio.NewReader(in), dataset.NewWriter(out))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, left)
	return out.Flush()
}

// eachOf calls do with every element of the JSON list that r holds, one after the other: the files
// are large.
func eachOf[T any](r io.Reader, do func(T) error) error {
	list := json.NewDecoder(r)
	if opening, err := list.Token(); err != nil {
		return err
	} else if opening != json.Delim('[') {
		return errors.New("the file is not a JSON list")
	}
	for n := 1; list.More(); n++ {
		var element T
		if err := list.Decode(&element); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
		if err := do(element); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
	_, err := list.Token()
	return err
}

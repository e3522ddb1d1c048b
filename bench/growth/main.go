package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	entries := flag.String("entries", "1000,10000,100000,1000000", "numbers of entries of the ref, ascending")
	tenants := flag.String("tenants", "1,1000,100000", "numbers of tenants, ascending")
	stores := flag.String("store", "memory,sqlite,postgres", "stores")
	file := flag.String("json", "", "write the figures to this `FILE` too")
	picture := flag.String("plot", "", "draw them into this SVG `FILE`")
	flag.Parse()
	if err := run(context.Background(), *entries, *tenants, strings.Split(*stores, ","), *file, *picture); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// figure is what one operation took, as the median of several.
type figure struct {
	Store, Operation string
	Entries, Tenants int
	Nanoseconds      float64 // 0 if it was not measured
}

func run(ctx context.Context, entries, tenants string, stores []string, file, picture string) error {
	sizes, err := ascending(entries)
	if err != nil {
		return fmt.Errorf("-entries: %w", err)
	}
	crowds, err := ascending(tenants)
	if err != nil {
		return fmt.Errorf("-tenants: %w", err)
	}
	var all []figure
	for _, store := range stores {
		var figures []figure
		for _, crowd := range crowds {
			more, err := measureStore(ctx, store, crowd, sizes)
			if err != nil {
				return fmt.Errorf("%s, %d tenants: %w", store, crowd, err)
			}
			figures = append(figures, more...)
		}
		tabulate(os.Stdout, store, figures)
		all = append(all, figures...)
	}
	if file != "" {
		text, err := json.MarshalIndent(all, "", "\t")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	if picture == "" {
		return nil
	}
	return os.WriteFile(picture, []byte(draw(all)), 0o644)
}

func ascending(list string) (numbers []int, err error) {
	for part := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number above 0", part)
		}
		numbers = append(numbers, n)
	}
	if !slices.IsSorted(numbers) {
		return nil, errors.New("the numbers do not ascend")
	}
	return numbers, nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/openwop/agentmemory/events"
)

//go:embed corpus.jsonl
var corpus []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program but for its process: what it reads, says and returns.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stdout)
	in := flags.String("in", "", "read notes from this JSON Lines `FILE` (- for standard input) instead of the bundled ones")
	eventFile := flags.String("events", "", "write the events to this JSON Lines `FILE`")
	if err := flags.Parse(args); err == flag.ErrHelp {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: a file is named by -in", flags.Arg(0))
	}

	notes, name := io.Reader(bytes.NewReader(corpus)), "the bundled notes"
	switch *in {
	case "":
	case "-":
		notes, name = stdin, "standard input"
	default:
		f, err := os.Open(*in)
		if err != nil {
			return err
		}
		defer f.Close()
		notes, name = f, *in
	}

	log := new(events.Log)
	out := bufio.NewWriter(stdout)
	defer out.Flush()
	h, err := newHost(log, log, out)
	if err != nil {
		return err
	}
	if err := h.tell(ctx, notes, name); err != nil || *eventFile == "" {
		return err
	}
	return writeEvents(*eventFile, log.All())
}

// writeEvents writes events down as JSON Lines.
func writeEvents(path string, all []events.RunEvent) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(file)
	for i := range all {
		err = errors.Join(err, enc.Encode(all[i]))
	}
	return errors.Join(err, file.Close())
}

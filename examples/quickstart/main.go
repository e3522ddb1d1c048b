package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", oneLine(err))
		os.Exit(1)
	}
}

// run is the program without its process: what it reads, says and returns.
func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("db", "", "keep memory in this SQLite `FILE`, and leave it there")
	dsn := flags.String("postgres", "", "keep memory in the PostgreSQL database that `DSN` names")
	in := flags.String("in", "", "add the notes of this JSON Lines `FILE` (- for standard input)")
	quiet := flags.Bool("quiet", false, "show the last screen only")
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stdout)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w (-h lists the flags)", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: name a file of notes by -in", flags.Arg(0))
	case *file != "" && *dsn != "":
		return errors.New("give -db or -postgres, not both")
	}
	own, err := ownNotes(*in, stdin)
	if err != nil {
		return err
	}
	s := &story{out: stdout, quiet: *quiet, own: own}
	switch {
	case *dsn != "":
		s.location = inPostgres(*dsn)
	case *file != "":
		s.location = inFile(*file)
	default:
		dir, err := os.MkdirTemp("", "quickstart-")
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
		s.location = inFile(dir + "/memory.db")
		s.location.name += ", which is removed at the end (-db keeps a file)"
	}
	return s.tell(ctx)
}

// oneLine is an error with its cause. A store's error leaves out what the database said, since that
// is for the operator.
func oneLine(err error) string {
	text := err.Error()
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		if !strings.Contains(text, cause.Error()) {
			text += ": " + cause.Error()
			break
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

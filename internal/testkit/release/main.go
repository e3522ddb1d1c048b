package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

var errUsage = errors.New("usage: release check | api | prepare vX.Y.Z | tag [-yes] | reopen")

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	repo, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	yes := false
	if args[0] == "tag" {
		flags.BoolVar(&yes, "yes", false, "check the commit and make the tags")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch wanted := flags.NArg(); {
	case args[0] == "check" && wanted == 0:
		return check(repo, table, out)
	case args[0] == "api" && wanted == 0:
		return api(repo, table, out)
	case args[0] == "prepare" && wanted == 1:
		return prepare(repo, table, flags.Arg(0), out)
	case args[0] == "tag" && wanted == 0:
		return tag(repo, table, yes, out)
	case args[0] == "reopen" && wanted == 0:
		return reopen(repo, table, out)
	}
	return errUsage
}

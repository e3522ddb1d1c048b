package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
)

// program is one call of agentmemory.
type program struct {
	in       io.Reader
	out, err io.Writer
	asks     bool // a person types what is read from in
	rewrites bool // err is a terminal, on which a line can be rewritten
	environ  []string

	db, postgres, tenant string
	json                 bool
}

// command is one of the things that the program does.
type command struct {
	name, args, about string
	run               func(*program, context.Context, *arguments) error
}

var commands = []command{
	{"inspect", "[REF [ID]]", "Shows tenants; of -tenant the refs with counts; of a ref the live entries; of an entry its lineage.", (*program).inspect},
	{"search", "[-limit N] REF QUESTION", "Shows the live entries of a ref that answer a question, best first, with the words that they match.", (*program).search},
	{"export", "[-ref REF | -subject S]", "Writes the live entries of the tenant, of one ref or of one subject as JSON Lines.", (*program).export},
	{"import", "[-secrets FILE] FILE", "Writes the lines of an export into the tenant's memory. The same file again writes nothing twice.", (*program).load},
	{"forget", "[-yes] SUBJECT", "Erases everything about a subject from every ref of the tenant, for good.", (*program).forget},
	{"subject", "SUBJECT", "Shows everything about a subject: entries in any state, documents, commitments.", (*program).subject},
	{"certify", "", "Runs the kit of stores on scratch files beside FILE, or on scratch databases of DSN's server.", (*program).certify},
	{"doctor", "", "Looks for what is wrong with a store, and ends with the status 1 if there is something.", (*program).doctor},
}

// misuse is a command line that makes no sense.
type misuse string

func (m misuse) Error() string { return string(m) }

// advice is an error that says what to do.
type advice string

func (a advice) Error() string { return string(a) }

func main() {
	p := &program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(),
		asks: isatty.IsTerminal(os.Stdin.Fd()), rewrites: isatty.IsTerminal(os.Stderr.Fd()),
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := p.main(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// main does what the command line says and returns the status of the process.
func (p *program) main(ctx context.Context, args []string) int {
	err := p.run(ctx, args)
	switch wrong := misuse(""); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(p.err, "agentmemory: %s; see agentmemory -h\n", oneLine(err))
		return 2
	default:
		fmt.Fprintln(p.err, "agentmemory:", oneLine(err))
		return 1
	}
}

// oneLine is an error without line ends and control characters.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

func (p *program) run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("agentmemory", flag.ContinueOnError)
	flags.StringVar(&p.db, "db", "", "the SQLite `FILE` that holds the memory")
	flags.StringVar(&p.postgres, "postgres", "", "the `DSN` of the PostgreSQL database that holds it")
	flags.StringVar(&p.tenant, "tenant", "", "whose memory it is, by the tenant's `ID`")
	flags.BoolVar(&p.json, "json", false, "print one JSON document, or JSON Lines where entries are listed")
	rest := &arguments{FlagSet: flags}
	usage := func() {
		fmt.Fprintln(p.out, "agentmemory [-db FILE | -postgres DSN] [-tenant ID] [-json] COMMAND")
		p.defaults(flags)
		for _, c := range commands {
			fmt.Fprintf(p.out, "  %s\n    \t%s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
		}
		fmt.Fprintln(p.out, "agentmemory COMMAND -h tells of the flags of a command.")
	}
	if err := rest.parse(args, usage); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return misuse("there is no command")
	}
	for _, c := range commands {
		if c.name != flags.Arg(0) {
			continue
		}
		own := &arguments{FlagSet: flag.NewFlagSet(c.name, flag.ContinueOnError), rest: flags.Args()[1:]}
		own.usage = func() {
			fmt.Fprintf(p.out, "agentmemory [-db FILE | -postgres DSN] [-tenant ID] [-json] %s\n%s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
			p.defaults(own.FlagSet)
		}
		return c.run(p, ctx, own)
	}
	return misuse("there is no such command")
}

func (p *program) defaults(flags *flag.FlagSet) {
	flags.SetOutput(p.out)
	flags.PrintDefaults()
	flags.SetOutput(io.Discard)
}

// arguments are what stands behind a command.
type arguments struct {
	*flag.FlagSet
	rest  []string
	usage func()
}

func (a *arguments) parse(args []string, usage func()) error {
	a.SetOutput(io.Discard)
	a.Usage = func() {}
	err := a.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		usage()
		return err
	}
	if err != nil {
		return misuse(err.Error() + " (-db, -postgres, -tenant and -json stand before the command)")
	}
	return nil
}

// take parses the flags of a command, of which it has between least and most other arguments.
func (a *arguments) take(least, most int) error {
	if err := a.parse(a.rest, a.usage); err != nil {
		return err
	}
	switch n := a.NArg(); {
	case n < least:
		return misuse(a.Name() + " needs an argument more")
	case n > most:
		return misuse(a.Name() + " has an argument too many (flags stand before the others)")
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// program is one call of agentmemory.
type program struct {
	in       io.Reader
	out, err io.Writer
	asks     bool // a person types what is read from in
	rewrites bool // err is a terminal, on which a line can be rewritten
	environ  []string

	db, postgres, mysql string
	tenant              string
	json                bool
	began               bool // a command has its arguments
}

// command is one of the things that the program does.
type command struct {
	name, args  string // those in brackets may be left out
	about, more string
	run         func(context.Context, []string) error
	flags       func(*pflag.FlagSet)
}

// commands are all commands, with their flags.
func (p *program) commands() []command {
	var of exported
	var from, into, secrets string
	var yes, short bool
	var limit int
	return []command{
		{"inspect", "[REF]", "Shows tenants; of a tenant the refs with counts; of a ref the live entries.", "",
			p.onStore(p.inspect), nil},
		{"search", "REF QUESTION", "Shows the live entries of a ref that answer a question, best first, with the words that they match.", "",
			p.onTenant(func(ctx context.Context, at *session, args []string) error {
				return p.search(ctx, at, args[0], args[1], limit)
			}),
			func(f *pflag.FlagSet) { f.IntVar(&limit, "limit", 10, "how many entries at most") }},
		{"why", "ENTRY", "Shows why an entry is there: who wrote it, what it was made of, and what would erase it.",
			"ENTRY is the id of an entry of the tenant, in any state, as inspect prints it. Forgetting a subject of\nan entry erases it with all that was made of it; deleting it deletes what was merged into it.",
			p.onTenant(p.why), nil},
		{"diff", "TOKEN TOKEN", "Shows what changed between two tokens of runs: entries that were added, removed or replaced.",
			"A token is what Run.Token gave a host. An entry is replaced if another one has its place at the second token.",
			p.onTenant(p.diff), nil},
		{"subject", "SUBJECT", "Shows everything about a subject: entries in any state, documents, commitments.", "",
			p.onTenant(p.subject), nil},
		{"export", "", "Writes the live entries of the tenant, of one ref or of one subject as JSON Lines.", "",
			p.onTenant(func(ctx context.Context, at *session, _ []string) error { return p.export(ctx, at, of) }),
			func(f *pflag.FlagSet) {
				f.StringVar(&of.ref, "ref", "", "this `REF` only")
				f.StringVar(&of.subject, "subject", "", "what is about this `SUBJECT` only")
			}},
		{"import", "FILE", "Writes an export, of this program or of another memory, into the tenant's memory.",
			"The same file again writes nothing twice. FILE is read whole before anything is written.\n\n" + aboutFormats(),
			func(ctx context.Context, args []string) error { return p.load(ctx, args[0], from, into, secrets) },
			func(f *pflag.FlagSet) {
				f.StringVar(&from, "from", "agentmemory", "the `FORMAT` of FILE")
				f.StringVar(&into, "ref", "assistant", "the `REF` for what comes from another memory; agentmemory-mcp reads this one")
				f.StringVar(&secrets, "secrets", "", "a JSON `FILE` {\"id\": \"value\"} of what must never be stored, beside variables "+variable+"<ID>")
			}},
		{"forget", "SUBJECT", "Erases everything about a subject from every ref of the tenant, for good.", "",
			p.onTenant(func(ctx context.Context, at *session, args []string) error { return p.forget(ctx, at, args[0], yes) }),
			func(f *pflag.FlagSet) { f.BoolVar(&yes, "yes", false, "do not ask") }},
		{"certify", "", "Runs the kit of stores on scratch files beside FILE, or on scratch databases of DSN's server.",
			"It takes minutes over SQLite and longer over a server, and says which law it is at.",
			func(ctx context.Context, _ []string) error { return p.certify(ctx, short) },
			func(f *pflag.FlagSet) { f.BoolVar(&short, "short", false, "take a sample of what takes long") }},
		{"doctor", "", "Looks for what is wrong with a store, and ends with the status 1 if there is something.", "",
			p.onStore(p.doctor), nil},
		{"version", "", "Shows the version of the program.", "",
			func(context.Context, []string) error {
				_, err := fmt.Fprintln(p.out, "agentmemory", version())
				return err
			}, nil},
	}
}

// root makes the command line.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "agentmemory",
		Short: "Looks after what agents remember, in a SQLite file, PostgreSQL, MariaDB or MySQL.",
		Long:  "Looks after what agents remember, in a SQLite file, PostgreSQL, MariaDB or MySQL, while hosts have it open.",
		Example: `  agentmemory -db memory.db inspect
  agentmemory -db memory.db -tenant acme inspect notes
  agentmemory -db memory.db -tenant acme import -from mem0 memories.json`,
		Version: version(), SilenceErrors: true, SilenceUsage: true, DisableFlagsInUseLine: true,
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("there is no command")
		}
		said := fmt.Sprintf("there is no command %q", args[0])
		if near := root.SuggestionsFor(args[0]); len(near) > 0 {
			said += "; did you mean " + strings.Join(near, " or ") + "?"
		}
		return errors.New(said)
	}
	root.RunE = func(*cobra.Command, []string) error { return nil } // Args lets nothing through
	root.SuggestionsMinimumDistance = 2
	f := root.PersistentFlags()
	f.StringVar(&p.db, "db", "", "the SQLite `FILE` that holds the memory")
	f.StringVar(&p.postgres, "postgres", "", "the `DSN` of the PostgreSQL database that holds it")
	f.StringVar(&p.mysql, "mysql", "", "the `DSN` of the MariaDB or MySQL database that holds it")
	f.StringVar(&p.tenant, "tenant", "", "whose memory it is, by the tenant's `ID`")
	f.BoolVar(&p.json, "json", false, "print one JSON document, or JSON Lines where entries are listed")
	for _, c := range p.commands() {
		made := &cobra.Command{
			Use: strings.TrimSpace(c.name + " " + c.args), Short: c.about, Long: strings.TrimSpace(c.about + "\n\n" + c.more),
			DisableFlagsInUseLine: c.flags == nil,
			Args: func(_ *cobra.Command, given []string) error {
				most := len(strings.Fields(c.args))
				if n := len(given); n > most || n < most-strings.Count(c.args, "[") {
					return fmt.Errorf("%s takes %s and was given %s (%[1]s -h lists its flags)", c.name, cmp.Or(c.args, "nothing"), count(n, "argument", "arguments"))
				}
				return nil
			},
			RunE: func(made *cobra.Command, args []string) error {
				p.began = true
				return c.run(made.Context(), args)
			},
		}
		if c.flags != nil {
			c.flags(made.Flags())
		}
		if made.Flags().Lookup("from") == nil {
			made.ValidArgsFunction = cobra.NoFileCompletions
		} else if err := made.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // there is the flag
		}
		root.AddCommand(made)
	}
	return root
}

// version is that of the module that the program was built from.
func version() string {
	if built, ok := debug.ReadBuildInfo(); ok {
		return built.Main.Version
	}
	return "(unknown)"
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
	root := p.root()
	root.SetArgs(withTwoDashes(root, args))
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	at, err := root.ExecuteContextC(ctx)
	switch wrong := misuse(""); {
	case err == nil:
		return 0
	case !p.began, errors.As(err, &wrong):
		fmt.Fprintf(p.err, "agentmemory: %s; see %s -h\n", oneLine(err), at.CommandPath())
		return 2
	default:
		fmt.Fprintln(p.err, "agentmemory:", oneLine(err))
		return 1
	}
}

// withTwoDashes writes -flag as --flag, as package flag and agentmemory-mcp take both.
func withTwoDashes(root *cobra.Command, args []string) []string {
	long := map[string]bool{"help": true, "version": true}
	for _, c := range append(root.Commands(), root) {
		for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) { long[f.Name] = true })
		}
	}
	written := make([]string, len(args))
	copy(written, args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if name, ok := strings.CutPrefix(arg, "-"); ok {
			if name, _, _ = strings.Cut(name, "="); long[name] {
				written[i] = "-" + arg
			}
		}
	}
	return written
}

// oneLine is an error without line ends and control characters.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are those of the command line, and what a run has made so far.
type options struct {
	dir, test, run        string
	short, sql, all, list bool
	limit                 time.Duration
	every                 uint
	seed                  uint64 // of the draw
	log                   string
	only, excused         map[string]string // by the names of mutants

	work    string // the directory of what is built
	files   []string
	mutants []*mutant
	named   map[string]int  // mutants, by name
	dropped map[string]bool // the names of those that do not compile
}

func main() {
	o := options{dropped: map[string]bool{}}
	flag.StringVar(&o.dir, "C", "../..", "the directory of the module")
	flag.StringVar(&o.run, "run", "^TestInMemory$", "the test that runs the kit")
	flag.BoolVar(&o.short, "short", false, "run the kit with -short")
	flag.BoolVar(&o.sql, "sql", false, "break the SQL text in string literals, and nothing else")
	flag.BoolVar(&o.all, "all", false, "do not stop at the first failing case, so that the log has all that find a mutant")
	flag.DurationVar(&o.limit, "limit", 0, "time of a processor for one mutant, which counts as found when it is over; 0 is six times that of the sound store")
	flag.UintVar(&o.every, "every", 1, "run about one mutant in so many, drawn by -seed, which gives a figure in less time")
	flag.Uint64Var(&o.seed, "seed", 1, "choose which mutants -every draws")
	only := flag.String("only", os.DevNull, "a file with the mutants to run, as an earlier run listed them")
	flag.BoolVar(&o.list, "list", false, "list the mutants that would be run, and run none")
	flag.StringVar(&o.log, "log", os.DevNull, "a file to which what comes of each mutant is added as soon as it is known; the mutants in it are not run again")
	excused := flag.String("equivalent", os.DevNull, "a file with mutants that no case can find, each with a tab and the reason")
	flag.Parse()
	log.SetFlags(0)

	targets := []string{"memory/inmem/*.go", "memory/driver/plan.go", "memory/driver/purgeable.go", "memory/driver/quota.go", "memory/driver/validate.go",
		"memory/driver/limits.go", "memory/driver/entry.go", "memory/driver/mutation.go",
		"memory/driver/document.go", "memory/driver/transactor.go"}
	o.test = "./adaptertest"
	if flag.NArg() > 0 {
		o.test, targets = flag.Arg(0), flag.Args()[1:]
	}
	o.only, o.excused = lines(*only), lines(*excused)
	if err := o.mutate(targets); err != nil {
		log.Fatal(err)
	}
}

// lines reads a file of mutants: what it says of each, behind a tab, by its name.
func lines(file string) map[string]string {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = said
	}
	return all
}

// mutate breaks the targets, and prints the survivors to standard output and the figures to
// standard error.
func (o *options) mutate(targets []string) (err error) {
	if o.work, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(o.work)
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	for _, target := range targets {
		files, _ := filepath.Glob(filepath.Join(o.dir, target))
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				o.files = append(o.files, strings.TrimPrefix(file, o.dir+string(filepath.Separator)))
			}
		}
	}
	if err := o.build(); err != nil {
		return err
	}
	for name := range o.excused {
		if o.named[name] == 0 {
			log.Printf("there is no such mutant: %s", name)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(o.mutants), func(m *mutant) bool { return m.idle || o.dropped[m.name] })
	log.Printf("%d mutants, %d of them are run, drawn by seed %d", len(o.mutants)-len(o.dropped), len(chosen), o.seed)
	if !o.list {
		if err := o.runAll(chosen); err != nil {
			return err
		}
	}
	survivors := 0
	for _, m := range chosen {
		if o.list || m.result == survived {
			survivors++
			fmt.Println(m.name)
		}
	}
	if !o.list {
		log.Printf("%d run, %d found, %d survive (%.1f %% found)", len(chosen), len(chosen)-survivors, survivors,
			100*float64(len(chosen)-survivors)/float64(max(1, len(chosen))))
	}
	return nil
}

// wants reports whether a mutant is run: it is listed if there is a list, is not excused, and is
// drawn. The draw goes by the name, so that it is the same when other code changes.
func (o *options) wants(name string) bool {
	_, listed := o.only[name]
	_, excused := o.excused[name]
	h := fnv.New64a()
	fmt.Fprint(h, o.seed, name)
	drawn := rand.New(rand.NewPCG(o.seed, h.Sum64())).UintN(o.every) == 0
	return (listed || len(o.only) == 0) && !excused && drawn
}

package main

import (
	"bufio"
	"flag"
	"fmt"
	"hash/fnv"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.dir, "C", "../..", "the directory of the module")
	flag.StringVar(&o.run, "run", "^TestInMemory$", "the test that runs the kit")
	flag.BoolVar(&o.short, "short", false, "run the kit with -short")
	flag.BoolVar(&o.sql, "sql", false, "break the SQL text in string literals, and nothing else")
	flag.BoolVar(&o.all, "all", false, "do not stop at the first failing case, and tell which cases alone find a mutant")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "processes at a time")
	flag.DurationVar(&o.limit, "limit", 0, "time of a processor for one mutant, which counts as found when it is over; 0 is six times that of the sound store")
	every := flag.Uint("every", 1, "run about one mutant in so many, drawn by -seed, which gives a figure in less time")
	flag.Uint64Var(&o.seed, "seed", 1, "choose which mutants -every draws")
	only := flag.String("only", "", "a file with the mutants to run, as an earlier run listed them")
	flag.BoolVar(&o.list, "list", false, "list the mutants that would be run, and run none")
	flag.StringVar(&o.log, "log", "", "a file to which what comes of each mutant is added as soon as it is known; the mutants in it are not run again")
	excused := flag.String("equivalent", "", "a file with mutants that no case can find, each with a tab and the reason")
	flag.Parse()
	log.SetFlags(0)

	targets := []string{"memory/inmem", "memory/driver/plan.go", "memory/driver/purgeable.go", "memory/driver/journal.go", "memory/driver/quota.go", "memory/driver/validate.go",
		"memory/driver/limits.go", "memory/driver/entry.go", "memory/driver/mutation.go",
		"memory/driver/document.go", "memory/driver/transactor.go"}
	o.test = "./adaptertest"
	if flag.NArg() > 0 {
		o.test, targets = flag.Arg(0), flag.Args()[1:]
	}
	if err := o.mutate(targets, lines(*only), reasons(*excused), *every); err != nil {
		log.Fatal(err)
	}
}

func lines(file string) []string {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

// reasons are why mutants are equivalent, by their names.
func reasons(file string) map[string]string {
	why := map[string]string{}
	for _, line := range lines(file) {
		if name, reason, ok := strings.Cut(line, "\t"); ok {
			why[name] = reason
		}
	}
	return why
}

// mutate breaks the targets and prints what survives.
func (o *options) mutate(targets, only []string, excused map[string]string, every uint) error {
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	o.work = work
	sources, err := o.read(targets)
	if err != nil {
		return err
	}
	o.wanted = func(name string) bool {
		_, equivalent := excused[name]
		return !equivalent && o.draws(name, every) && (only == nil || slices.Contains(only, name))
	}
	mutants, err := o.build(sources)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.idle })
	log.Printf("%d mutants, %d of them are run, drawn by seed %d", len(mutants), len(chosen), o.seed)
	for name := range excused {
		if !slices.ContainsFunc(mutants, func(m *mutant) bool { return m.name == name }) {
			log.Printf("there is no such mutant: %s", name)
		}
	}
	if o.list {
		for _, m := range chosen {
			fmt.Println(m.name)
		}
		return nil
	}
	results, err := o.runAll(chosen)
	if err != nil {
		return err
	}
	report(chosen, results, len(mutants)-len(chosen), o.all)
	return nil
}

// draws reports whether a mutant is one of the one in every that are run. The draw goes by the
// name, so that it is the same when other code changes.
func (o *options) draws(name string, every uint) bool {
	h := fnv.New64a()
	fmt.Fprint(h, o.seed, name)
	return rand.New(rand.NewPCG(o.seed, h.Sum64())).UintN(every) == 0
}

// report prints the survivors to standard output, and the figures to standard error.
func report(mutants []*mutant, results []result, excused int, all bool) {
	survivors := 0
	alone := map[string]int{}
	for i, r := range results {
		if len(r.failed) == 0 {
			survivors++
			fmt.Println(mutants[i].name)
		}
		if len(r.failed) == 1 {
			alone[r.failed[0]]++
		}
	}
	log.Printf("%d run, %d found, %d survive (%.1f %% found); %d not run", len(results), len(results)-survivors, survivors,
		100*float64(len(results)-survivors)/float64(max(1, len(results))), excused)
	if all {
		var names []string
		for name, n := range alone {
			names = append(names, fmt.Sprintf("%5d found by %s alone", n, name))
		}
		slices.Sort(names)
		log.Print(strings.Join(names, "\n"))
	}
}

// read finds the files to break. The key is the path from the module's directory.
func (o *options) read(targets []string) (map[string][]byte, error) {
	sources := map[string][]byte{}
	for _, target := range targets {
		files := []string{filepath.Join(o.dir, target)}
		if !strings.HasSuffix(target, ".go") {
			var err error
			if files, err = filepath.Glob(filepath.Join(o.dir, target, "*.go")); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			rel, err := filepath.Rel(o.dir, file)
			if err != nil {
				return nil, err
			}
			sources[rel] = text
		}
	}
	return sources, nil
}

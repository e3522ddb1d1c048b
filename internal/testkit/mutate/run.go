package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What became of a mutant is the names of the cases that failed, or one of these, or how its
// process ended.
const (
	survived = "survives"
	killed   = "the process: signal: killed" // it takes too long
)

// runAll runs the kit on the sound store, which must pass, and then on each mutant.
func (o *options) runAll(mutants []*mutant) error {
	kept, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer kept.Close()
	known := lines(o.log)
	limit := o.limit
	o.limit = cmp.Or(limit, time.Hour)
	sound, took := o.runOne(0, o.run)
	if sound != survived {
		return fmt.Errorf("the kit fails without a mutant: %s", sound)
	}
	log.Printf("the sound store takes %v of a processor", took.Round(time.Millisecond))
	o.limit = cmp.Or(limit, 6*took)

	queue := make(chan *mutant)
	var wait sync.WaitGroup
	for range o.parallel {
		wait.Go(func() {
			for m := range queue {
				var told bool
				if m.result, told = known[m.name]; !told {
					m.result = o.runSoon(m)
					fmt.Fprintf(kept, "%s\t%s\n", m.name, m.result) // in one write
				}
				o.finders.add(m)
				if m.result == survived || m.result == killed {
					log.Printf("%s: %s", m.result, m.name)
				}
			}
		})
	}
	for i, m := range mutants {
		if queue <- m; i%100 == 99 {
			log.Printf("%d of %d", i+1, len(mutants))
		}
	}
	close(queue)
	wait.Wait()
	return nil
}

// finders are the cases that have found mutants of a function, those that did last first. Those
// of the function "" are of all.
type finders struct {
	lock  sync.Mutex
	cases map[string][]string
}

func functionsOf(m *mutant) []string {
	where, _, _ := strings.Cut(m.name, ": ")
	return []string{where, ""}
}

func (f *finders) add(m *mutant) {
	found, _, _ := strings.Cut(m.result, ", ")
	if !strings.Contains(found, "/") { // it is no case
		return
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.cases == nil {
		f.cases = map[string][]string{}
	}
	for _, function := range functionsOf(m) {
		others := slices.DeleteFunc(f.cases[function], func(name string) bool { return name == found })
		f.cases[function] = slices.Insert(others, 0, found)
	}
}

// likely returns a pattern of a few cases that may find a mutant; it is empty if none is known.
func (f *finders) likely(m *mutant) string {
	f.lock.Lock()
	defer f.lock.Unlock()
	var patterns []string
	for _, function := range functionsOf(m) {
		cases := f.cases[function]
		for _, name := range cases[:min(4, len(cases))] {
			patterns = append(patterns, "^"+strings.ReplaceAll(name, "/", "$/^")+"$")
		}
	}
	return strings.Join(patterns, "|")
}

// runSoon runs the likely cases on a mutant, and then all: the few find most at a fraction
// of the cost.
func (o *options) runSoon(m *mutant) string {
	if few := o.finders.likely(m); few != "" && !o.all {
		if result, _ := o.runOne(m.number, few); result != survived {
			return result
		}
	}
	result, _ := o.runOne(m.number, o.run)
	return result
}

var failedCase = regexp.MustCompile(`(?m)^ {8}--- FAIL: (\S+)`)

// runOne runs cases on a mutant and returns what became of it, and the time of a processor.
func (o *options) runOne(number int, run string) (string, time.Duration) {
	// One that works for ever runs into the limit of the processor's time, which does not
	// depend on what else the machine does, and one that waits for ever into that of the clock.
	ctx, cancel := context.WithTimeout(context.Background(), 5*o.limit+time.Minute)
	defer cancel()
	seconds := strconv.Itoa(int(o.limit.Seconds()) + 1)
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0"; exec "$@"`, seconds, filepath.Join(o.work, "kit"), "-test.run="+run,
		"-test.timeout=0", fmt.Sprint("-test.failfast=", !o.all), fmt.Sprint("-test.short=", o.short))
	cmd.Dir = filepath.Join(o.dir, o.test)
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number), "AGENTMEMORY_WHOLE=1", "GOMEMLIMIT=2GiB", "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	var failed []string
	for _, found := range failedCase.FindAllStringSubmatch(string(out), -1) {
		failed = append(failed, found[1])
	}
	result := cmp.Or(strings.Join(failed, ", "), survived)
	if err != nil && len(failed) == 0 {
		result = "the process: " + err.Error()
	}
	return result, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// result tells what the kit said of a mutant: the cases that failed, or what else became
// of the process. It is empty for one that survives.
type result struct {
	failed []string
	took   time.Duration // of a processor
}

// survived stands in a log in place of the cases that found a mutant.
const survived = "survives"

// runAll runs the kit on the sound store, which must pass, and then on each mutant.
func (o *options) runAll(mutants []*mutant) ([]result, error) {
	start := time.Now()
	o.finders.found = map[string]map[string]int{}
	var kept *os.File
	if o.log != "" {
		var err error
		if kept, err = os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return nil, err
		}
		defer kept.Close()
	}
	told := reasons(o.log)
	limit := o.limit
	o.limit = cmp.Or(limit, time.Hour)
	sound := o.runOne(0, o.run)
	if len(sound.failed) > 0 {
		return nil, fmt.Errorf("the kit fails without a mutant: %v", sound.failed)
	}
	o.limit = cmp.Or(limit, 6*sound.took)
	log.Printf("the sound store takes %v of a processor", sound.took.Round(time.Millisecond))
	results := make([]result, len(mutants))
	var next, survivors atomic.Int64
	var wait sync.WaitGroup
	for range o.parallel {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(mutants) {
					return
				}
				if came, ok := told[mutants[i].name]; ok {
					results[i].failed = slices.DeleteFunc(strings.Split(came, ", "), func(s string) bool { return s == survived })
					o.finders.add(mutants[i], results[i])
				} else {
					results[i] = o.runSoon(mutants[i])
					if kept != nil { // each line is one write
						fmt.Fprintf(kept, "%s\t%s\n", mutants[i].name, cmp.Or(strings.Join(results[i].failed, ", "), survived))
					}
				}
				if len(results[i].failed) == 0 {
					log.Printf("survives: %s", mutants[i].name)
					survivors.Add(1)
				}
				if slices.Equal(results[i].failed, []string{"the process: signal: killed"}) {
					log.Printf("takes too long: %s", mutants[i].name)
				}
				if (i+1)%100 == 0 {
					log.Printf("%d of %d after %v, %d survive", i+1, len(mutants), time.Since(start).Round(time.Second), survivors.Load())
				}
			}
		})
	}
	wait.Wait()
	return results, nil
}

var failedCase = regexp.MustCompile(`(?m)^ {8}--- FAIL: (\S+)`)

// finders are how many mutants of each function a case has found. Those of the function ""
// are of all.
type finders struct {
	lock  sync.Mutex
	found map[string]map[string]int
}

func functionOf(m *mutant) string {
	where, _, _ := strings.Cut(m.name, ": ")
	return where
}

func (f *finders) add(m *mutant, r result) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if len(r.failed) == 0 || !strings.Contains(r.failed[0], "/") {
		return
	}
	for _, function := range []string{functionOf(m), ""} {
		if f.found[function] == nil {
			f.found[function] = map[string]int{}
		}
		f.found[function][r.failed[0]]++
	}
}

// likely are a few cases that may find a mutant, as they have found others.
func (f *finders) likely(m *mutant) (cases []string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, function := range []string{functionOf(m), ""} {
		found := f.found[function]
		best := slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(found[b]-found[a], strings.Compare(a, b)) })
		cases = append(cases, best[:min(4, len(best))]...)
	}
	return cases
}

// runSoon runs the likely cases on a mutant, and then all: the few find most at a fraction
// of the cost.
func (o *options) runSoon(m *mutant) (r result) {
	if cases := o.finders.likely(m); len(cases) > 0 && !o.all {
		for i, name := range cases {
			cases[i] = "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
		}
		r = o.runOne(m.number, strings.Join(cases, "|"))
	}
	if len(r.failed) == 0 {
		r = o.runOne(m.number, o.run)
	}
	o.finders.add(m, r)
	return r
}

func (o *options) runOne(number int, run string) (r result) {
	// One that works for ever runs into the limit of the processor's time, which does not
	// depend on what else the machine does, and one that waits for ever into that of the clock.
	ctx, cancel := context.WithTimeout(context.Background(), 5*o.limit+time.Minute)
	defer cancel()
	seconds := strconv.Itoa(int(o.limit.Seconds()) + 1)
	args := []string{"-c", `ulimit -t "$0"; exec "$@"`, seconds, filepath.Join(o.work, "kit"), "-test.run=" + run, "-test.timeout=0"}
	if !o.all {
		args = append(args, "-test.failfast")
	}
	if o.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(o.dir, o.test)
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number), "AGENTMEMORY_WHOLE=1", "GOMEMLIMIT=2GiB", "GOTRACEBACK=none")
	out, err := cmd.CombinedOutput()
	for _, found := range failedCase.FindAllStringSubmatch(string(out), -1) {
		r.failed = append(r.failed, found[1])
	}
	if err != nil && len(r.failed) == 0 {
		r.failed = []string{"the process: " + err.Error()}
	}
	r.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r
}

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

// runAll runs the kit on the sound store, which must pass, and then on each mutant.
func (o *options) runAll(mutants []*mutant) ([]result, error) {
	start := time.Now()
	limit := o.limit
	o.limit = cmp.Or(limit, time.Hour)
	sound := o.runOne(0)
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
				results[i] = o.runOne(mutants[i].number)
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

var failedCase = regexp.MustCompile(`(?m)^ {8}--- FAIL: \w+/(\S+)`)

func (o *options) runOne(number int) (r result) {
	// One that works for ever runs into the limit of the processor's time, which does not
	// depend on what else the machine does, and one that waits for ever into that of the clock.
	ctx, cancel := context.WithTimeout(context.Background(), 2*o.limit+5*time.Second)
	defer cancel()
	seconds := strconv.Itoa(int(o.limit.Seconds()) + 1)
	args := []string{"-c", `ulimit -t "$0"; exec "$@"`, seconds, filepath.Join(o.work, "kit"), "-test.run=" + o.run, "-test.timeout=0"}
	if !o.all {
		args = append(args, "-test.failfast")
	}
	if o.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir = filepath.Join(o.dir, o.test)
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number), "GOMEMLIMIT=2GiB", "GOTRACEBACK=none")
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

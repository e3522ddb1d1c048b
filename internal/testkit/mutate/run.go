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
	"runtime"
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
	sound, took := o.runOne(0)
	if sound != survived {
		return fmt.Errorf("the kit fails without a mutant: %s", sound)
	}
	log.Printf("the sound store takes %v of a processor", took.Round(time.Millisecond))
	o.limit = cmp.Or(limit, 6*took)

	queue := make(chan *mutant)
	var wait sync.WaitGroup
	for range runtime.NumCPU() {
		wait.Go(func() {
			for m := range queue {
				var told bool
				if m.result, told = known[m.name]; !told {
					m.result, _ = o.runOne(m.number)
					fmt.Fprintf(kept, "%s\t%s\n", m.name, m.result) // in one write
				}
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

var failedCase = regexp.MustCompile(`(?m)^ {4}--- FAIL: (\S+)`)

// runOne runs the kit on a mutant and returns what became of it, and the time of a processor.
func (o *options) runOne(number int) (string, time.Duration) {
	// One that works for ever runs into the limit of the processor's time, which does not
	// depend on what else the machine does, and one that waits for ever into that of the clock.
	ctx, cancel := context.WithTimeout(context.Background(), 5*o.limit+time.Minute)
	defer cancel()
	seconds := strconv.Itoa(int(o.limit.Seconds()) + 1)
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0"; exec "$@"`, seconds, filepath.Join(o.work, "kit"), "-test.run="+o.run,
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

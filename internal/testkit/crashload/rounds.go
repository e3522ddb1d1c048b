package crashload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// EnvDir tells a process that it is the child of a [Rounds], and where its log is.
const EnvDir = "AGENTMEMORY_CRASHLOAD_DIR"

// Opener opens the store that is put under load, over the same data each time. Shut
// closes what was opened.
type Opener func(ctx context.Context) (store Store, shut func() error, err error)

// Rounds kill a load over and over, on the same data, and verify after each time.
type Rounds struct {
	// Dir is an empty directory for the log. The store may keep its data there too, in
	// files of its own.
	Dir  string
	Seed uint64
	// N is how many rounds there are.
	N int
	// Open opens the store: in the child, which calls [Child] with it, and in this
	// process to verify.
	Open Opener
	// Strike, if set, happens in the midst of the load, which goes on for a while
	// before it is killed: a death of the database server and its restart, say.
	Strike func(ctx context.Context, round int) error
	// Seen, if set, gets the report of each round.
	Seen func(round int, r Report)
}

// Run makes the rounds. It returns the first error, with the number of its round: a
// [*Broken] of the store, one of the child, or one of this process. No process is left
// behind.
func (r Rounds) Run(ctx context.Context) error {
	log, err := Open(r.Dir, r.Seed)
	if err != nil {
		return err
	}
	err = log.Close()
	rng := rand.New(rand.NewPCG(r.Seed, 0))
	for round := 0; round < r.N && err == nil; round++ {
		if err = r.round(ctx, round, rng); err == nil {
			err = with(ctx, r.Dir, r.Seed, r.Open, func(log *Log, store Store) error {
				report, err := log.Verify(ctx, store)
				if err == nil && r.Seen != nil {
					r.Seen(round, report)
				}
				return err
			})
		}
		if err != nil {
			err = fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return err
}

// round is one life of a child, which is this binary, started again.
func (r Rounds) round(ctx context.Context, round int, rng *rand.Rand) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	living, kill := context.WithCancel(ctx)
	child, output, ended := exec.CommandContext(living, self), &bytes.Buffer{}, make(chan error, 1)
	child.Env = append(os.Environ(), EnvDir+"="+r.Dir)
	child.Stdout, child.Stderr = output, output
	_, err = child.StdinPipe() // whose end ends the load
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		kill()
		return err
	}
	go func() {
		_ = child.Wait() // it never ends well
		ended <- fmt.Errorf("crashload: the child ended by itself: %s", bytes.TrimSpace(output.Bytes()))
	}()
	defer func() {
		kill()
		<-ended
	}()
	if err := r.grow(ctx, rng, ended); err != nil || r.Strike == nil {
		return err
	}
	if err := r.Strike(ctx, round); err != nil {
		return err
	}
	return r.grow(ctx, rng, ended)
}

// with opens the log of a directory and the store for as long as something is done.
func with(ctx context.Context, dir string, seed uint64, open Opener, do func(*Log, Store) error) error {
	log, err := Open(dir, seed)
	if err != nil {
		return err
	}
	store, shut, err := open(ctx)
	if err == nil {
		err = errors.Join(do(log, store), shut())
	}
	return errors.Join(err, log.Close())
}

// Bounds of how far the log grows in a part of a round, and of the moment after
// that, which is not to be that of a line.
const (
	leastGrowth = 2 << 10
	mostGrowth  = 24 << 10
	mostWait    = 5 * time.Millisecond
)

// grow waits until the child has done some work.
func (r Rounds) grow(ctx context.Context, rng *rand.Rand, ended chan error) error {
	size := func() int64 {
		info, err := os.Stat(filepath.Join(r.Dir, logFile))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for until := size() + leastGrowth + rng.Int64N(mostGrowth-leastGrowth); size() < until; {
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	pause(ctx, time.Duration(rng.Int64N(int64(mostWait))))
	return nil
}

// Child is what a process runs that a [Rounds] has started: the load, until it is killed
// or until its parent is gone. It returns at once in any other process, and never in
// this one.
func Child(open Opener) {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if err := with(ctx, dir, 0, open, func(log *Log, store Store) error { return log.Load(ctx, store) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

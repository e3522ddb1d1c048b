package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// scratch gives the kit stores that hold no memory of the command line's.
type scratch interface {
	fresh(context.Context) (driver.Adapter, error)
	// reopened opens the data of a store again, and crashed does so as they are after a kill.
	reopened(context.Context, driver.Adapter) (driver.Adapter, error)
	crashed(context.Context, driver.Adapter) (driver.Adapter, error)
	// remove removes what is left of it.
	remove() error
}

func (p *program) scratch(ctx context.Context, name string) (scratch, error) {
	switch {
	case !p.namesOne():
		return nil, misuse("say where: -db FILE, -postgres DSN or -mysql DSN")
	case p.db != "":
		return &scratchFiles{dir: filepath.Join(filepath.Dir(p.db), name)}, nil
	case p.mysql != "":
		return newScratchMySQL(ctx, p.mysql, name)
	}
	return newScratchDatabases(ctx, p.postgres, name)
}

// certify runs the kit and shows which law it is at, where it can in one line that is rewritten.
func (p *program) certify(ctx context.Context, short bool) (err error) {
	stores, err := p.scratch(ctx, scratchName())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.remove()) }()
	report, err := adaptertest.Check(ctx, adaptertest.Config{
		New: stores.fresh, Reopen: stores.reopened, Crash: stores.crashed, Seed: 1, Short: short, Progress: lawLine{p},
	})
	p.rewrite("")
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the kit did not come to its end: %w", ctx.Err())
	case err != nil:
		return err
	case !report.OK():
		fmt.Fprint(p.err, report)
		return advice("the store breaks laws: do not keep memory in it")
	}
	text, data := report.Certificate()
	if p.json {
		text = data
	}
	_, err = io.WriteString(p.out, text)
	return err
}

// lawLine shows a line of the kit's progress.
type lawLine struct{ p *program }

func (l lawLine) Write(line []byte) (int, error) {
	l.p.rewrite(strings.TrimSpace(string(line)))
	if l.p.rewrites {
		return len(line), nil
	}
	return l.p.err.Write(line)
}

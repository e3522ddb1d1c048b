package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// scratch gives the kit stores that hold nothing of anybody.
type scratch interface {
	fresh(context.Context) (driver.Adapter, error)
	// reopened opens the data of a store again, and crashed does so as they are after a kill.
	reopened(context.Context, driver.Adapter) (driver.Adapter, error)
	crashed(context.Context, driver.Adapter) (driver.Adapter, error)
	io.Closer
}

func (p *program) certify(ctx context.Context, short bool) (err error) {
	var stores scratch
	switch {
	case (p.db == "") == (p.postgres == ""):
		return misuse("say where: -db FILE or -postgres DSN")
	case p.db != "":
		stores, err = newScratchFiles(p.db)
	default:
		stores, err = newScratchDatabases(ctx, p.postgres)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	working := p.progress("made for the kit", 0, "store", "stores")
	report, err := adaptertest.Check(ctx, adaptertest.Config{
		New: func(ctx context.Context) (driver.Adapter, error) {
			working.step()
			return stores.fresh(ctx)
		},
		Reopen: stores.reopened, Crash: stores.crashed, Seed: 1,
	})
	working.end()
	if err != nil {
		return fmt.Errorf("the kit did not come to its end: %w", err)
	}
	text, data := report.Certificate()
	if p.json {
		text = data
	}
	if _, err := io.WriteString(p.out, text); err != nil {
		return err
	}
	if !report.OK() {
		for _, failure := range report.Failures() {
			fmt.Fprintln(p.err, failure)
		}
		return advice("the store breaks laws: do not keep memory in it")
	}
	return nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/openwop/agentmemory/adaptertest"
	"github.com/openwop/agentmemory/memory/driver"
)

// scratch gives the kit stores that hold no memory of the command line's.
type scratch interface {
	fresh(context.Context) (driver.Adapter, error)
	// reopened opens the data of a store again, and crashed does so as they are after a kill.
	reopened(context.Context, driver.Adapter) (driver.Adapter, error)
	crashed(context.Context, driver.Adapter) (driver.Adapter, error)
	// remove removes what all processes have left of it.
	remove() error
}

func (p *program) scratch(ctx context.Context, name string) (scratch, error) {
	switch {
	case (p.db == "") == (p.postgres == ""):
		return nil, misuse("say where: -db FILE or -postgres DSN")
	case p.db != "":
		return &scratchFiles{dir: filepath.Join(filepath.Dir(p.db), name)}, nil
	}
	return newScratchDatabases(ctx, p.postgres, name)
}

// certify runs the kit in a process of its own, as package testing tells there what it is at, and
// shows that.
func (p *program) certify(ctx context.Context, short bool) (err error) {
	laws, cases, err := everyLaw(ctx)
	if err != nil {
		return err
	}
	name := scratchName()
	if err := p.tryScratch(ctx, name); err != nil {
		return err
	}
	stores, err := p.scratch(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.remove()) }()
	dir, err := os.MkdirTemp("", "agentmemory-certificate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	certificate := filepath.Join(dir, "certificate")
	where := "--db=" + p.db
	if p.postgres != "" {
		where = "--postgres=" + p.postgres
	}
	kit := exec.CommandContext(ctx, self, "kit", where, "--short="+strconv.FormatBool(short), name, certificate)
	kit.Env = append(os.Environ(), "AGENTMEMORY_CERTIFY=1")
	said, err := kit.StdoutPipe()
	if err != nil {
		return err
	}
	var failed bytes.Buffer
	kit.Stderr = &failed
	if err := kit.Start(); err != nil {
		return err
	}
	p.follow(said, laws, cases, &failed)
	broken := kit.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("the kit did not come to its end: %w", ctx.Err())
	}
	if broken != nil {
		_, err := failed.WriteTo(p.err)
		return errors.Join(err, advice("the store breaks laws: do not keep memory in it"))
	}
	text, err := os.ReadFile(certificate + map[bool]string{true: ".json", false: ".txt"}[p.json])
	if err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}

// tryScratch makes a store and removes it.
func (p *program) tryScratch(ctx context.Context, name string) error {
	stores, err := p.scratch(ctx, name)
	if err != nil {
		return err
	}
	store, err := stores.fresh(ctx)
	if err == nil {
		err = store.(io.Closer).Close()
	}
	return errors.Join(err, stores.remove())
}

// everyLaw counts the laws and the cases of the kit, over a store in which each fails at once.
func everyLaw(ctx context.Context) (laws, cases int, err error) {
	report, err := adaptertest.Check(ctx, adaptertest.Config{
		New: func(context.Context) (driver.Adapter, error) { return struct{ driver.Adapter }{}, nil },
	})
	if err != nil {
		return 0, 0, err
	}
	for _, l := range report.Laws {
		cases += len(l.Cases)
	}
	return len(report.Laws), cases, nil
}

var (
	begins    = regexp.MustCompile(`^=== RUN +kit/([^/\n]+)(/?)`)
	noFailure = regexp.MustCompile(`^(?:===| *--- (?:PASS|SKIP)|PASS)`)
)

// follow shows which law a kit is at and how long it may take, and keeps what it says of failures.
// Where no line can be rewritten it shows each law, and a law that takes long again each minute.
func (p *program) follow(said io.Reader, laws, cases int, failed io.Writer) {
	began, shown, law, done := time.Now(), time.Now(), 0, 0
	for lines := bufio.NewReader(said); ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if !noFailure.MatchString(text) {
			fmt.Fprint(failed, text)
		}
		at := begins.FindStringSubmatch(text)
		if at == nil {
			continue
		}
		isCase := at[2] != ""
		if isCase {
			done++
		} else {
			law++
		}
		line := fmt.Sprintf("law %d of %d: %s%s", law, laws, at[1], left(time.Since(began), done, cases))
		p.rewrite(line)
		if !p.rewrites && (!isCase || time.Since(shown) > time.Minute) {
			shown = time.Now()
			fmt.Fprintln(p.err, line)
		}
	}
	p.rewrite("")
}

// left tells how long the rest takes if it goes on like this. The last of done has just begun.
func left(took time.Duration, done, all int) string {
	if done < 2 {
		return ""
	}
	rest := took / time.Duration(done-1) * time.Duration(all-done+1)
	return fmt.Sprintf(", about %s left", rest.Round(time.Second))
}

// kit runs the kit as a test, and ends the process.
func (p *program) kit(ctx context.Context, name, certificate string, short bool) error {
	stores, err := p.scratch(ctx, name)
	if err != nil {
		return err
	}
	os.Args = []string{"kit", "-test.v", "-test.timeout=0", "-test.short=" + strconv.FormatBool(short)}
	testing.Main(regexp.MatchString, []testing.InternalTest{{Name: "kit", F: func(t *testing.T) {
		adaptertest.Run(t, adaptertest.Config{New: stores.fresh, Reopen: stores.reopened, Crash: stores.crashed, Seed: 1, Certificate: certificate})
	}}}, nil, nil)
	return nil
}

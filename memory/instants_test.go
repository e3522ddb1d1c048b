package memory_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// instants are all places of the exported API where an instant stands: "down" and "up" are
// rounded so where a host gives one, "whole" is refused unless it is in whole milliseconds,
// and "out" is given by this module, in whole milliseconds.
var instants = map[string]string{
	"memory.Config.Now":      "down",
	"memory.Draft.CreatedAt": "down",
	"memory.Draft.ExpiresAt": "down",
	"memory.Search.Since":    "up",
	"memory.Search.Until":    "up",
	"memory.Erasure.At":      "out",
	"memory.Bank.Now":        "out",
	"memory.Job.Now":         "out",
	"memory.View.At":         "out",
	"memory.View.Opened":     "out",

	"commitment.Arm.At":             "up",
	"commitment.Schedule.Next":      "up",
	"commitment.Firing.Instant":     "out",
	"commitment.Claim.Instant":      "out",
	"commitment.Request.Now":        "out",
	"commitment.Commitment.ArmedAt": "out",
	"commitment.Commitment.EndedAt": "out",
	"commitment.Commitment.Due":     "out",
	"commitment.Commitment.Mark":    "out",
	"commitment.Commitment.Lease":   "out",

	"distill.IndexLine.CreatedAt": "out",
	"distill.IndexLine.ExpiresAt": "out",
	"distill.Source.CreatedAt":    "out",

	"events.Record.Time": "whole", // and down by Run.Emit and in JSON

	// What a bank gives to a store, and a store to a bank.
	"memory/driver.Adapter.Get":             "whole",
	"memory/driver.Adapter.Delete":          "whole",
	"memory/driver.Cursor.CreatedAt":        "whole",
	"memory/driver.Document.Due":            "up",
	"memory/driver.Entry.CreatedAt":         "whole",
	"memory/driver.Entry.ExpiresAt":         "whole",
	"memory/driver.Entry.LiveAt":            "whole",
	"memory/driver.EventKeeper.PurgeEvents": "whole",
	"memory/driver.Mutation.At":             "whole",
	"memory/driver.Stored.Purgeable":        "whole",
	"memory/driver.Query.At":                "whole",
	"memory/driver.Scheduler.Due":           "whole",
	"memory/driver.Query.Since":             "whole",
	"memory/driver.Query.Until":             "whole",
	"memory/driver.Versioned.Purge":         "whole",
}

// An instant that is new in the API is in the table above, and has a rule.
func TestEveryInstantHasARule(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"memory", "memory/driver", "commitment", "distill", "consolidate", "recall", "events", "capability", "inventory", "redact"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		require.NoError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			for _, decl := range file.Decls {
				instantsOf(dir, decl, found)
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(instants)), slices.Sorted(maps.Keys(found)))
}

func instantsOf(dir string, decl ast.Decl, found map[string]bool) {
	has := func(n ast.Node) (yes bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Time" && fmt.Sprint(sel.X) == "time" {
				yes = true
			}
			return true
		})
		return yes
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				star = &ast.StarExpr{X: d.Recv.List[0].Type}
			}
			name = fmt.Sprint(star.X) + "." + name
		}
		if d.Name.IsExported() && ast.IsExported(name) && has(d.Type) {
			found[dir+"."+name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok || !typ.Name.IsExported() {
				continue
			}
			var fields *ast.FieldList
			switch x := typ.Type.(type) {
			case *ast.StructType:
				fields = x.Fields
			case *ast.InterfaceType:
				fields = x.Methods
			default:
				continue
			}
			for _, f := range fields.List {
				for _, name := range f.Names {
					if name.IsExported() && has(f.Type) {
						found[dir+"."+typ.Name.Name+"."+name.Name] = true
					}
				}
			}
		}
	}
}

// finer are times within a millisecond.
var finer = []time.Duration{1, 500 * time.Microsecond, time.Millisecond - 1}

// What a host gives between milliseconds is rounded down where it tells of a time or ends
// something, and up where something may not be before it.
func TestInstantsAreRoundedOneWay(t *testing.T) {
	zone := time.FixedZone("", 3600)
	for _, f := range finer {
		clock := epoch
		store := inmem.New()
		bank, err := memory.New(store, memory.Config{KeepEvents: time.Hour, Now: func() time.Time { return clock.Add(f).In(zone) }})
		require.NoError(t, err)
		require.Equal(t, epoch, bank.Now(), "the clock is rounded down")
		job, err := bank.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: newVault()})
		require.NoError(t, err)

		past := epoch.Add(-time.Hour)
		e, err := job.Put(ctx, "m", memory.Draft{Content: "x", CreatedAt: past.Add(f).In(zone), ExpiresAt: epoch.Add(time.Second + f).In(zone)})
		require.NoError(t, err)
		require.Equal(t, past, e.CreatedAt)
		require.Equal(t, epoch.Add(time.Second), e.ExpiresAt)
		_, err = job.Put(ctx, "m", memory.Draft{Content: "x", ExpiresAt: epoch.Add(f)})
		require.ErrorIs(t, err, memory.ErrValidation, "rounded down it is over")

		for _, at := range []time.Time{past.Add(-f), past, past.Add(f)} {
			found, err := bank.Search(ctx, "acme", "m", memory.Search{Since: at})
			require.NoError(t, err)
			require.Equal(t, !past.Before(at), len(found) == 1, "since %v", at)
			found, err = bank.Search(ctx, "acme", "m", memory.Search{Until: at})
			require.NoError(t, err)
			require.Equal(t, past.Before(at), len(found) == 1, "until %v", at)
		}
		_, err = bank.Reader("acme").List(ctx, "m", memory.ListOptions{After: driver.Cursor{CreatedAt: past.Add(f), ID: e.ID}})
		require.ErrorIs(t, err, memory.ErrValidation, "a cursor is an entry's")

		due := driver.Document{Kind: "timer", Key: "t", Due: epoch.Add(time.Second + f).In(zone)}
		_, err = bank.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: due})
		require.NoError(t, err)
		clock = epoch.Add(time.Second)
		found, err := bank.Engines().Due(ctx, "timer", 10)
		require.NoError(t, err)
		require.Empty(t, found, "nothing is due before its instant")
		clock = clock.Add(time.Millisecond)
		found, err = bank.Engines().Due(ctx, "timer", 10)
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.Equal(t, clock, found[0].Due)

		run, err := bank.Start(ctx, memory.RunConfig{ID: "r", Tenant: "acme", Redactor: newVault()})
		require.NoError(t, err)
		rec := own("e", "run.started", `{}`)
		rec.Time = epoch.Add(f).In(zone)
		require.ErrorIs(t, events.Emit(ctx, new(events.Log), events.Record{ID: "e", Tenant: "acme", RunID: "r", Time: rec.Time, Payload: rec.Payload}), events.ErrInvalid)
		require.NoError(t, run.Emit(ctx, rec))
		page, err := store.Read(ctx, "acme", "r", 0, 0)
		require.NoError(t, err)
		require.Equal(t, epoch, page[0].Time.UTC())
	}
}

// The end of a retention that is no whole number of milliseconds does not keep anybody from
// forgetting.
func TestARetentionBetweenMilliseconds(t *testing.T) {
	h := newHost(t, func(c *memory.Config) { c.LedgerRetention = time.Hour + 1 })
	job := h.job("acme")
	_, err := job.Put(ctx, "m", memory.Draft{Content: "x", Subjects: []string{"s"}})
	require.NoError(t, err)
	done, err := h.Forget(ctx, "acme", "s")
	require.NoError(t, err)
	require.Len(t, done.Erased, 1)
}

// M4: a TTL is a time from the write on.
func TestM4_TTL(t *testing.T) {
	h := newHost(t)
	run := h.run("r", "acme")
	for _, ttl := range []time.Duration{time.Millisecond, time.Millisecond + 999*time.Microsecond, time.Hour + 1} {
		e, err := run.Put(ctx, "m", memory.Draft{Content: "x", TTL: ttl})
		require.NoError(t, err)
		require.Equal(t, epoch.Add(ttl.Truncate(time.Millisecond)), e.ExpiresAt)
	}
	for name, d := range map[string]memory.Draft{
		"below a millisecond": {TTL: time.Millisecond - 1},
		"below zero":          {TTL: -time.Hour},
		"both":                {TTL: time.Hour, ExpiresAt: epoch.Add(time.Hour)},
	} {
		_, err := run.Put(ctx, "m", d)
		require.ErrorIs(t, err, memory.ErrValidation, name)
	}
	h.clock.Advance(time.Millisecond)
	list, err := run.Memory().List(ctx, "m", memory.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	e, err := h.job("acme").Put(ctx, "m", memory.Draft{Content: "old", CreatedAt: epoch.Add(-time.Hour), TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, h.clock.Now().Add(time.Minute), e.ExpiresAt, "from the write on, not from what it is dated")
}

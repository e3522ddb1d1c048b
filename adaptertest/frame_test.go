package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

var ctx = context.Background()

// plain is a store that offers the four operations only.
type plain struct{ driver.Adapter }

func plainConfig() Config {
	return Config{Short: true, New: func(context.Context) (driver.Adapter, error) { return plain{inmem.New()}, nil }}
}

// cases lets single cases through.
func cases(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestT2_IsolationAndRedactionHaveNoOptOut(t *testing.T) {
	report, err := plainConfig().check(ctx, lawsOf("CTI-1", "SR-1"))
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Len(t, report.Laws, 2)
	for _, l := range report.Laws {
		proven := 0
		for _, c := range l.Cases {
			if c.Status == Proven {
				proven++
			}
		}
		require.Greater(t, proven, 2, l.Name)
	}
}

func TestT3_NothingSleeps(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, call := range []string{"Sleep", "After", "Tick", "NewTimer"} {
			require.NotContains(t, string(source), "time."+call+"(", name)
		}
	}
}

func TestT4_TheSameSeedGivesTheSameTextAndTheShortestSteps(t *testing.T) {
	for name, d := range map[string]func(b *broken){
		"delete does nothing to tagged entries": func(b *broken) {
			b.del = func(ctx context.Context, s driver.Scope, id string, at time.Time) (bool, error) {
				if e, err := b.Store.Get(ctx, s, id, at); err == nil && len(e.Tags) > 0 {
					return true, nil
				}
				return b.Store.Delete(ctx, s, id, at)
			}
		},
		"tags are lost": changed(func(e driver.Entry) driver.Entry { e.Tags = nil; return e }),
	} {
		t.Run(name, func(t *testing.T) {
			only := func(seed uint64) string {
				cfg := configOf(d)
				cfg.Seed = seed
				report, err := cfg.check(ctx, cases("MODEL/random"))
				require.NoError(t, err)
				require.False(t, report.OK())
				return strings.Join(report.Failures(), "\n")
			}
			text := only(7)
			t.Log(text)
			require.Equal(t, text, only(7))
			require.NotEqual(t, text, only(8))
			require.Contains(t, text, "seed 7")
			require.NotContains(t, text, "    4. ", "two steps and a read show it")
		})
	}
}

func TestT4_AFailureReadsWellOnItsOwn(t *testing.T) {
	long := func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			if q.Limit > 0 {
				q.Limit++
			}
			return b.Store.List(ctx, s, q)
		}
	}
	report, err := configOf(long).check(ctx, cases("ORDER/limit-one", "ORDER/limit-huge"))
	require.NoError(t, err)
	require.Len(t, report.Failures(), 1)
	require.Equal(t, `ORDER/limit-one (M5): limit 1 is the newest
    1. put 3 entries in "acme" / "support"
    2. list "acme" / "support" at 2001-03-04T05:06:07Z, limit 1
  expected: "e00002"
  came:     "e00002", "e00001"
`, report.Failures()[0])
	require.Contains(t, report.String(), report.Failures()[0])
	require.Equal(t, LevelNone, report.Level)
}

// One defect shows under many laws. It is told of in full where least else could be wrong,
// and by the names of the cases elsewhere. With AGENTMEMORY_LONG=1 those of all laws are told.
func TestT4_ACauseIsReportedOnce(t *testing.T) {
	wanted := lawsOf("RECORD", "IDEMPOTENCE", "ORDER", "QUERY", "BATCH", "DOCUMENT", "OUTBOX", "LOG", "LIMIT", "VIEW", "CHANGES", "FORGET",
		"TENANT", "FAULT", "DURABLE", "CONSOLIDATE", "MODEL")
	if longRun {
		wanted = everything
	}
	report, err := configOf(changed(func(e driver.Entry) driver.Entry { e.Tags = nil; return e })).check(ctx, wanted)
	require.NoError(t, err)
	failed := 0
	for _, l := range report.Laws {
		for _, c := range l.Cases {
			if c.Status == Broken {
				failed++
			}
		}
	}
	require.Greater(t, failed, 25)
	require.Less(t, len(report.Failures()), 25)
	require.Contains(t, report.Failures()[0], "RECORD/")
	require.Contains(t, report.String(), "most likely for the same reason fail: ")
}

func TestTheReportSaysWhatIsKnownOfDurability(t *testing.T) {
	cfg := configOf(func(*broken) {})
	for want, change := range map[Durability]func(cfg *Config){
		NotProven:    func(*Config) {},
		SurvivesKill: func(cfg *Config) { cfg.Crash = cfg.Reopen },
		Volatile: func(cfg *Config) {
			cfg.New, cfg.Reopen = plainConfig().New, nil
		},
	} {
		mine := cfg
		change(&mine)
		report, err := mine.check(ctx, cases("RECORD/texts", "DURABLE/shared"))
		require.NoError(t, err)
		require.True(t, report.OK(), report)
		require.Equal(t, want, report.Durability)
		require.NotContains(t, report.Summary(), "\n")
		require.Regexp(t, `^agentmemory \(devel\): \d+ of \d+ cases ran, which judge neither`, report.Summary())
	}
}

// A store that writes only as it is closed is durable to who closes it.
func TestAStoreThatWritesBehindDoesNotSurviveAKill(t *testing.T) {
	cfg := configOf(func(*broken) {})
	cfg.Crash = func(ctx context.Context, a driver.Adapter) (driver.Adapter, error) {
		return newBroken(func(*broken) {}, nil), nil
	}
	report, err := cfg.check(ctx, cases("DURABLE/reopened", "DURABLE/killed"))
	require.NoError(t, err)
	require.Len(t, report.Failures(), 1)
	require.Contains(t, report.Failures()[0], "DURABLE/killed")
	require.Equal(t, NotProven, report.Durability)
}

func TestT5_WhatIsNotOfferedHasAReason(t *testing.T) {
	cfg := plainConfig()
	cfg.Require = []Offer{Transactor, "flying"}
	report, err := Check(ctx, cfg)
	require.NoError(t, err)
	require.False(t, report.OK())
	require.Empty(t, report.Failures())
	require.Equal(t, LevelAdapter, report.Level)
	require.Equal(t, []Offer{Transactor, "flying"}, report.Missing)
	require.Contains(t, report.String(), "not offered (required): transactor: it has no driver.Transactor")
	for _, l := range report.Laws {
		for _, c := range l.Cases {
			require.Equal(t, c.Status == NotOffered, c.Reason != "", "%s/%s", l.Name, c.Name)
		}
	}
	wire, err := json.Marshal(report)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(wire, &back))
	require.Equal(t, report.Missing, back.Missing)
	require.Equal(t, len(report.Laws), len(back.Laws))
	require.Contains(t, string(wire), `"level":"adapter"`)
}

func TestAStoreThatMisbehavesIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *broken)
		want string
	}{
		"panic": {func(b *broken) {
			b.list = func(context.Context, driver.Scope, driver.Query) ([]driver.Entry, error) { panic("index out of range") }
		}, "a panic: index out of range"},
		"goexit": {func(b *broken) {
			b.list = func(context.Context, driver.Scope, driver.Query) ([]driver.Entry, error) {
				runtime.Goexit()
				return nil, nil
			}
		}, "ended the goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := configOf(c.do).check(ctx, cases("ORDER/limit-one", "MODEL/random"))
			require.NoError(t, err)
			require.Equal(t, Broken, report.Laws[0].Status)
			require.Equal(t, Broken, report.Laws[1].Status)
			require.Contains(t, report.Failures()[0], c.want)
		})
	}
}

// An engine calls the store from goroutines of its own, too.
func TestAPanicUnderAnEngineIsBroken(t *testing.T) {
	report, err := configOf(func(b *broken) {
		b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
			if len(m.Documents) > 0 && m.Documents[0].Rev > 0 {
				panic("index out of range")
			}
			return b.Store.Apply(ctx, tenant, m)
		}
	}).check(ctx, cases("FIRE/at-once"))
	require.NoError(t, err)
	require.Len(t, report.Failures(), 1)
}

func TestAStoreThatHangsIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := func(b *broken) {
			b.list = func(context.Context, driver.Scope, driver.Query) ([]driver.Entry, error) {
				<-release
				return nil, nil
			}
		}
		report, err := configOf(deaf).check(ctx, cases("ORDER/limit-one"))
		require.NoError(t, err)
		require.Contains(t, report.Failures()[0], "the store hangs")
		close(release)
	})
}

func TestCheckEndsWithItsContext(t *testing.T) {
	done, cancel := context.WithCancel(ctx)
	cfg := configOf(func(b *broken) {
		b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
			cancel()
			return nil, ctx.Err()
		}
	})
	report, err := Check(done, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.NotEmpty(t, report.Laws[0].Cases)
	require.Len(t, report.Laws, 1)
}

// The kit tells each law before its cases, and how long the rest may take.
func TestProgressTellsEachLaw(t *testing.T) {
	var told strings.Builder
	cfg := plainConfig()
	cfg.Progress = &told
	_, err := cfg.check(ctx, cases("RECORD/texts", "IDEMPOTENCE/again"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `^law 1 of \d+: RECORD: .+ began$`, lines[0])
	require.Regexp(t, `^law 2 of \d+: IDEMPOTENCE: .+; about \S+s left$`, lines[1])
}

// closing counts how often it is opened, called and closed.
type closing struct {
	faulty
	of     *broken
	counts *counts
}

type counts struct {
	opened, closed int
	calls          atomic.Int64
	refuses        error // what Close returns
}

func (c *counts) open(data *broken) driver.Adapter {
	c.opened++
	store := newBroken(unusual, data)
	return &closing{newFaulty(store, func(ctx context.Context, _ *Call, next func(context.Context) error) error {
		c.calls.Add(1)
		return next(ctx)
	}), store, c}
}

func (c *closing) Close() error { c.counts.closed++; return c.counts.refuses }

// unusual makes a store that answers one call at a time, copies what it is given and what it hands out, and has a
// history in another order each time.
func unusual(b *broken) {
	var one sync.Mutex
	copyOf := func(e driver.Entry) driver.Entry {
		e.Tags, e.Subjects, e.Sources = slices.Clone(e.Tags), slices.Clone(e.Subjects), slices.Clone(e.Sources)
		return e
	}
	list, put, apply, lookup, history := b.list, b.put, b.apply, b.lookup, b.history
	b.list = func(ctx context.Context, s driver.Scope, q driver.Query) (entries []driver.Entry, err error) {
		one.Lock()
		defer one.Unlock()
		found, err := list(ctx, s, q)
		for _, e := range found {
			entries = append(entries, copyOf(e))
		}
		return entries, err
	}
	b.put = func(ctx context.Context, s driver.Scope, e driver.Entry) error {
		one.Lock()
		defer one.Unlock()
		return put(ctx, s, copyOf(e))
	}
	b.apply = func(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
		one.Lock()
		defer one.Unlock()
		m.Put = slices.Clone(m.Put)
		for i := range m.Put {
			m.Put[i].Entry = copyOf(m.Put[i].Entry)
		}
		return apply(ctx, tenant, m)
	}
	b.lookup = func(ctx context.Context, s driver.Scope, ids []string) ([]driver.Record, error) {
		one.Lock()
		defer one.Unlock()
		recs, err := lookup(ctx, s, slices.Clone(ids))
		for i := range recs {
			recs[i].Entry = copyOf(recs[i].Entry)
		}
		return recs, err
	}
	b.history = func(ctx context.Context, tenant string, q driver.HistoryQuery) iter.Seq2[driver.Record, error] {
		return func(yield func(driver.Record, error) bool) {
			all, err := collect(history(ctx, tenant, q))
			rand.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			sequence(all, err)(yield)
		}
	}
}

// slowCalls is how many calls a store that takes 50 milliseconds for each answers in less than a quarter of an hour, where
// sixteen cases run side by side.
const slowCalls = 240_000

// A good store may be an unusual one. It passes everything, durability included, by as many calls as a slow store
// bears, and is closed as often as it was opened.
func TestT1_AnUnusualStorePassesAndIsClosed(t *testing.T) {
	var did counts
	cfg := Config{
		Short: true,
		New:   func(context.Context) (driver.Adapter, error) { return did.open(nil), nil },
		Reopen: func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
			return did.open(a.(*closing).of), nil
		},
	}
	cfg.Crash = cfg.Reopen
	report, err := Check(ctx, cfg)
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Equal(t, LevelVersioned, report.Level)
	require.Equal(t, SurvivesKill, report.Durability)
	require.Empty(t, report.NotOffered)
	require.Equal(t, did.opened, did.closed)
	require.LessOrEqual(t, did.calls.Load(), int64(slowCalls))
	require.Empty(t, report.Remarks)

	did.refuses = errors.New("file busy")
	report, err = cfg.check(ctx, cases("ORDER/limit-one", "DURABLE/reopened", "MODEL/random"))
	require.NoError(t, err)
	require.Contains(t, report.Failures()[0], "file busy")
	for _, l := range report.Laws {
		require.Equal(t, Broken, l.Status, l.Name)
	}
}

func TestWhatCannotBeLookedAtIsAnError(t *testing.T) {
	boom := errors.New("no such host")
	sound := func(context.Context) (driver.Adapter, error) { return inmem.New(), nil }
	for want, cfg := range map[string]Config{
		"Config.New is not set": {},
		"no such host":          {New: func(context.Context) (driver.Adapter, error) { return nil, boom }},
		"gave no store":         {New: func(context.Context) (driver.Adapter, error) { return nil, nil }},
		"panicked: driver":      {New: func(context.Context) (driver.Adapter, error) { panic("driver") }},
		"read-only":             {New: func(context.Context) (driver.Adapter, error) { return readOnly{inmem.New()}, nil }},
		"Config.Reopen failed":  {New: sound, Reopen: func(context.Context, driver.Adapter) (driver.Adapter, error) { return nil, boom }},
	} {
		_, err := Check(ctx, cfg)
		require.ErrorContains(t, err, want)
	}
}

type readOnly struct{ driver.Adapter }

func (readOnly) Durable() bool  { return false }
func (readOnly) ReadOnly() bool { return true }

func TestAnExclusiveStoreIsDurableAndNotShared(t *testing.T) {
	cfg := configOf(func(*broken) {})
	opened := map[driver.Adapter]bool{}
	cfg.Reopen = func(_ context.Context, a driver.Adapter) (driver.Adapter, error) {
		if !opened[a] { // the kit asks first whether it can be opened while it is open
			opened[a] = true
			return nil, driver.ErrNotProvided
		}
		return newBroken(func(*broken) {}, a.(*broken)), nil
	}
	report, err := cfg.check(ctx, cases())
	require.NoError(t, err)
	require.Contains(t, report.Offers, Durable)
	require.NotContains(t, report.Offers, Shared)
	require.Contains(t, report.String(), "not offered: shared: only one process at a time")
}

func TestRemarksOnDurability(t *testing.T) {
	cfg := configOf(func(*broken) {})
	cfg.Reopen = nil
	report, err := cfg.check(ctx, cases())
	require.NoError(t, err)
	require.Contains(t, report.String(), "remark: the store says that it outlives its process")

	cfg = plainConfig()
	cfg.Reopen = func(_ context.Context, a driver.Adapter) (driver.Adapter, error) { return a, nil }
	report, err = cfg.check(ctx, cases())
	require.NoError(t, err)
	require.Contains(t, report.String(), "remark: the store does not say that it outlives its process")
}

// TestRunFailsTheTestOfABrokenStore runs itself in another process.
func TestRunFailsTheTestOfABrokenStore(t *testing.T) {
	const key = "AGENTMEMORY_BROKEN"
	if os.Getenv(key) != "" {
		cfg := plainConfig()
		cfg.New = func(context.Context) (driver.Adapter, error) {
			return plain{newBroken(func(b *broken) {
				b.list = func(ctx context.Context, s driver.Scope, q driver.Query) ([]driver.Entry, error) {
					q.Limit += min(q.Limit, 1)
					return b.Store.List(ctx, s, q)
				}
			}, nil)}, nil
		}
		cfg.Require = []Offer{Versioned}
		Run(t, cfg)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$/^(ORDER|VIEW|CTI-1|SR-1)$", "-test.v")
	cmd.Env = append(os.Environ(), key+"=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	for _, want := range []string{
		"--- FAIL: " + t.Name() + "/ORDER/limit-one",
		"--- PASS: " + t.Name() + "/SR-1/errors-adapter ",
		"--- SKIP: " + t.Name() + "/VIEW/run-token",
		"expected: ",
		"the store does not offer versioned, which is required: it has no driver.Versioned",
		"needs transactor: it has no driver.Transactor",
		"=== ATTR  " + t.Name() + "/CTI-1/names-ref law CTI-1",
		"=== ATTR  " + t.Name() + "/CTI-1/names-ref number M1",
	} {
		require.Contains(t, string(out), want)
	}
}

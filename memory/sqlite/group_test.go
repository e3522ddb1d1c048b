package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// diskIsFull returns what SQLite says if there is no room for a page.
func diskIsFull(t *testing.T) error {
	db := openFresh(t)
	err := db.tx(t.Context(), func(t *tx) error {
		t.exec(`PRAGMA max_page_count = 1`)
		t.exec(`CREATE TABLE large AS SELECT zeroblob(1000000)`)
		return nil
	})
	require.True(t, notWritten(errors.Unwrap(err)))
	return errors.Unwrap(err)
}

// step is a mutation that puts an entry and ends another, if they have names.
type step struct {
	scope  driver.Scope
	puts   driver.Entry
	ends   string
	lo, hi uint64 // versions of its tenant before it was asked and after it was answered
	made   uint64 // the version that it made, if it was acknowledged
	err    error
}

func (s *step) mutation() driver.Mutation {
	m := driver.Mutation{At: then}
	if s.puts.ID != "" {
		m.Put = []driver.Placed{{Scope: s.scope, Entry: s.puts}}
	}
	if s.ends != "" {
		m.Retire = []driver.Retirement{{Located: driver.Located{Scope: s.scope, ID: s.ends}, State: driver.Deleted}}
	}
	return m
}

// scopeState is what a scope has at a version.
type scopeState struct {
	contents map[string]string // of entries in any state
	ended    map[string]bool
}

// does reports whether a step can be done, and does it.
func (st *scopeState) does(s *step) bool {
	content, there := st.contents[s.puts.ID]
	known := func(id string) bool { _, ok := st.contents[id]; return ok || id == s.puts.ID }
	if there && content != s.puts.Content || s.ends != "" && (!known(s.ends) || st.ended[s.ends]) {
		return false
	}
	if s.puts.ID != "" {
		st.contents[s.puts.ID] = s.puts.Content
	}
	if s.ends != "" {
		st.ended[s.ends] = true
	}
	return true
}

func (st *scopeState) clone() *scopeState {
	c := &scopeState{map[string]string{}, map[string]bool{}}
	for id, content := range st.contents {
		c.contents[id] = content
	}
	for id := range st.ended {
		c.ended[id] = true
	}
	return c
}

// Mutations that are committed together are each whole or refused by themselves: what many
// goroutines were told agrees with the versions that there are, while statements and commits
// fail, answers are lost, and contexts end.
func TestM8_CommittedTogether(t *testing.T) {
	const seed, goroutines, steps = 20261125, 16, 60
	full := diskIsFull(t)
	db, count := openCounted(t)
	random := rand.New(rand.NewPCG(seed, 0)) // the writer's
	errLost := errors.New("the answer is lost")
	versions, together, lost, failures, failing := 0, 0, 0, 0, false
	count.exec = func(text string, run func() error) error {
		odds := random.IntN(100)
		switch {
		case text == "BEGIN IMMEDIATE":
			versions = 0
		case text == addVersion:
			if versions++; versions > 1 {
				together++
			}
		}
		switch {
		case text == "COMMIT" && odds < 8:
			lost++
			if err := run(); err != nil {
				return err
			}
			return errLost
		case text == "COMMIT" && odds < 16: // and nothing was committed
			lost++
			return errLost
		case text == "COMMIT" && (odds < 30 || failing && odds < 60), strings.HasPrefix(text, "INSERT") && odds < 2:
			failures++
			failing = true // what failed with others is to fail alone too
			return full
		}
		failing = failing && text != "COMMIT"
		return run()
	}
	st := db.Memory()
	version := func(tenant string) uint64 {
		v, err := st.Version(context.Background(), tenant)
		require.NoError(t, err)
		n, _, err := v.Parse()
		require.NoError(t, err)
		return n
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[string][]*step{}
	for g := range goroutines {
		all.Go(func() {
			own := rand.New(rand.NewPCG(seed, uint64(g+1)))
			for n := range steps {
				id := func() string { return fmt.Sprint("id", 3*n+own.IntN(6)) } // new, and others want it too
				s := &step{scope: driver.Scope{Tenant: fmt.Sprint("tenant", own.IntN(2)), Ref: "r"}}
				s.puts = driver.Entry{ID: id(), Content: fmt.Sprint(g, ".", n), CreatedAt: then}
				if own.IntN(2) == 0 {
					s.ends = id()
				}
				ctx, end := context.WithCancel(t.Context())
				if own.IntN(5) == 0 {
					go end()
				}
				s.lo = version(s.scope.Tenant)
				var applied driver.Applied
				applied, s.err = st.Apply(ctx, s.scope.Tenant, s.mutation())
				s.hi = version(s.scope.Tenant)
				end()
				if s.err == nil {
					s.made, _, s.err = applied.Version.Parse()
				}
				mu.Lock()
				done[s.scope.Tenant] = append(done[s.scope.Tenant], s)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	count.exec = nil
	require.Positive(t, together)
	require.Positive(t, lost)
	require.Positive(t, failures)
	for tenant, answered := range done {
		history := []*scopeState{{map[string]string{}, map[string]bool{}}}
		byContent, byVersion := map[string]*step{}, map[uint64]*step{}
		for _, s := range answered {
			byContent[s.puts.Content] = s
			if s.made > 0 {
				require.Nil(t, byVersion[s.made], "seed %d: two mutations made version %d", seed, s.made)
				byVersion[s.made] = s
			}
		}
		scope := driver.Scope{Tenant: tenant, Ref: "r"}
		for n := uint64(1); n <= version(tenant); n++ {
			s := byVersion[n]
			if s == nil { // one whose answer was lost
				put, ended := touchedBy(t, db, scope, n)
				recs, err := st.Lookup(t.Context(), scope, put)
				require.NoError(t, err)
				require.Len(t, recs, 1)
				s = byContent[recs[0].Entry.Content]
				require.ErrorIs(t, s.err, ErrOutcomeUnknown, "seed %d: version %d", seed, n)
				require.Equal(t, s.ends, strings.Join(ended, ""))
			}
			next := history[n-1].clone()
			require.True(t, next.does(s), "seed %d: version %d cannot be made of what was before", seed, n)
			history = append(history, next)
		}
		for _, s := range answered {
			if errors.Is(s.err, driver.ErrConflict) {
				was := history[s.lo : s.hi+1]
				require.True(t, slices.ContainsFunc(was, func(at *scopeState) bool { return !at.clone().does(s) }),
					"seed %d: refused between the versions %d and %d, which allow it", seed, s.lo, s.hi)
			} else if s.err != nil && !errors.Is(s.err, ErrOutcomeUnknown) && !errors.Is(s.err, context.Canceled) {
				require.EqualError(t, s.err, "sqlite: "+writeFailed+": "+diskFull)
			}
		}
		last := history[len(history)-1]
		entries, err := st.List(t.Context(), scope, driver.Query{At: then})
		require.NoError(t, err)
		require.Len(t, entries, len(last.contents)-len(last.ended))
		for _, e := range entries {
			require.Equal(t, last.contents[e.ID], e.Content)
			require.False(t, last.ended[e.ID])
		}
	}
}

// What was refused because of another mutation of its transaction is judged anew if that one is
// not committed.
func TestM8_RefusedForWhatFailed(t *testing.T) {
	full := diskIsFull(t)
	synctest.Test(t, func(t *testing.T) {
		db, count := openCounted(t)
		commits := 0
		count.exec = func(text string, run func() error) error {
			if text == "COMMIT" {
				if commits++; commits == 2 || commits == 3 { // of both, and of the first alone
					return full
				}
			}
			return run()
		}
		held, answers := make(chan bool), [3]chan error{}
		for i, do := range []func() error{
			func() error {
				return db.tx(t.Context(), func(t *tx) error {
					t.exec(`UPDATE meta SET value = value`)
					<-held
					return nil
				})
			},
			func() error {
				return db.Memory().Put(t.Context(), here, driver.Entry{ID: "a", Content: "1", CreatedAt: then})
			},
			func() error { // whose entry is looked up first
				put := []driver.Placed{{Scope: here, Entry: driver.Entry{ID: "a", Content: "2", CreatedAt: then}}}
				_, err := db.Memory().Apply(t.Context(), here.Tenant, driver.Mutation{Put: put, Limits: driver.Limits{Entries: 100}})
				return err
			},
		} {
			answers[i] = make(chan error, 1)
			go func() { answers[i] <- do() }()
			synctest.Wait()
		}
		close(held)
		require.NoError(t, <-answers[0])
		require.EqualError(t, <-answers[1], "sqlite: "+writeFailed+": "+diskFull)
		require.NoError(t, <-answers[2])
		require.Equal(t, 4, commits)
		require.NoError(t, db.Close())
		require.NoError(t, db.readers.Close())
	})
}

// touchedBy returns what a version has put and retired.
func touchedBy(t *testing.T, db *DB, s driver.Scope, n uint64) (put, retired []string) {
	var marks [2]driver.Version
	for i := range marks {
		at := n - 1 + uint64(i)
		mark := driver.FirstMark(db.dialect.Incarnation, s.Tenant)
		if at > 0 {
			var stored []byte
			require.NoError(t, first(db.reads(t.Context()), []any{&stored}, `SELECT mark FROM versions WHERE tenant = ? AND version = ?`, s.Tenant, int64(at)))
			copy(mark[:], stored)
		}
		marks[i] = mark.Version(at)
	}
	changed, err := db.Memory().Changes(t.Context(), s, marks[0], marks[1])
	require.NoError(t, err)
	return changed.Put, changed.Retired
}

// What shares a transaction with what empties the log waits for that, and an erasure that is
// refused leaves nothing to be emptied.
func TestM10_ErasedTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer db.Close()
	st := db.Memory()
	const n = 40
	for i := range n {
		require.NoError(t, st.Put(t.Context(), here, driver.Entry{ID: fmt.Sprint(i), Content: fmt.Sprintf("erased-%02d-text", i), CreatedAt: then}))
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			m := driver.Mutation{At: then, Erase: []driver.Located{{Scope: here, ID: fmt.Sprint(i)}}}
			if i%4 == 0 {
				m.Live = []driver.Located{{Scope: here, ID: "missing"}}
			}
			_, err := st.Apply(t.Context(), here.Tenant, m)
			if (err != nil) != (i%4 == 0) {
				t.Errorf("%d: %v", i, err)
			}
			if err == nil && len(onDiskOf(t, path, fmt.Sprintf("erased-%02d-text", i))) > 0 {
				t.Errorf("%d is on the disk", i)
			}
		})
	}
	all.Wait()
	for i := range n {
		require.Equal(t, i%4 == 0, len(onDiskOf(t, path, fmt.Sprintf("erased-%02d-text", i))) > 0, i)
	}
}

// onDiskOf returns which of a database's files have a text.
func onDiskOf(t *testing.T, path, text string) (files []string) {
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(data), text) {
			files = append(files, name)
		}
	}
	return files
}

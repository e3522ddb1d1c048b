package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// envLoad makes the test binary put values into a file until it is killed or its input ends;
// envLoadOf says how long they are and the number of the load.
const (
	envLoad   = "AGENTMEMORY_SQLITE_LOAD"
	envLoadOf = "AGENTMEMORY_SQLITE_LOAD_OF"
)

func init() { children[envLoad] = load }

// valueOf is what the entry and the file of an id say, so that half a value shows.
func valueOf(id string, size int) string {
	return strings.Repeat(id+".", size/(len(id)+1)+1)[:size]
}

// load puts an entry and a file in each mutation, and erases the oldest entries now and then,
// which empties the log. It prints each outcome after it was acknowledged, and the erasures
// before they begin too.
func load(ctx context.Context, path string) error {
	var size, number int
	if _, err := fmt.Sscan(os.Getenv(envLoadOf), &size, &number); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	st := db.Memory()
	live, err := st.List(ctx, home, driver.Query{At: now})
	if err != nil {
		return err
	}
	ids := idsOf(live)
	slices.Sort(ids)
	rng := rand.New(rand.NewPCG(uint64(size), uint64(number)))
	for n := 0; ; n++ {
		select {
		case <-over:
			return db.Close()
		default:
		}
		id := fmt.Sprintf("%05d-%06d", number, n)
		_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(id, valueOf(id, size))}},
			Documents: []driver.DocumentSwap{{Document: fileOf(id, size)}}})
		if err != nil {
			return err
		}
		fmt.Println("put", id)
		ids = append(ids, id)
		if len(ids) < 6 || rng.IntN(2) > 0 {
			continue
		}
		erased := ids[:1+rng.IntN(4)]
		ids = ids[len(erased):]
		m := driver.Mutation{At: now}
		for _, id := range erased {
			m.Erase = append(m.Erase, driver.Located{Scope: home, ID: id})
			fmt.Println("erasing", id)
		}
		if _, err := st.Apply(ctx, home.Tenant, m); err != nil {
			return err
		}
		for _, id := range erased {
			fmt.Println("erased", id)
		}
	}
}

// fileOf is a document that goes with its entry.
func fileOf(id string, size int) driver.Document {
	return driver.Document{Scope: home, Class: driver.Content, Kind: "file", Key: id, Of: []string{id}, Value: []byte(valueOf(id, size))}
}

// loading is a process under load and what it has acknowledged.
type loading struct {
	*exec.Cmd
	stdin  io.Closer
	stderr strings.Builder
	lines  chan struct{} // one for each line that was read; closed at the end of the output
	mu     sync.Mutex
	said   map[string]string // the last word about an id
}

// startLoad starts a load; what loads before it have said is taken over.
func startLoad(t *testing.T, path string, size, number int, said map[string]string) *loading {
	self, err := os.Executable()
	require.NoError(t, err)
	c := &loading{Cmd: exec.CommandContext(t.Context(), self), lines: make(chan struct{}, 1<<16), said: said}
	c.Env = append(os.Environ(), envLoad+"="+path, fmt.Sprint(envLoadOf, "=", size, " ", number))
	c.Stderr = &c.stderr
	c.stdin, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			word, id, _ := strings.Cut(lines.Text(), " ")
			c.mu.Lock()
			c.said[id] = word
			c.mu.Unlock()
			c.lines <- struct{}{}
		}
		close(c.lines)
	}()
	return c
}

// until waits for so many lines.
func (c *loading) until(t *testing.T, lines int) {
	for range lines {
		if _, more := <-c.lines; !more {
			c.Wait()
			require.Fail(t, "the load ended by itself", c.stderr.String())
		}
	}
}

// acknowledged is what the process has said until now.
func (c *loading) acknowledged() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.said)
}

// over waits for the end of the process and reads the rest of what it said.
func (c *loading) over() error {
	for range c.lines {
	}
	return c.Wait()
}

func (c *loading) kill() {
	c.Process.Kill()
	c.over()
}

// holds checks that everything acknowledged is in a file, and that all of it is whole.
func holds(t *testing.T, path string, size int, said map[string]string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	entries, err := db.Memory().List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	files := map[string]bool{}
	for d, err := range db.Memory().Documents(t.Context(), driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref, Kind: "file"}) {
		require.NoError(t, err)
		require.True(t, string(d.Value) == valueOf(d.Key, size), "half a file")
		files[d.Key] = true
	}
	require.Len(t, entries, len(files))
	for _, e := range entries {
		require.True(t, e.Content == valueOf(e.ID, size), "half an entry")
		require.True(t, files[e.ID], "half a mutation")
		require.NotEqual(t, "erased", said[e.ID])
	}
	for id, word := range said {
		require.True(t, word != "put" || files[id], "%s was acknowledged and is lost", id)
	}
	require.NoError(t, db.Close())
}

// sound checks a file by SQLite's own check.
func sound(t *testing.T, path string) {
	t.Helper()
	tool := raw(t, path)
	var verdict string
	require.NoError(t, tool.QueryRow(`PRAGMA integrity_check`).Scan(&verdict))
	require.Equal(t, "ok", verdict)
	require.NoError(t, tool.Close())
}

// long returns how often to do something: all of it takes minutes.
func long(few, all int) int {
	if os.Getenv("AGENTMEMORY_LONG") != "" {
		return all
	}
	return few
}

// After kill -9 at any moment the file opens, with everything that was acknowledged, however
// long the values are; mostly the next process opens it as the killed one left it.
func TestM8_KilledWithValues(t *testing.T) {
	for _, c := range []struct{ size, looks int }{{500, 400}, {60_000, 4000}, {1 << 20, 40_000}} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(c.size), 2))
			path := filepath.Join(t.TempDir(), "memory.db")
			said := map[string]string{}
			for kill := range long(6, 200) {
				l := startLoad(t, path, c.size, kill, said)
				l.until(t, 1+rng.IntN(24))
				for range rng.IntN(c.looks) { // into the midst of a write
					os.Stat(path)
				}
				l.kill()
				if kill%8 == 7 {
					holds(t, path, c.size, said)
					continue
				}
				left := filepath.Join(t.TempDir(), "left.db")
				copied(t, path, left)
				if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
					copied(t, path+"-wal", left+"-wal")
				}
				holds(t, left, c.size, said)
				sound(t, left)
				require.NoError(t, os.Remove(left))
			}
			holds(t, path, c.size, said)
			sound(t, path)
		})
	}
}

// A process that opens and closes the file beside one that writes finds everything that was
// acknowledged before, each time.
func TestM8_OpenedBesideAWriter(t *testing.T) {
	const size = 60_000
	path := filepath.Join(t.TempDir(), "memory.db")
	l := startLoad(t, path, size, 0, map[string]string{})
	l.until(t, 1)
	for range long(50, 1000) {
		said := l.acknowledged()
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		require.NoError(t, err)
		var ids []string
		for id, word := range said {
			if word == "put" {
				ids = append(ids, id)
			}
		}
		found, err := db.Memory().Lookup(t.Context(), home, ids)
		require.NoError(t, err)
		require.Len(t, found, len(ids))
		for _, r := range found { // it may have been erased since
			require.True(t, r.Erased || r.Entry.Content == valueOf(r.Entry.ID, size))
		}
		require.NoError(t, db.Close())
		for len(l.lines) > 0 {
			<-l.lines
		}
	}
	require.NoError(t, l.stdin.Close())
	require.NoError(t, l.over(), l.stderr.String())
	holds(t, path, size, l.said)
	sound(t, path)
}

func idsOf(entries []driver.Entry) []string {
	ids := []string{}
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

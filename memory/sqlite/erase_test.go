package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

var (
	home = driver.Scope{Tenant: "acme", Ref: "support"}
	now  = time.UnixMilli(1_760_000_000_000).UTC()
)

func entry(id, content string) driver.Entry {
	return driver.Entry{ID: id, Content: content, CreatedAt: now, RunID: "run-1"}
}

func open(t *testing.T, path string) *sqlite.DB {
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func fresh(t *testing.T) (*sqlite.DB, string) {
	path := filepath.Join(t.TempDir(), "memory.db")
	return open(t, path), path
}

// raw opens a file beside the store.
func raw(t *testing.T, path string) *sql.DB {
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// onDisk counts how often a text is in the database and its log.
func onDisk(t *testing.T, path, text string) (n int) {
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		n += bytes.Count(data, []byte(text))
	}
	return n
}

// What is erased is in no page of the file and in no frame of its log, and what a
// purge removes neither.
func TestM10_ErasureReachesTheDisk(t *testing.T) {
	const secret, label, tag, source = "the-erased-sentence", "customer:4711", "the-erased-tag", "the-erased-source"
	long := secret + string(bytes.Repeat([]byte("x"), 9000)) + secret // reaches overflow pages
	erase := func(st *sqlite.Store) error {
		_, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "a"}, {Scope: home, ID: "b"}}})
		return err
	}
	purge := func(st *sqlite.Store) error {
		for _, id := range []string{"a", "b"} {
			if _, err := st.Delete(t.Context(), home, id, now); err != nil {
				return err
			}
		}
		v, err := st.Version(t.Context(), home.Tenant)
		if err != nil {
			return err
		}
		_, err = st.Purge(t.Context(), home.Tenant, v, now)
		return err
	}
	for name, remove := range map[string]func(*sqlite.Store) error{"erase": erase, "purge": purge} {
		t.Run(name, func(t *testing.T) {
			db, path := fresh(t)
			st := db.Memory()
			for id, text := range map[string]string{"a": secret, "b": long} {
				e := entry(id, text)
				e.Tags, e.Subjects, e.Sources = []string{tag}, []string{label}, []string{source}
				require.NoError(t, st.Put(t.Context(), home, e))
			}
			require.NoError(t, st.Put(t.Context(), home, entry("c", "the-kept-sentence")))
			require.Positive(t, onDisk(t, path, secret))
			require.NoError(t, remove(st))
			for _, text := range []string{secret, label, tag, source} {
				require.Zero(t, onDisk(t, path, text), text)
			}
			require.Positive(t, onDisk(t, path, "the-kept-sentence"))
		})
	}
}

// A reader of an older state keeps the log from being emptied; the next write after it
// does that.
func TestM10_ErasureWaitsForReaders(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("a", "the-erased-sentence")))
	reader, err := raw(t, path).Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow(`SELECT count(*) FROM entries`).Scan(&n))
	_, err = st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "a"}}})
	require.NoError(t, err)
	require.Positive(t, onDisk(t, path, "the-erased-sentence"))
	require.NoError(t, reader.Rollback())
	require.NoError(t, st.Put(t.Context(), home, entry("b", "other")))
	require.Zero(t, onDisk(t, path, "the-erased-sentence"))
}

// A process that died before it could empty the log leaves that to the next one.
func TestM10_ErasureOfTheDead(t *testing.T) {
	db, path := fresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("a", "the-erased-sentence")))
	dead, err := raw(t, path).Conn(t.Context())
	require.NoError(t, err)
	_, err = dead.ExecContext(t.Context(), `PRAGMA secure_delete = ON; UPDATE texts SET content = ''`)
	require.NoError(t, err)
	require.Positive(t, onDisk(t, path, "the-erased-sentence"))
	open(t, path)
	require.Zero(t, onDisk(t, path, "the-erased-sentence"))
}

// A process that was killed before it could empty the log leaves that to the next write
// of any that has the file open, which is told by the erasure itself.
func TestM10_ErasureOfTheKilled(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("a", "the-erased-sentence")))
	killed := open(t, path)
	reader, err := raw(t, path).Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow(`SELECT count(*) FROM entries`).Scan(&n))
	_, err = killed.Memory().Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "a"}}})
	require.NoError(t, err)
	require.NoError(t, st.Put(t.Context(), home, entry("b", "other")))
	require.NoError(t, reader.Rollback())
	require.Positive(t, onDisk(t, path, "the-erased-sentence"))
	told := func() (n int) {
		require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM meta WHERE key = 'unclean'`).Scan(&n))
		return n
	}
	require.Equal(t, 1, told())
	require.NoError(t, st.Put(t.Context(), home, entry("c", "other")))
	require.Zero(t, onDisk(t, path, "the-erased-sentence"))
	require.NoError(t, st.Put(t.Context(), home, entry("d", "other")))
	require.Zero(t, told(), "once it is done it is not done again")
}

// A view does not move when a transaction commits that was under way while it was
// taken, and a version is read while one is held open.
func TestM7_OverlappingTransactions(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("a", "one")))
	other := raw(t, path)
	conn, err := other.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	do := func(text string, args ...any) {
		_, err := conn.ExecContext(t.Context(), text, args...)
		require.NoError(t, err)
	}
	do(`BEGIN IMMEDIATE`)
	do(`INSERT INTO versions (tenant, version, mark, entries, bytes, journal) VALUES (?, 2, x'00112233445566778899', 1, 0, x'')`, home.Tenant)
	do(`INSERT INTO entries (tenant, ref, id, created, expires, born, entry) VALUES (?, ?, 'b', 0, 9223372036854775807, 2, 2)`, home.Tenant, home.Ref)
	do(`INSERT INTO texts (entry, content) VALUES (2, '')`)
	do(`UPDATE entries SET died = 2, state = 3 WHERE id = 'a'`)

	v, err := st.Version(t.Context(), home.Tenant)
	require.NoError(t, err)
	shown := func() (ids []string) {
		entries, err := st.List(t.Context(), home, driver.Query{At: now, Version: v})
		require.NoError(t, err)
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return ids
	}
	require.Equal(t, []string{"a"}, shown())
	do(`COMMIT`)
	require.Equal(t, []string{"a"}, shown())
	gone, err := st.List(t.Context(), home, driver.Query{At: now, Version: v, IDs: []string{"b"}})
	require.NoError(t, err)
	require.Empty(t, gone)
	require.NoError(t, st.Put(t.Context(), home, entry("c", "three")))
	require.Equal(t, []string{"a"}, shown())
	live, err := st.List(t.Context(), home, driver.Query{At: now})
	require.NoError(t, err)
	require.Len(t, live, 2)
}

// Who closes leaves nothing of what was erased to those that go on.
func TestM10_ErasureBeforeClose(t *testing.T) {
	db, path := fresh(t)
	require.NoError(t, db.Memory().Put(t.Context(), home, entry("a", "the-erased-sentence")))
	second := open(t, path)
	reader, err := raw(t, path).Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRow(`SELECT count(*) FROM entries`).Scan(&n))
	_, err = second.Memory().Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "a"}}})
	require.NoError(t, err)
	require.NoError(t, reader.Rollback())
	require.NoError(t, second.Close())
	require.Zero(t, onDisk(t, path, "the-erased-sentence"))
}

// A constant flow of reads does not keep the log from being emptied.
func TestM10_ErasureAmongReaders(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	var m driver.Mutation
	for i := range 5000 {
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: entry(fmt.Sprint(i), "other")})
	}
	_, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err)
	require.NoError(t, st.Put(t.Context(), home, entry("a", "the-erased-sentence")))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	reading := make(chan struct{}, 6)
	for range cap(reading) {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, err := st.List(t.Context(), home, driver.Query{At: now}); err != nil {
					t.Error(err)
				}
				if n == 0 {
					reading <- struct{}{}
				}
			}
		})
	}
	for range cap(reading) {
		<-reading
	}
	_, err = st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: "a"}}})
	left := onDisk(t, path, "the-erased-sentence")
	stop()
	all.Wait()
	require.NoError(t, err)
	require.Zero(t, left)
}

// Beside the id of an entry that is erased, a version of a tenant that is dropped, and bodies until
// the next purge, no table has a row about what is gone.
func TestM10_NoRowIsLeft(t *testing.T) {
	db, path := fresh(t)
	st, ctx := db.Memory(), t.Context()
	file := raw(t, path)
	rows := func(want map[string]int) {
		t.Helper()
		got := map[string]int{}
		for table := range want {
			var n int
			require.NoError(t, file.QueryRow(`SELECT count(*) FROM `+table).Scan(&n))
			got[table] = n
		}
		require.Equal(t, want, got)
	}
	apply := func(m driver.Mutation) driver.Applied {
		t.Helper()
		m.At = now
		done, err := st.Apply(ctx, home.Tenant, m)
		require.NoError(t, err)
		return done
	}
	purge := func() {
		t.Helper()
		v, err := st.Version(ctx, home.Tenant)
		require.NoError(t, err)
		_, err = st.Purge(ctx, home.Tenant, v, now)
		require.NoError(t, err)
	}
	at := func(id string) []driver.Located { return []driver.Located{{Scope: home, ID: id}} }
	labelled := func(id string) []driver.Placed {
		e := entry(id, "text of "+id)
		e.Subjects = []string{"customer:1", "customer:2"}[:1+len(id)%2]
		return []driver.Placed{{Scope: home, Entry: e}}
	}
	digest := func(of string) driver.DocumentSwap {
		return driver.DocumentSwap{Document: driver.Document{Scope: home, Class: driver.Content, Kind: "digest", Key: of, Of: []string{of}, Value: []byte("digest")}}
	}
	letter := driver.DocumentSwap{Document: driver.Document{Scope: home, Class: driver.HostText, Kind: "file", Key: "f", Subjects: []string{"customer:1"}, Value: []byte("letter")}}

	apply(driver.Mutation{Put: labelled("erased"), Documents: []driver.DocumentSwap{digest("erased")}})
	made := apply(driver.Mutation{Put: labelled("purged"), Documents: []driver.DocumentSwap{digest("purged"), letter}})
	rows(map[string]int{"entries": 2, "texts": 2, "labels": 2, "documents": 3, "bodies": 3, "document_of": 2, "document_labels": 1})
	letter.Act, letter.Rev = driver.Remove, made.Revs[1]
	apply(driver.Mutation{Erase: at("erased"), Documents: []driver.DocumentSwap{letter}})
	rows(map[string]int{"entries": 2, "texts": 2, "labels": 1, "documents": 1, "bodies": 3, "document_of": 1, "document_labels": 0, "erased_spans": 1})

	apply(driver.Mutation{Put: labelled("head")})
	apply(driver.Mutation{Retire: []driver.Retirement{{Located: at("purged")[0], State: driver.Merged, For: "head"}}})
	apply(driver.Mutation{Restore: at("purged")})
	_, err := st.Delete(ctx, home, "purged", now)
	require.NoError(t, err)
	purge()
	rows(map[string]int{"entries": 1, "texts": 1, "labels": 1, "documents": 0, "bodies": 0, "document_of": 0, "erased_spans": 0, "versions": 1})

	apply(driver.Mutation{Put: labelled("again"), Documents: []driver.DocumentSwap{digest("head")}})
	apply(driver.Mutation{Erase: at("again")})
	purgedTo, err := st.Version(ctx, home.Tenant)
	require.NoError(t, err)
	rows(map[string]int{"erased_spans": 1})
	_, err = st.Purge(ctx, home.Tenant, purgedTo, now) // the erasure is at that version
	require.NoError(t, err)
	rows(map[string]int{"erased_spans": 0})

	apply(driver.Mutation{Erase: at("head")})
	apply(driver.Mutation{Put: labelled("dropped"), Documents: []driver.DocumentSwap{digest("dropped")}})
	drop(t, st, home.Tenant, 1)
	rows(map[string]int{"entries": 0, "texts": 0, "labels": 0, "documents": 0, "bodies": 0, "document_of": 0, "erased_spans": 0, "versions": 1})
}

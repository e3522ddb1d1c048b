package sqlite_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// What SQLite moved from page to page before it was erased is not on the pages that it
// left either.
func TestM10_ErasureReachesWhatMoved(t *testing.T) {
	for _, seed := range []int64{9, 18, 26} {
		rng := rand.New(rand.NewSource(seed))
		db, path := fresh(t)
		st := db.Memory()
		mark := func(i int) string { return fmt.Sprintf("MARK%05dKRAM", i) }
		id := func(i int) string { return fmt.Sprintf("id%05d", i) }
		purge := func() {
			v, err := st.Version(t.Context(), home.Tenant)
			require.NoError(t, err)
			_, err = st.Purge(t.Context(), home.Tenant, v, now)
			require.NoError(t, err)
		}
		const n = 200
		var m driver.Mutation
		for i := range n {
			text := bytes.Repeat([]byte(mark(i)), 1+rng.Intn([]int{20, 100, 300, 700, 1500, 3000, 6000}[rng.Intn(7)])/13)
			m.Put = append(m.Put, driver.Placed{Scope: home, Entry: entry(id(i), string(text))})
		}
		_, err := st.Apply(t.Context(), home.Tenant, m)
		require.NoError(t, err)
		order := rng.Perm(n)
		for _, i := range order[:n/2] {
			_, err := st.Delete(t.Context(), home, id(i), now)
			require.NoError(t, err)
			if rng.Intn(3) == 0 {
				purge()
			}
		}
		purge()
		for _, i := range order[n/2 : n*3/4] {
			_, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Erase: []driver.Located{{Scope: home, ID: id(i)}}})
			require.NoError(t, err)
		}
		for _, i := range order[:n*3/4] {
			require.Zero(t, onDisk(t, path, mark(i)), "seed %d: %s", seed, id(i))
		}
		require.NoError(t, db.Close())
	}
}

// Nothing that is erased, overwritten or removed leaves a copy after any history,
// and no page is read for it but those that it is on: entries, content and host text of
// many sizes come and go, and what goes is looked for in the file and its log at once.
func TestM10_NoCopyIsMade(t *testing.T) {
	for seed := range int64(2) {
		rng := rand.New(rand.NewSource(seed))
		path := filepath.Join(t.TempDir(), "memory.db")
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
		require.NoError(t, err)
		st := db.Memory()
		n := 0
		text := func() (mark, long string) {
			n++
			mark = fmt.Sprintf("MARK%05dKRAM", n)
			return mark, strings.Repeat(mark, 1+rng.Intn([]int{20, 100, 300, 700, 1500, 3000, 6000}[rng.Intn(7)])/13)
		}
		apply := func(m driver.Mutation) driver.Applied {
			m.At = now
			done, err := st.Apply(t.Context(), home.Tenant, m)
			require.NoError(t, err)
			return done
		}
		gone := func(marks ...string) {
			for _, mark := range marks {
				require.Zero(t, onDisk(t, path, mark), "seed %d: %s", seed, mark)
			}
		}
		type kept struct{ id, mark, archived string }
		var entries []kept
		files := map[string]string{} // the mark of each
		revs := map[string]int64{}
		for range 400 {
			switch k := rng.Intn(10); {
			case k < 4: // an entry with its archive, labels and tags
				mark, long := text()
				e := entry("id-"+mark, long)
				e.Tags, e.Subjects, e.Sources = []string{"tag-" + mark}, []string{"label-" + mark}, []string{"source-" + mark}
				archived, archive := text()
				apply(driver.Mutation{Put: []driver.Placed{{Scope: home, Entry: e}}, Documents: []driver.DocumentSwap{{Document: driver.Document{
					Scope: home, Class: driver.Content, Kind: "archive", Key: fmt.Sprint("k", n), Value: []byte(archive), Of: []string{e.ID}}}}})
				entries = append(entries, kept{e.ID, mark, archived})
			case k < 6: // a file
				mark, long := text()
				path := fmt.Sprint("file", rng.Intn(12))
				done := apply(driver.Mutation{Documents: []driver.DocumentSwap{{Document: driver.Document{Scope: home, Class: driver.HostText,
					Kind: "file", Key: path, Value: []byte(long), Subjects: []string{"label-" + mark}, Rev: revs[path]}}}})
				if old, written := files[path]; written {
					gone(old)
				}
				files[path], revs[path] = mark, done.Revs[0]
			case k < 7 && len(files) > 0: // other labels, the same text
				path := slices.Sorted(maps.Keys(files))[rng.Intn(len(files))]
				_, label := text()
				done := apply(driver.Mutation{Documents: []driver.DocumentSwap{{Act: driver.Retain, Document: driver.Document{Scope: home,
					Class: driver.HostText, Kind: "file", Key: path, Subjects: []string{label[:12]}, Rev: revs[path]}}}})
				revs[path] = done.Revs[0]
			case k < 8 && len(entries) > 1: // what changes of an entry is elsewhere
				x, y := entries[rng.Intn(len(entries))], entries[rng.Intn(len(entries))]
				if x.id != y.id {
					apply(driver.Mutation{Retire: []driver.Retirement{{Located: driver.Located{Scope: home, ID: x.id}, State: driver.Merged, For: y.id}}})
					apply(driver.Mutation{Restore: []driver.Located{{Scope: home, ID: x.id}}})
				}
			case len(entries) > 0:
				i := rng.Intn(len(entries))
				x := entries[i]
				entries = slices.Delete(entries, i, i+1)
				apply(driver.Mutation{Erase: []driver.Located{{Scope: home, ID: x.id}}})
				for _, what := range []string{"tag-", "label-", "source-", ""} {
					text := what + x.mark
					if what == "" {
						text = x.mark + x.mark // the id that stays has it once
					}
					gone(text)
				}
				gone(x.archived)
			}
		}
		for path, mark := range files {
			apply(driver.Mutation{Documents: []driver.DocumentSwap{{Act: driver.Remove, Document: driver.Document{Scope: home,
				Class: driver.HostText, Kind: "file", Key: path, Rev: revs[path]}}}})
			gone(mark)
		}
		for _, x := range entries {
			require.Positive(t, onDisk(t, path, x.mark))
		}
		require.NoError(t, db.Close())
	}
}

// A purge takes out the bodies of former versions of files once they are many, and what it
// moves for that leaves no copy.
func TestM10_UnusedBodies(t *testing.T) {
	db, path := fresh(t)
	st := db.Memory()
	rng := rand.New(rand.NewSource(3))
	const files, versions = 200, 600
	docs := map[string]driver.Document{}
	apply := func(act driver.Act, d driver.Document) driver.Document {
		done, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d, Act: act}}})
		require.NoError(t, err)
		d.Rev = done.Revs[0]
		return d
	}
	for i := range versions {
		key := fmt.Sprint("file", rng.Intn(files))
		d := docs[key]
		d.Scope, d.Class, d.Kind, d.Key = home, driver.HostText, "file", key
		d.Value = []byte(strings.Repeat(fmt.Sprintf("MARK%05dKRAM", i), 1+rng.Intn([]int{300, 700, 1500}[rng.Intn(3)])/13))
		docs[key] = apply(driver.Set, d)
	}
	bodies := func() (n int) {
		require.NoError(t, raw(t, path).QueryRow(`SELECT count(*) FROM bodies`).Scan(&n))
		return n
	}
	require.Equal(t, versions, bodies())
	v, err := st.Version(t.Context(), home.Tenant)
	require.NoError(t, err)
	n, err := st.Purge(t.Context(), home.Tenant, v, now)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, len(docs), bodies())
	for _, d := range docs {
		apply(driver.Remove, d)
		require.Zero(t, onDisk(t, path, string(d.Value[:13])))
	}
}

package sqlite_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
)

// The tables with text, as letters in a mark: texts with their heads, and bodies of content and
// of host text.
const (
	inEntry   = 'E'
	inHead    = 'H'
	inContent = 'C'
	inFile    = 'F'
)

// markOf is what the row of a number says in a table, over and over and never in part.
func markOf(table rune, row int) string { return fmt.Sprintf("MARK%c%06d.", table, row) }

func marked(table rune, row, size int) string {
	mark := markOf(table, row)
	return strings.Repeat(mark, (size+len(mark)-1)/len(mark))
}

// marksOnDisk finds the rows of which a file or its log has anything, by table.
func marksOnDisk(t *testing.T, path string) map[rune]map[int]bool {
	found := map[rune]map[int]bool{inEntry: {}, inHead: {}, inContent: {}, inFile: {}}
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for {
			i := bytes.Index(data, []byte("MARK"))
			if i < 0 || i+11 > len(data) {
				break
			}
			row, err := strconv.Atoi(string(data[i+5 : i+11]))
			if of := found[rune(data[i+4])]; err == nil && of != nil {
				of[row] = true
			}
			data = data[i+4:]
		}
	}
	return found
}

// Of many rows four in five are erased, removed or purged at random, in every table that has
// text: nothing of these is in the file or its log, and everything else is.
func TestM10_ErasureOfMany(t *testing.T) {
	for _, size := range []int{40, 400, 3000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			rows := long(2000, 20_000)
			erased, batch := rows*4/5, rows/200
			rng := rand.New(rand.NewPCG(uint64(size), 6)) // without its sweep a purge leaves something then
			path := filepath.Join(t.TempDir(), "memory.db")
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
			require.NoError(t, err)
			defer db.Close()
			st := db.Memory()
			apply := func(m driver.Mutation) driver.Applied {
				m.At = now
				done, err := st.Apply(t.Context(), home.Tenant, m)
				require.NoError(t, err)
				return done
			}
			id := func(row int) string { return fmt.Sprintf("id%06d", row) }
			file := func(row int) driver.Document {
				return driver.Document{Scope: home, Class: driver.HostText, Kind: "file", Key: id(row)}
			}
			revs := make([]int64, rows)
			for first := 0; first < rows; first += batch {
				var m driver.Mutation
				for row := first; row < first+batch; row++ {
					e := entry(id(row), marked(inEntry, row, size))
					head := marked(inHead, row, min(size, 200))
					e.Tags, e.Subjects, e.Sources = []string{head}, []string{head}, []string{head}
					f := file(row)
					f.Value, f.Subjects = []byte(marked(inFile, row, size)), []string{head}
					m.Put = append(m.Put, driver.Placed{Scope: home, Entry: e})
					m.Documents = append(m.Documents, driver.DocumentSwap{Document: f}, driver.DocumentSwap{Document: driver.Document{Scope: home,
						Class: driver.Content, Kind: "archive", Key: id(row), Of: []string{id(row)}, Value: []byte(marked(inContent, row, size))}})
				}
				done := apply(m)
				for i := range batch {
					revs[first+i] = done.Revs[2*i]
				}
			}
			purge := func() {
				v, err := st.Version(t.Context(), home.Tenant)
				require.NoError(t, err)
				_, err = st.Purge(t.Context(), home.Tenant, v, now)
				require.NoError(t, err)
			}
			order := rng.Perm(rows)
			for first := 0; first < erased; first += batch {
				var m driver.Mutation
				deletes := rng.IntN(erased) > first // rows that a purge has moved are erased later
				for _, row := range order[first : first+batch] {
					f := file(row)
					f.Rev = revs[row]
					m.Documents = append(m.Documents, driver.DocumentSwap{Document: f, Act: driver.Remove})
					at := driver.Located{Scope: home, ID: id(row)}
					if deletes {
						m.Retire = append(m.Retire, driver.Retirement{Located: at, State: driver.Deleted})
					} else {
						m.Erase = append(m.Erase, at)
					}
				}
				apply(m)
				if deletes {
					purge()
				}
			}
			complete := func() {
				t.Helper()
				for table, found := range marksOnDisk(t, path) {
					for i, row := range order {
						if (i >= erased) != found[row] {
							require.Failf(t, "of table "+string(table), "row %d, the %d. to go of %d: on the disk is %v", row, i, erased, found[row])
						}
					}
				}
			}
			complete()
			purge() // what is left of them
			complete()
		})
	}
}

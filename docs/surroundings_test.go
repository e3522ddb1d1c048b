package docs

// surroundings are what fragments rest on, by the first line of the fragment. One that is not
// here rests on nothing but a context.
var surroundings = map[string]surrounding{
	// The README: how to keep memory in a file.
	`db, err := sqlite.Open(ctx, "memory.db", sqlite.Options{}) // github.com/openwop/agentmemory/memory/sqlite`: {},

	// Concepts: ranked reads. What stands below a recall as a comment is what it finds.
	`ranker, err := recall.New(recall.Config{})`: {
		top: `
func put(ctx context.Context, bank *memory.Bank, d memory.Draft) {
	err := bank.Pass(ctx, memory.JobConfig{ID: "import", Tenant: "acme", Redactor: redact.New(redact.Config{})}, func(job *memory.Job) error {
		_, err := job.Put(ctx, "support", d)
		return err
	})
	if err != nil {
		panic(err)
	}
}

func show(hits []memory.Hit) {
	for _, h := range hits {
		fmt.Printf("%-52s  %v\n", h.Entry.Content, h.Terms)
	}
}
`,
		before: `
store, secrets := inmem.New(), redact.New(redact.Config{})
first, err := memory.New(store, memory.Config{})
if err != nil {
	return err
}
put(ctx, first, memory.Draft{Content: "The lease of the Berlin office ends on 30 June 2027."})
put(ctx, first, memory.Draft{Content: "Lena prefers calls before noon."})
`,
		replace: map[string]string{
			`// Another run writes: "Dana says that the Berlin lease was ended." (about dana)`: `put(ctx, bank, memory.Draft{Content: "Dana says that the Berlin lease was ended.", Subjects: []string{"dana"}})`,
		},
		show: "hits",
	},

	// The README: the test of a store. One law of the kit is enough here.
	`func TestStore(t *testing.T) {`: {
		only: "TestStore/TTL",
		files: map[string]string{"mystore/mystore.go": `
package mystore

import (
	"context"
	"sync"

	"github.com/openwop/agentmemory/memory/inmem"
)

// Store is in the place of the reader's own.
type Store struct {
	*inmem.Store
	dir string
}

var stores sync.Map // by directory

func Open(_ context.Context, dir string) (*Store, error) {
	st, _ := stores.LoadOrStore(dir, &Store{inmem.New(), dir})
	return st.(*Store), nil
}

func (st *Store) Dir() string { return st.dir }
`},
	},
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/openwop/agentmemory/bench/recall/dataset"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/internal/testkit/pgcluster"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/memory/postgres"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/recall"
	"github.com/openwop/agentmemory/redact"
)

// searcher answers a question with the ids of at most depth entries, best first.
type searcher func(ctx context.Context, text string) ([]string, error)

// store is one of the library's stores, with a bank that ranks.
type store struct {
	name    string
	adapter driver.Transactor
	bank    *memory.Bank
	tenant  string
	runs    int // and passes
	close   func(ctx context.Context) error
}

const (
	batch     = 100
	maxCopies = 20 // of one memory, for a consolidation to merge
)

// openStores opens all stores that this machine has. The second result says what is left out and why,
// or is empty.
func openStores(ctx context.Context, now time.Time, cfg recall.Config) (stores []*store, leftOut string, err error) {
	for _, open := range []func(context.Context, time.Time, recall.Config) (*store, error){openInMemory, openSQLite, openPostgres} {
		s, err := open(ctx, now, cfg)
		if errors.Is(err, pgcluster.ErrNoServer) {
			leftOut = "PostgreSQL is left out: " + err.Error()
			continue
		}
		if err != nil {
			return nil, "", errors.Join(err, closeStores(ctx, stores))
		}
		stores = append(stores, s)
	}
	return stores, leftOut, nil
}

func closeStores(ctx context.Context, stores []*store) error {
	var failed []error
	for _, s := range stores {
		failed = append(failed, s.close(ctx))
	}
	return errors.Join(failed...)
}

// openStore makes a bank over a store. Its clock stands still, after the last entry.
func openStore(name string, a driver.Transactor, now time.Time, cfg recall.Config, close func(ctx context.Context) error) (*store, error) {
	ranker, err := recall.New(cfg)
	if err != nil {
		return nil, err
	}
	bank, err := memory.New(a, memory.Config{Now: func() time.Time { return now }, Ranker: ranker})
	if err != nil {
		return nil, err
	}
	return &store{
		name: name, adapter: a, bank: bank, close: close,
		tenant: fmt.Sprintf("bench/recall %d.%d", os.Getpid(), time.Now().UnixNano()),
	}, nil
}

func openInMemory(_ context.Context, now time.Time, cfg recall.Config) (*store, error) {
	return openStore("in memory", inmem.New(), now, cfg, func(context.Context) error { return nil })
}

func openSQLite(ctx context.Context, now time.Time, cfg recall.Config) (*store, error) {
	dir, err := os.MkdirTemp("", "bench-recall-")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, filepath.Join(dir, "memory.db"), sqlite.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return openStore("SQLite", db.Memory(), now, cfg, func(context.Context) error {
		return errors.Join(db.Close(), os.RemoveAll(dir))
	})
}

func openPostgres(ctx context.Context, now time.Time, cfg recall.Config) (*store, error) {
	cluster, err := pgcluster.ForTests(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, cluster.DSN())
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	db, err := postgres.Open(ctx, pool, postgres.Options{})
	if err != nil {
		pool.Close()
		return nil, errors.Join(err, cluster.Close())
	}
	var s *store
	s, err = openStore("PostgreSQL", db.Memory(), now, cfg, func(ctx context.Context) error {
		err := s.bank.DropTenant(ctx, s.tenant)
		pool.Close()
		return errors.Join(err, cluster.Close())
	})
	return s, err
}

// live puts the entries of a data set's memory into a ref of their own and asks live memory.
func (s *store) live(ctx context.Context, m *dataset.Memory) (searcher, error) {
	ref := "live/" + m.Ref
	if err := s.put(ctx, ref, "entry", m.Entries, nil); err != nil {
		return nil, err
	}
	return s.answers(m, func(ctx context.Context, q memory.Search) ([]memory.Hit, error) {
		return s.bank.Search(ctx, s.tenant, ref, q)
	}), nil
}

// aged puts the same entries into another ref, where other things happen too, and asks through the
// view of a run:
//
//  1. Some of the entries are written a second time with blanks at the end, and the text of each
//     question is written as an entry about one subject.
//  2. A consolidation merges what is there twice.
//  3. The run starts.
//  4. The subject is forgotten, in the run's view too.
//  5. Step 1 and 2 happen once more, which the run does not see.
//
// So the view holds what live puts into its ref, and has to give the same answers.
func (s *store) aged(ctx context.Context, m *dataset.Memory) (searcher, error) {
	ref := "aged/" + m.Ref
	// Entries of different subjects never merge: only copies do, with what they are copies of.
	own := func(e *dataset.Entry) []string { return []string{"entry " + e.ID} }
	subject := "forgotten in " + m.Ref
	question := func(e *dataset.Entry) []string { return []string{subject, "question " + e.ID} }
	if err := s.put(ctx, ref, "entry", m.Entries, own); err != nil {
		return nil, err
	}
	var copies, lookalikes []dataset.Entry
	for i := 0; i < len(m.Entries) && len(copies) < maxCopies; i += 3 {
		e := m.Entries[i]
		e.At = e.At.Add(time.Minute)
		e.Text += " \n"
		copies = append(copies, e)
	}
	for _, q := range m.Questions {
		lookalikes = append(lookalikes, dataset.Entry{ID: q.ID, At: m.Entries[0].At, Text: q.Text})
	}
	disturb := func(round string) error {
		if err := s.put(ctx, ref, "copy "+round, copies, own); err != nil {
			return err
		}
		if err := s.put(ctx, ref, "lookalike "+round, lookalikes, question); err != nil {
			return err
		}
		return s.consolidate(ctx, ref, len(copies))
	}
	if err := disturb("before"); err != nil {
		return nil, err
	}
	s.runs++
	run, err := s.bank.Start(ctx, memory.RunConfig{ID: fmt.Sprint("run ", s.runs), Tenant: s.tenant, Redactor: redact.New(redact.Config{})})
	if err != nil {
		return nil, err
	}
	if gone, err := s.bank.Forget(ctx, s.tenant, subject); err != nil {
		return nil, err
	} else if len(gone.Erased) != len(lookalikes) {
		return nil, fmt.Errorf("%s: %d entries were forgotten, not %d", s.name, len(gone.Erased), len(lookalikes))
	}
	if err := disturb("after"); err != nil {
		return nil, err
	}
	return s.answers(m, func(ctx context.Context, q memory.Search) ([]memory.Hit, error) {
		return run.Search(ctx, ref, q)
	}), nil
}

// put writes entries under ids made of a kind and of their places, each with the subjects that about
// returns, if it is given.
func (s *store) put(ctx context.Context, ref, kind string, entries []dataset.Entry, about func(*dataset.Entry) []string) error {
	for first := 0; first < len(entries); first += batch {
		m := driver.Mutation{At: s.bank.Now()}
		for i := first; i < min(first+batch, len(entries)); i++ {
			e := memory.Entry{
				ID: storeID(kind, i), Content: entries[i].Content(), Tags: entries[i].Tags,
				CreatedAt: entries[i].At.UTC().Truncate(time.Millisecond), RunID: "import",
			}
			if about != nil {
				e.Subjects = about(&entries[i])
			}
			m.Put = append(m.Put, driver.Placed{Scope: memory.Scope{Tenant: s.tenant, Ref: ref}, Entry: e})
		}
		if _, err := s.adapter.Apply(ctx, s.tenant, m); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func storeID(kind string, place int) string { return fmt.Sprintf("%s %08d", kind, place) }

// consolidate makes one pass, which has to merge as many entries as there are copies.
func (s *store) consolidate(ctx context.Context, ref string, copies int) error {
	s.runs++
	job, err := s.bank.Background(memory.JobConfig{ID: fmt.Sprint("pass ", s.runs), Tenant: s.tenant, Redactor: redact.New(redact.Config{})})
	if err != nil {
		return err
	}
	c, err := consolidate.New(consolidate.Config{})
	if err != nil {
		return err
	}
	done, err := c.Run(ctx, job, ref, consolidate.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if done.Merged != copies {
		return fmt.Errorf("%s: the consolidation merged %d entries, not %d", s.name, done.Merged, copies)
	}
	return job.End(ctx)
}

// answers turns the hits of a question into ids of the data set. A hit that is no entry of the data set
// is an error: it was forgotten, merged or written after the view was taken.
func (s *store) answers(m *dataset.Memory, recall func(ctx context.Context, q memory.Search) ([]memory.Hit, error)) searcher {
	ids := map[string]string{}
	for i, e := range m.Entries {
		ids[storeID("entry", i)] = e.ID
	}
	return func(ctx context.Context, text string) ([]string, error) {
		hits, err := recall(ctx, memory.Search{Text: text, Limit: depth})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		var answer []string
		for _, h := range hits {
			id, known := ids[h.Entry.ID]
			if !known {
				return nil, fmt.Errorf("%s: an answer has the entry %q, which this view does not hold", s.name, h.Entry.ID)
			}
			answer = append(answer, id)
		}
		return answer, nil
	}
}

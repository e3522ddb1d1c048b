package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/internal/testkit/forgetting"
	"github.com/openwop/agentmemory/memory/driver"
)

// dying is a store whose process ends in the mutation after a number of them: before it,
// after it, or in the middle of its commit, when all is written and the server ends the
// connection.
type dying struct {
	*Store
	when string
	left int
}

var errDead = errors.New("dead")

func (d *dying) As(target any) bool {
	switch t := target.(type) {
	case *driver.Transactor:
		*t = d
	case *driver.Versioned:
		*t = d
	default:
		return false
	}
	return true
}

func (d *dying) Apply(ctx context.Context, tenant string, m driver.Mutation) (driver.Applied, error) {
	if d.left--; d.left >= 0 {
		return d.Store.Apply(ctx, tenant, m)
	}
	if d.left == -1 && d.when == "within" {
		if _, err := d.db.pool.Exec(ctx, `INSERT INTO public.doomed VALUES (true)`); err != nil {
			panic(err)
		}
		_, err := d.Store.Apply(ctx, tenant, m)
		if _, err := d.db.pool.Exec(ctx, `DELETE FROM public.doomed`); err != nil {
			panic(err)
		}
		if !errors.Is(err, driver.ErrOutcomeUnknown) {
			panic("nobody has killed it")
		}
	}
	if d.left == -1 && d.when == "after" {
		if _, err := d.Store.Apply(ctx, tenant, m); err != nil {
			panic(err)
		}
	}
	return driver.Applied{}, errDead
}

// endCommits makes the server end connections that commit while there is a row in a table.
const endCommits = `
	CREATE TABLE public.doomed (yes boolean);
	CREATE FUNCTION public.die() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF EXISTS (SELECT FROM public.doomed) THEN
			PERFORM pg_terminate_backend(pg_backend_pid());
			PERFORM pg_sleep(60);
		END IF;
		RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER die AFTER INSERT OR UPDATE ON agentmemory.entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.die();
	CREATE CONSTRAINT TRIGGER die AFTER INSERT OR UPDATE ON agentmemory.documents DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.die();
	-- What is compressed could not be found in files.
	ALTER TABLE agentmemory.entries ALTER content SET STORAGE EXTERNAL;
	ALTER TABLE agentmemory.documents ALTER value SET STORAGE EXTERNAL`

// dieInPasses has passes over what was told end at each of their mutations.
func dieInPasses(t *testing.T, h *forgetting.Host, st *Store, sink events.Sink, all ...forgetting.Words) {
	for _, when := range []string{"before", "within", "after"} {
		for n := 0; ; n++ {
			ref := fmt.Sprintf("killed-%s-%d", when, n)
			h.TellLate(t, ref, 1, all...)
			d := &dying{st, when, n}
			mortal, err := forgetting.New(d, sink)
			require.NoError(t, err)
			err = mortal.Pass(t.Context(), ref)
			if d.left >= 0 {
				require.NoError(t, err)
				require.Equal(t, 5, n, "mutations of the passes")
				break
			}
			require.Error(t, err)
		}
	}
}

// inFiles counts the files of the server that have the text, its own log included and the
// write-ahead log not.
func inFiles(t *testing.T, pool *pgxpool.Pool, texts []string) map[string]int {
	var home string
	require.NoError(t, pool.QueryRow(t.Context(), `SHOW unix_socket_directories`).Scan(&home))
	_, err := pool.Exec(t.Context(), `CHECKPOINT`)
	require.NoError(t, err)
	found := map[string]int{}
	require.NoError(t, filepath.WalkDir(home, func(path string, file fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case file.Name() == "pg_wal":
			return fs.SkipDir
		case !file.Type().IsRegular(), file.Name() == "log" && os.Getenv(envPooled) == "simple_protocol": // statements that failed have their texts there
			return nil
		}
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				found[text]++
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}))
	return found
}

// After Forget alone no byte of what was told about a subject is in a table, or reaches
// the sink, nor of what was made of it, wherever a pass had ended; and none is in a file of
// the server after what the README has an operator do. What was told about another one
// stays.
func TestM10_AfterForgetAloneNoByteIsLeft(t *testing.T) {
	ctx := t.Context()
	pool := connect(t, emptyDatabase(t, ctx))
	defer pool.Close()
	db, err := opened(ctx, pool, Options{})
	require.NoError(t, err)
	_, err = pool.Exec(ctx, endCommits)
	require.NoError(t, err)
	sink := new(forgetting.Gate)
	sink.Shut.Store(true)
	h, err := forgetting.New(db.Memory(), sink)
	require.NoError(t, err)
	goes, stays := forgetting.NewWords(), forgetting.NewWords()
	h.Tell(t, goes)
	h.Tell(t, stays)
	dieInPasses(t, h, db.Memory(), sink, goes, stays)
	for _, table := range securedTables {
		_, err := pool.Exec(ctx, `ANALYZE agentmemory.`+table)
		require.NoError(t, err)
	}
	all := func() string { return inTables(t, pool) }
	require.Contains(t, all(), forgetting.Inflected(goes["killed"]))
	h.Forget(t, goes, stays, all)
	h.Deliver(t, sink, goes)

	if !server.cluster.Owned() {
		t.Skip("the files of the server are not ours to read")
	}
	for _, table := range []string{"entries", "subjects", "documents", "document_subjects"} {
		_, err = pool.Exec(ctx, `VACUUM (FULL, ANALYZE) agentmemory.`+table)
		require.NoError(t, err)
	}
	gone, kept := goes.Forgotten(), append(stays.Stored(), goes["shared"])
	found := inFiles(t, pool, append(gone, kept...))
	for _, word := range gone {
		require.Zero(t, found[word])
	}
	for _, word := range kept {
		require.Positive(t, found[word])
	}
}

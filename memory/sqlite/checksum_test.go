package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// One bit that is flipped in the file, anywhere in what is stored of an entry or in the
// value of a document, is an error and never another text.
func TestM8_FlippedBit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	db, err := Open(t.Context(), path, Options{Relaxed: true})
	require.NoError(t, err)
	word := func(role string) string { return "the-" + role + "-" + strings.Repeat("w", 40) }
	long := word("long") + strings.Repeat("x", 20_000) // on overflow pages
	e := driver.Entry{ID: "one", Content: word("content"), RunID: word("run"), CreatedAt: then, ExpiresAt: then.Add(time.Hour),
		Tags: []string{word("tag")}, Subjects: []string{word("subject")}, Sources: []string{word("source")}}
	docs := []driver.Document{
		{Scope: here, Kind: "k", Key: "machinery", Value: []byte(word("machinery"))},
		{Scope: here, Kind: "k", Key: "text", Class: driver.HostText, Value: []byte(word("text"))},
	}
	m := driver.Mutation{At: then, Put: []driver.Placed{{Scope: here, Entry: e}, {Scope: here, Entry: driver.Entry{ID: "long", Content: long, CreatedAt: then}}}}
	for _, d := range docs {
		m.Documents = append(m.Documents, driver.DocumentSwap{Document: d})
	}
	_, err = db.Memory().Apply(t.Context(), here.Tenant, m)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	// read returns the first error, and fails if anything but what was stored is read.
	read := func(st *Store) error {
		var first error
		note := func(err error) {
			if first == nil {
				first = err
			}
		}
		entries, err := st.List(t.Context(), here, driver.Query{At: then})
		note(err)
		for _, x := range entries {
			if x.ID == "long" {
				require.True(t, x.Content == long)
			} else {
				require.Equal(t, e, x)
			}
		}
		for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: here.Tenant, Ref: here.Ref}) {
			if note(err); err == nil {
				require.Contains(t, []string{string(docs[0].Value), string(docs[1].Value)}, string(d.Value))
			}
		}
		return first
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, role := range []string{"content", "run", "tag", "subject", "source", "long", "machinery", "text"} {
		at := bytes.Index(whole, []byte(word(role)))
		require.Positive(t, at, role)
		for range 8 {
			flipped := bytes.Clone(whole)
			place := at + rng.IntN(len(word(role)))
			if role == "long" {
				place = at + len(word(role)) // behind it are overflow pages, which begin with a number each
				place += rng.IntN(500)
			}
			flipped[place] ^= 1 << rng.IntN(8)
			broken := filepath.Join(t.TempDir(), "memory.db")
			require.NoError(t, os.WriteFile(broken, flipped, 0o600))
			db, err := Open(t.Context(), broken, Options{Relaxed: true})
			require.NoError(t, err)
			err = read(db.Memory())
			require.ErrorIs(t, err, driver.ErrInternal, "seed %d, %s, bit of byte %d", seed, role, place)
			require.EqualError(t, err, "sqlite: "+damaged)
			require.NoError(t, db.Close())
		}
	}
	db, err = Open(t.Context(), path, Options{Relaxed: true})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, read(db.Memory()))
}

// A mutation ends with its context, between any two of its statements, and leaves nothing.
func TestM8_MutationEndsWithItsContext(t *testing.T) {
	db := openFresh(t)
	st := db.Memory()
	m := driver.Mutation{At: then}
	for i := range 5 {
		m.Put = append(m.Put, driver.Placed{Scope: here, Entry: driver.Entry{ID: fmt.Sprint(i), CreatedAt: then}})
	}
	before, err := st.Version(t.Context(), here.Tenant)
	require.NoError(t, err)
	for looks := 1; ; looks++ {
		_, err := st.Apply(&ending{t.Context(), -looks, nil}, here.Tenant, m)
		v, failed := st.Version(t.Context(), here.Tenant)
		require.NoError(t, failed)
		entries, failed := st.List(t.Context(), here, driver.Query{At: then})
		require.NoError(t, failed)
		if err == nil {
			require.Greater(t, looks, 2*len(m.Put), "it looked at the context before each statement")
			require.Len(t, entries, len(m.Put))
			return
		}
		require.True(t, errors.Is(err, context.Canceled))
		require.Equal(t, before, v)
		require.Empty(t, entries)
	}
}

package memory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
)

// lookalikes are names that a careless store takes for each other.
var lookalikes = []string{
	"a", "ab", "A", "a_b", "a%b", "a%", "a*", "a/b", "a/", "/a", "a:b", "a|b", "a\\b", "a'b", "a\"b",
	"é", "e\u0301", "ﬁ", "fi", "ß", "SS", "ı", "i", "İ", "a b", "a  b", " a", "a ", "a.b", ".", "a?b", "[a]", "日本",
}

func TestM1_ScopesAreExactPairs(t *testing.T) {
	h := newHost(t)
	type scope struct{ tenant, ref string }
	written := map[scope]memory.Entry{}
	for _, tenant := range lookalikes {
		j := h.job(tenant)
		for _, ref := range lookalikes {
			written[scope{tenant, ref}] = put(t, j, ref, tenant+" and "+ref)
		}
	}
	for s, e := range written {
		reader := h.Reader(s.tenant)
		require.Equal(t, []string{e.Content}, contents(t, reader, s.ref))
		found, err := h.Search(ctx, s.tenant, s.ref, memory.Search{Text: "and"})
		require.NoError(t, err)
		require.Len(t, found, 1)
		other := written[scope{s.ref, s.tenant}]
		if s.ref != s.tenant {
			_, err := reader.Get(ctx, s.ref, other.ID)
			require.ErrorIs(t, err, memory.ErrNotFound)
			deleted, err := h.job(s.tenant).Delete(ctx, s.ref, other.ID)
			require.NoError(t, err)
			require.False(t, deleted)
		}
	}
}

var malformedRefs = []string{
	"", "..", "a/../b", "../x", "x..", "a\x00b", "a\nb", "\x7f", "a\x1fb", "\xff", "a\xc3", strings.Repeat("x", 257), strings.Repeat("é", 257),
}

func TestM1_ForeignAndMalformedRefsReadAsAbsent(t *testing.T) {
	owners := map[string]string{"mem://acme/1": "acme", "mem://globex/1": "globex"}
	store := newSpy()
	h := newHostOn(t, store, func(c *memory.Config) {
		c.Resolver = func(_ context.Context, ref string) (string, error) {
			if owner, ok := owners[ref]; ok {
				return owner, nil
			}
			return "", fmt.Errorf("no row for %s: %w", ref, memory.ErrNotFound)
		}
	})
	secret := put(t, h.job("globex"), "mem://globex/1", "globex only")
	run := h.run("r1", "acme")
	token, err := run.Token(ctx)
	require.NoError(t, err)
	asOf, err := h.AsOf(ctx, "acme", token)
	require.NoError(t, err)
	_, absent := run.Memory().Get(ctx, "mem://acme/1", "mem_absent")
	require.ErrorIs(t, absent, memory.ErrNotFound)

	for _, ref := range append([]string{"mem://globex/1", "mem://nobody/1"}, malformedRefs...) {
		for name, reader := range map[string]memory.Reader{"live": h.Reader("acme"), "run": run.Memory()} {
			before := store.count()
			got, err := reader.List(ctx, ref, memory.ListOptions{})
			require.NoError(t, err, name)
			require.Equal(t, []memory.Entry{}, got, name)
			_, err = reader.Get(ctx, ref, secret.ID)
			require.Equal(t, absent, err, name)
			require.Equal(t, before, store.count(), "%s: the store was asked", name)
		}
		got, err := asOf.List(ctx, ref, memory.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, got)
		_, err = asOf.Get(ctx, ref, secret.ID)
		require.Equal(t, absent, err)

		before := store.count()
		found, err := h.Search(ctx, "acme", ref, memory.Search{})
		require.NoError(t, err)
		require.Empty(t, found)
		found, err = run.Search(ctx, ref, memory.Search{})
		require.NoError(t, err)
		require.Empty(t, found)
		outcomes, err := h.Lineage(ctx, "acme", ref, secret.ID)
		require.NoError(t, err)
		require.Empty(t, outcomes)

		want := memory.ErrValidation
		if strings.HasPrefix(ref, "mem://") {
			want = memory.ErrForbidden
		}
		_, err = run.Put(ctx, ref, memory.Draft{Content: "x"})
		require.ErrorIs(t, err, want)
		_, err = run.Delete(ctx, ref, secret.ID)
		require.ErrorIs(t, err, want)
		_, err = h.job("acme").Put(ctx, ref, memory.Draft{Content: "x"})
		require.ErrorIs(t, err, want)
		_, err = h.job("acme").Delete(ctx, ref, secret.ID)
		require.ErrorIs(t, err, want)
		_, err = h.job("acme").Rewrite(ctx, ref, memory.Rewrite{})
		require.ErrorIs(t, err, want)
		require.Equal(t, before, store.count(), "the store was asked")
	}
	require.Equal(t, []string{"globex only"}, contents(t, h.Reader("globex"), "mem://globex/1"))
}

func TestM1_MalformedIDsAreAbsent(t *testing.T) {
	store := newSpy()
	h := newHostOn(t, store)
	run := h.run("r1", "acme")
	before := store.count()
	for _, id := range []string{"", "\x00", "a\nb", "\xff", strings.Repeat("x", 1501)} {
		_, err := run.Memory().Get(ctx, "m", id)
		require.ErrorIs(t, err, memory.ErrNotFound)
		deleted, err := run.Delete(ctx, "m", id)
		require.NoError(t, err)
		require.False(t, deleted)
		deleted, err = h.job("acme").Delete(ctx, "m", id)
		require.NoError(t, err)
		require.False(t, deleted)
	}
	require.Equal(t, before, store.count())
}

func TestM1_MalformedTenantsAndRunIDsAreRefused(t *testing.T) {
	h := newHost(t)
	for _, bad := range []string{"", "a\x00", "a\n", "\xff", strings.Repeat("x", 257)} {
		_, err := h.Start(ctx, memory.RunConfig{ID: "r", Tenant: bad, Redactor: newVault()})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.Start(ctx, memory.RunConfig{ID: bad, Tenant: "acme", Redactor: newVault()})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.Background(memory.JobConfig{ID: "p", Tenant: bad, Redactor: newVault()})
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.Forget(ctx, bad, "s")
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.Purge(ctx, bad)
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.Forget(ctx, "acme", bad+strings.Repeat("y", 300))
		require.ErrorIs(t, err, memory.ErrValidation)
		_, err = h.run("r", "acme").Child(bad)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
}

// FuzzRef holds the check of refs against the rule in other words, and sees to it
// that a ref which is let through keeps what is written under it to itself.
func FuzzRef(f *testing.F) {
	for _, ref := range append(lookalikes, malformedRefs...) {
		f.Add(ref)
	}
	h := newHost(f, func(c *memory.Config) { c.WriteEvents = false })
	f.Fuzz(func(t *testing.T, ref string) {
		control := strings.ContainsFunc(ref, func(r rune) bool { return r < 0x80 && unicode.IsControl(r) })
		wellFormed := utf8.ValidString(ref) && ref != "" && len([]rune(ref)) <= 256 &&
			!control && !strings.Contains(ref, "..")
		job, err := h.Background(memory.JobConfig{ID: "pass", Tenant: "acme", Redactor: newVault()})
		require.NoError(t, err)
		e, err := job.Put(ctx, ref, memory.Draft{Content: "x"})
		if !wellFormed {
			require.ErrorIs(t, err, memory.ErrValidation)
			require.NotContains(t, err.Error(), "acme")
			return
		}
		require.NoError(t, err)
		got, err := h.Reader("acme").Get(ctx, ref, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		for _, other := range []string{ref + "x", "x" + ref, strings.ToUpper(ref), strings.ToLower(ref), strings.TrimSpace(ref)} {
			if other != ref {
				_, err := h.Reader("acme").Get(ctx, other, e.ID)
				require.ErrorIs(t, err, memory.ErrNotFound)
			}
		}
		_, err = h.Reader("globex").Get(ctx, ref, e.ID)
		require.ErrorIs(t, err, memory.ErrNotFound)
		_, err = job.Delete(ctx, ref, e.ID)
		require.NoError(t, err)
	})
}

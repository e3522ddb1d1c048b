package consolidate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// callsOf runs a pass and returns the calls that it made of the store.
func (h *host) callsOf(c *Consolidator, id string) (calls []string, r Result) {
	store := h.store.(*faulty)
	store.hook = func(call string) { calls = append(calls, call) }
	r = h.run(c, id)
	store.hook = nil
	return calls, r
}

// A pass over a corpus that is as the last one left it reads no entry and is one mutation, also
// if that one has retired and written entries, and other refs have changed.
func TestC2_AnUnchangedPassReadsNoEntryAndIsOneMutation(t *testing.T) {
	h := newHostOn(t, &faulty{Versioned: inmem.New()})
	scene(h)
	c := sceneConsolidator(t)
	require.Equal(t, 4, h.run(c, "p1").Merged)
	before := h.live()
	for i := range 3 {
		_, err := h.job("import").Put(ctx, "another", memory.Draft{Content: "x"})
		require.NoError(t, err)
		calls, r := h.callsOf(c, fmt.Sprint("again", i))
		require.Equal(t, []string{"Documents", "Documents", "Version", "Changes", "Changes", "Apply"}, calls)
		require.Equal(t, Result{Pass: r.Pass, InputCount: 5, OutputCount: 5, Unchanged: true, Events: r.Events}, r)
		require.Len(t, r.Events, 1)
	}
	require.Len(t, h.passes(), 4)
	require.Equal(t, before, h.live())
}

// A pass that plans is one mutation to take the lease, one a group and one at the end.
func TestC5_OneMutationAGroup(t *testing.T) {
	h := newHostOn(t, &faulty{Versioned: inmem.New()})
	scene(h)
	calls, r := h.callsOf(sceneConsolidator(t), "p1")
	require.Equal(t, []int{4, 1}, []int{r.Merged, r.Superseded})
	mutations := slices.DeleteFunc(calls, func(call string) bool { return call != "Apply" })
	require.Len(t, mutations, 1+3+1)
}

// What ends, comes back or comes anew is looked at, also if all versions that the last pass knew
// were purged, and a purge alone changes nothing.
func TestC2_WhatChangedIsSeen(t *testing.T) {
	var first memory.Entry
	for name, change := range map[string]func(h *host, c *Consolidator) (unchanged bool){
		"written": func(h *host, _ *Consolidator) bool { h.note("New."); return false },
		"deleted": func(h *host, _ *Consolidator) bool {
			_, err := h.job("d").Delete(ctx, ref, first.ID)
			require.NoError(t, err)
			return false
		},
		"forgotten": func(h *host, _ *Consolidator) bool {
			_, err := h.Forget(ctx, "acme", "lena")
			require.NoError(t, err)
			return false
		},
		"brought back": func(h *host, c *Consolidator) bool {
			n, err := c.Undo(ctx, h.job("u"), ref, "p1")
			require.NoError(t, err)
			require.Equal(t, 1, n)
			return false
		},
		"expired": func(h *host, _ *Consolidator) bool { h.advance(2 * time.Hour); return false },
		"purged": func(h *host, _ *Consolidator) bool {
			for range 3 {
				h.advance(200 * 24 * time.Hour)
				_, err := h.Purge(ctx, "acme")
				require.NoError(t, err)
			}
			return true
		},
		"nothing": func(*host, *Consolidator) bool { return true },
	} {
		h := newHost(t)
		first = h.put(memory.Draft{Content: "Lena prefers e-mail.", Subjects: []string{"lena"}})
		h.put(memory.Draft{Content: "Lena prefers e-mail", Subjects: []string{"lena"}})
		if name == "expired" {
			h.put(memory.Draft{Content: "The gate is open.", ExpiresAt: epoch.Add(time.Hour)})
		}
		c := newConsolidator(t, Config{})
		require.Equal(t, 1, h.run(c, "p1").Merged)
		want := change(h, c)
		r := h.run(c, "p2")
		require.Equal(t, want, r.Unchanged, name)
		require.Len(t, h.live(), r.OutputCount, name)
		require.True(t, h.run(c, "p3").Unchanged, name)
	}
}

// After any events between and during passes, a pass by the store's word on what has changed does
// and counts the same as one that reads everything.
func TestC2_ByChangesAsByReading(t *testing.T) {
	unchanged := 0
	seeds := uint64(80)
	if testing.Short() {
		seeds = 16
	}
	for seed := range seeds {
		type outcome struct {
			Result
			live []string
		}
		outcomes := func(store driver.Versioned) (all []outcome) {
			r := rand.New(rand.NewPCG(seed, 31))
			h := newHostOn(t, store)
			var said []string // in their order, since ids differ
			note := func() {
				text := fmt.Sprintf("Fact %d is known", r.IntN(6))
				d := memory.Draft{Content: text + []string{"", "."}[r.IntN(2)]}
				if r.IntN(4) == 0 {
					d.ExpiresAt = h.Now().Add(time.Duration(2+r.IntN(100)) * time.Second)
				}
				if r.IntN(4) == 0 {
					d.Tags = []string{"slot:fact"}
				}
				said = append(said, h.put(d).ID)
			}
			for i := range 12 {
				for range r.IntN(3) {
					note()
				}
				if len(said) > 0 && r.IntN(4) == 0 {
					_, err := h.job("d").Delete(ctx, ref, said[r.IntN(len(said))])
					require.NoError(t, err)
				}
				h.advance(time.Duration(r.IntN(40)) * time.Second)
				meanwhile := r.IntN(4) == 0
				done := h.run(newConsolidator(t, Config{}), fmt.Sprint("p", i), Options{Progress: func(p Progress) {
					if p.Phase == Planning && meanwhile {
						meanwhile = false
						note()
					}
				}})
				done.Events = nil
				all = append(all, outcome{done, h.texts()})
			}
			return all
		}
		want := outcomes(justVersioned{inmem.New()})
		require.Equal(t, want, outcomes(inmem.New()), "seed %d", seed)
		for _, o := range want {
			if o.Unchanged {
				unchanged++
			}
		}
	}
	require.Greater(t, unchanged, int(seeds)*5/4)
}

// justVersioned is a store that does not tell what has changed.
type justVersioned struct{ driver.Versioned }

// A pass that reads while another one comes first fails, and loses nothing.
func TestC5_AnotherPassCameFirst(t *testing.T) {
	h := newHost(t)
	h.note("Lena prefers e-mail.")
	h.note("Lena prefers e-mail")
	c := newConsolidator(t, Config{})
	other := false
	_, err := c.Run(ctx, h.job("p1"), ref, Options{Progress: func(p Progress) {
		if p.Phase == Reading && !other {
			other = true
			require.Equal(t, 1, h.run(c, "p2").Merged)
		}
	}})
	require.ErrorIs(t, err, memory.ErrConflict)
	require.True(t, h.run(c, "p1").Unchanged)
	require.Len(t, h.passes(), 2)
	_, err = c.Plan(context.Background(), h.job("p3"), "", Options{})
	require.ErrorIs(t, err, memory.ErrValidation)
}

// What a newer version of the package wrote is left as it is: a pass that finds it in the lease, the
// digest, the journal or the list of what was undone fails, and retires nothing.
func TestADocumentOfANewerVersionIsLeftAsItIs(t *testing.T) {
	for _, name := range []struct{ kind, key string }{
		{memory.RemoveWhenDue, leaseKey}, {digestKind, hash("")}, {memory.RemoveWhenDue, journalKey + "9"}, {undoneKind, "9"},
	} {
		h := newHost(t)
		h.note("Lena prefers e-mail.")
		h.note("Lena prefers e-mail")
		before := h.live()
		value := []byte(`{"format":2,"value":{"pass":7}}`)
		_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{
			Scope: memory.Scope{Ref: ref}, Kind: name.kind, Key: name.key, Value: value, Group: hash("p0"),
		}})
		require.NoError(t, err)
		c := newConsolidator(t, Config{})
		if name.key == journalKey+"9" {
			_, err = c.Undo(ctx, h.job("u"), ref, "p0")
		} else {
			_, err = c.Run(ctx, h.job("p1"), ref, Options{})
		}
		require.ErrorIs(t, err, ErrNewerFormat, name.key)
		require.Equal(t, before, h.live(), name.key)
		doc, err := h.job("look").Document(ctx, ref, name.kind, name.key)
		require.NoError(t, err)
		require.Equal(t, value, doc.Value, name.key)
	}
}

package distill_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

func TestDistill_SixSteps(t *testing.T) {
	h := newHost(t)
	in := h.put(notes(120)...)
	r := h.runner(func(c *distill.Config) { c.ArchiveRetention = "P90D" })
	res := h.distill(r, distill.Options{TokenBudget: 6000})

	require.Equal(t, 120, res.Sources)
	require.False(t, res.Existing)
	require.LessOrEqual(t, res.TokensUsed, 6000)
	require.Contains(t, res.Output.Tags, "compacted-from:pass-2")
	require.Contains(t, res.Output.Tags, "archive:"+res.Archive)
	require.Equal(t, h.now().AddDate(0, 0, 90), res.Output.ExpiresAt)
	got, err := h.bank.Reader(tenant).Get(ctx, ref, res.Output.ID)
	require.NoError(t, err)

	data := h.bytesOf(res.Archive)
	require.Equal(t, distill.DigestOf(data), res.Archive)
	a, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.NoError(t, err)
	require.Equal(t, data, a.Encode())
	require.Equal(t, got.Content, a.Text())
	require.Len(t, a.Sources, 120)
	require.Equal(t, sourceDigest(t, in[7]), a.Sources[slices.IndexFunc(a.Sources, func(s distill.ArchivedSource) bool { return s.ID == in[7].ID })].Digest)

	evs := h.compacted()
	require.Len(t, evs, 1)
	ev := evs[0]
	require.Equal(t, res.Output.ID, ev.OutputID)
	require.EqualValues(t, 120, ev.SourceCount)
	require.Nil(t, ev.SourceIDs, "none above 100")
	require.Equal(t, events.CompactionHostManaged, ev.Trigger)
	require.EqualValues(t, len(got.Content), ev.ByteSize)
	require.EqualValues(t, 6000, ev.Distillation.TokenBudget)
	require.EqualValues(t, res.TokensUsed, ev.Distillation.TokensUsed)
	require.True(t, *ev.Distillation.IndexUpdated)

	lines := []distill.IndexLine{{
		ArchiveChecksum: res.Archive, MemoryID: res.Output.ID, EntryCount: 120, ByteSize: len(got.Content),
		CreatedAt: res.Output.CreatedAt, ExpiresAt: res.Output.ExpiresAt,
	}}
	require.Equal(t, lines, h.load(h.bank.Reader(tenant)))
	require.Equal(t, map[string][]distill.IndexLine{ref: lines}, h.index().Refs)
	require.Equal(t, []int64{1}, h.updates())
	require.EqualValues(t, 1, h.version())
	require.NotContains(t, h.index().Encode(), "Customer")
}

func TestD1_BudgetIsKeptAndTheMinimumIsExact(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := newHost(t)
		h.put(notes(1 + rng.IntN(30))...)
		r := h.runner()
		before := h.live()
		j := h.job()
		_, err := r.Distill(ctx, j, ref, distill.Options{TokenBudget: 1})
		var over *distill.BudgetError
		require.ErrorAs(t, err, &over, "seed %d", seed)
		require.Equal(t, distill.CodeTokenBudgetExceeded, memory.CodeOf(err))
		require.Equal(t, map[string]any{"budget": 1, "minimumRequired": over.MinimumRequired}, over.Details())
		_, err = r.Distill(ctx, j, ref, distill.Options{TokenBudget: over.MinimumRequired - 1})
		var again *distill.BudgetError
		require.ErrorAs(t, err, &again)
		require.Equal(t, over.MinimumRequired, again.MinimumRequired)
		require.Equal(t, before, h.live(), "nothing is written")
		require.Empty(t, h.archives())
		require.Empty(t, h.compacted())
		require.Zero(t, h.version())

		for _, budget := range []int{over.MinimumRequired, over.MinimumRequired + 1 + rng.IntN(200)} {
			res := h.distill(r, distill.Options{TokenBudget: budget})
			require.LessOrEqual(t, res.TokensUsed, budget)
			require.Equal(t, budget, res.Budget)
		}
	}
}

func TestD1_BudgetComesFromOptionsOrTheRunsKey(t *testing.T) {
	h := newHost(t)
	h.put(notes(3)...)
	r := h.runner(func(c *distill.Config) { c.MaxTokenBudget = 5000 })
	for _, c := range []struct {
		o    distill.Options
		want int
	}{
		{distill.Options{}, 5000},
		{distill.Options{TokenBudget: 700}, 700},
		{distill.Options{TokenBudget: 9000}, 5000},
		{distill.Options{Configurable: map[string]any{distill.BudgetKey: 800.0}}, 800},
		{distill.Options{Configurable: map[string]any{distill.BudgetKey: 1e300}}, 5000},
		{distill.Options{Configurable: map[string]any{distill.BudgetKey: 900, "other": "x"}}, 900},
		{distill.Options{Configurable: map[string]any{distill.BudgetKey: nil}}, 5000},
		{distill.Options{TokenBudget: 600, Configurable: map[string]any{distill.BudgetKey: 800}}, 600},
	} {
		require.Equal(t, c.want, h.distill(r, c.o).Budget)
	}
	for _, bad := range []any{0, -1, 1.5, "8000", true, []int{1}} {
		_, err := r.Distill(ctx, h.job(), ref, distill.Options{Configurable: map[string]any{distill.BudgetKey: bad}})
		require.ErrorIs(t, err, memory.ErrValidation, "%v", bad)
	}
	_, err := r.Distill(ctx, h.job(), ref, distill.Options{TokenBudget: -1})
	require.ErrorIs(t, err, memory.ErrValidation)
}

func TestD1_AModelThatOverrunsFallsBack(t *testing.T) {
	long := strings.Repeat("word ", 500)
	for name, say := range map[string]func(int64, distill.Request) ([]distill.Item, error){
		"too many tokens": func(int64, distill.Request) ([]distill.Item, error) { return []distill.Item{{Text: long}}, nil },
		"nothing":         func(int64, distill.Request) ([]distill.Item, error) { return nil, nil },
		"blank":           func(int64, distill.Request) ([]distill.Item, error) { return []distill.Item{{Text: " \n"}}, nil },
		"a source of none": func(int64, distill.Request) ([]distill.Item, error) {
			return []distill.Item{{Text: "ok", Sources: []string{"mem_x"}}}, nil
		},
		"text that is none": func(int64, distill.Request) ([]distill.Item, error) { return []distill.Item{{Text: "a\x00b"}}, nil },
	} {
		h := newHost(t)
		h.put(notes(4)...)
		m := &model{name: "bad/1", say: say}
		r := h.runner(func(c *distill.Config) { c.Summarizer = m })
		res := h.distill(r, distill.Options{TokenBudget: 300})
		require.True(t, res.Fallback, name)
		require.LessOrEqual(t, res.TokensUsed, 300)
		a, err := distill.Decode(h.bytesOf(res.Archive))
		require.NoError(t, err)
		require.True(t, a.Fallback)
		require.Equal(t, "bad/1", a.Summarizer)
	}
	h := newHost(t)
	h.put(notes(4)...)
	cause := errors.New("the model is out of customer 3's credit")
	r := h.runner(func(c *distill.Config) {
		c.Summarizer = &model{name: "down/1", say: func(int64, distill.Request) ([]distill.Item, error) { return nil, cause }}
	})
	_, err := r.Distill(ctx, h.job(), ref, distill.Options{})
	require.ErrorIs(t, err, cause)
	require.NotContains(t, err.Error(), "credit", "M2")
	require.Empty(t, h.archives())
	require.Empty(t, h.outputs())
}

func TestD1_ASourceThatGoesMeanwhileIsNotInTheOutput(t *testing.T) {
	h := newHost(t)
	in := h.put("The first note stays.", "The second note goes.")
	m := &model{name: "slow/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		if call == 1 { // while the model thinks, another run deletes
			ok, err := h.job().Delete(ctx, ref, in[1].ID)
			require.True(t, ok)
			require.NoError(t, err)
		}
		var text []string
		for _, s := range req.Sources {
			text = append(text, s.Text)
		}
		return []distill.Item{{Text: strings.Join(text, " ")}}, nil
	}}
	res := h.distill(h.runner(func(c *distill.Config) { c.Summarizer = m }), distill.Options{})
	require.Equal(t, "The first note stays.", res.Output.Content)
	require.Len(t, h.compacted(), 1)
}

// Any order in which the same entries were written gives the same bytes, and a model
// that never says the same thing twice is asked once.
func TestD2_SameBytesInAnyOrder(t *testing.T) {
	var want []byte
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 2))
		store := newHost(t)
		entries := make([]memory.Entry, 40)
		for i, text := range notes(40) {
			entries[i] = memory.Entry{
				ID: fmt.Sprintf("mem_%03d", i), Content: text, Tags: []string{"note"}, RunID: "import",
				CreatedAt: epoch.Add(-time.Duration(i/3) * time.Minute),
			}
		}
		rng.Shuffle(len(entries), func(a, b int) { entries[a], entries[b] = entries[b], entries[a] })
		for _, e := range entries {
			require.NoError(t, store.raw.Put(ctx, scope, e))
		}
		store.advance(time.Duration(rng.IntN(1000)) * time.Hour)
		res := store.distill(store.runner(), distill.Options{TokenBudget: 1700})
		data := store.bytesOf(res.Archive)
		if want == nil {
			want = data
		}
		require.Equal(t, string(want), string(data), "seed %d", seed)
	}
}

func TestD2_AKnownQuestionIsAnsweredByTheStoredBytes(t *testing.T) {
	h := newHost(t)
	h.put(notes(5)...)
	m := parrot()
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	first := h.distill(r, distill.Options{})
	h.advance(time.Hour)
	h.reopen(h.raw)
	second := h.distill(r, distill.Options{})
	require.EqualValues(t, 1, m.calls.Load())
	require.True(t, second.Existing)
	require.Equal(t, first.Archive, second.Archive)
	require.Equal(t, first.Output.ID, second.Output.ID)
	require.Len(t, h.outputs(), 1)
	require.Len(t, h.compacted(), 2, "an event for each completed pass")
	require.Equal(t, []int64{1}, h.updates(), "an index that does not change is not written")

	for _, other := range []distill.Options{{TokenBudget: 500}, {Select: func(e memory.Entry) bool { return !strings.Contains(e.Content, "Customer 3") }}} {
		require.NotEqual(t, first.Archive, h.distill(r, other).Archive)
	}
	h.put("One more.")
	require.NotEqual(t, first.Archive, h.distill(r, distill.Options{}).Archive)
}

func TestD2_ARaceHasOneWinner(t *testing.T) {
	h := newHost(t)
	h.put(notes(5)...)
	const racers = 4
	var ready sync.WaitGroup
	ready.Add(racers)
	m := parrot()
	say := m.say
	m.say = func(call int64, req distill.Request) ([]distill.Item, error) {
		if call <= racers {
			ready.Done()
			ready.Wait() // all have asked before one answers
		}
		return say(call, req)
	}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	results := make([]distill.Result, racers)
	var done sync.WaitGroup
	for i := range racers {
		j := h.jobOf(fmt.Sprintf("racer-%d", i))
		done.Go(func() {
			var err error
			results[i], err = r.Distill(ctx, j, ref, distill.Options{})
			require.NoError(t, err)
		})
	}
	done.Wait()
	require.Len(t, h.outputs(), 1)
	require.Len(t, h.archives(), 1)
	require.Equal(t, []int64{1}, h.updates())
	for _, res := range results {
		require.Equal(t, results[0].Archive, res.Archive)
		require.Equal(t, results[0].Output.ID, res.Output.ID)
		require.Equal(t, results[0].TokensUsed, res.TokensUsed)
	}
	require.Len(t, h.compacted(), racers)
}

func TestD2_AHitPassesTodaysRedactor(t *testing.T) {
	h := newHost(t)
	h.put("The band is paid.", "The hall is booked.")
	const late = "hall is paid" // in words of the sources, none of which holds it
	m := &model{name: "m/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		return []distill.Item{{Text: "The " + late + "."}}, nil
	}}
	r := h.runner(func(c *distill.Config) { c.Summarizer = m })
	first := h.distill(r, distill.Options{})
	require.Contains(t, first.Output.Content, late, "nobody knew")

	h.secrets["door"] = late
	_, err := r.Open(ctx, h.job(), ref, first.Output.ID)
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	second := h.distill(r, distill.Options{})
	require.EqualValues(t, 2, m.calls.Load())
	require.NotEqual(t, first.Archive, second.Archive)
	require.NotContains(t, second.Output.Content, late)
	require.True(t, second.Fallback, "no source says the marker")
	require.Len(t, h.outputs(), 1, "the old entry is erased")
	require.Equal(t, []string{second.Archive}, h.archives(), "and the old archive with it")
}

func TestD2_ADamagedArchiveIsMadeAnew(t *testing.T) {
	for name, damage := range map[string]func(d *driver.Document){
		"a bit":           func(d *driver.Document) { d.Value[len(d.Value)/2] ^= 1 },
		"nothing left":    func(d *driver.Document) { d.Value = nil },
		"another address": func(d *driver.Document) { d.Group = digest(1) },
		"no archive":      func(d *driver.Document) { d.Value = []byte("{}"); d.Group = distill.DigestOf(d.Value) },
		"another question": func(d *driver.Document) {
			a, err := distill.Decode(d.Value)
			require.NoError(t, err)
			a.Budget++
			a.Key = a.Question()
			d.Value = a.Encode()
			d.Group = distill.DigestOf(d.Value)
		},
	} {
		h := newHost(t)
		h.put(notes(3)...)
		r := h.runner()
		first := h.distill(r, distill.Options{})
		d := h.documents("distill/archive")[0]
		d.Value = bytes.Clone(d.Value)
		damage(&d)
		_, err := h.raw.Apply(ctx, tenant, driver.Mutation{At: h.now(), Documents: []driver.DocumentSwap{{Document: d}}})
		require.NoError(t, err)
		_, err = r.Open(ctx, h.job(), ref, first.Output.ID)
		require.Error(t, err, name)
		second := h.distill(r, distill.Options{})
		require.False(t, second.Existing, name)
		require.NotEqual(t, first.Output.ID, second.Output.ID)
		require.Equal(t, first.Archive, second.Archive, "the same question has the same bytes")
		require.Len(t, h.outputs(), 1)
		require.Equal(t, []string{second.Archive}, h.archives())
		_, err = r.Open(ctx, h.job(), ref, second.Output.ID)
		require.NoError(t, err)
	}
}

package consolidate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// proposing is a consolidator whose planner proposes one plan.
func proposing(t testing.TB, p Plan, m Merger) *Consolidator {
	return newConsolidator(t, Config{Merger: m, Planner: planner{func(context.Context, []memory.Entry) (Plan, error) { return p, nil }, fmt.Sprintf("%#v", p)}})
}

// says is a merger that always answers the same.
func says(text string) Merger {
	return merger{func(context.Context, []memory.Entry) (string, error) { return text, nil }, text}
}

func TestC8_AHostsResultThatDropsAFactIsRefused(t *testing.T) {
	for _, c := range []struct {
		a, b, merged, want string // want is the refused kind; "" if it is accepted
	}{
		{"The Team plan costs €49.", "The Team plan was at €39 before.", "The Team plan costs €49, it was at €39 before.", ""},
		{"The Team plan costs €49.", "The Team plan was at €39 before.", "The Team plan costs €49.", "numbers"},
		{"The Team plan costs €49.", "The Team plan is dear.", "The Team plan costs €49 and is dear since 2024.", "numbers"},
		{"The Team plan costs €49.", "The Team plan is dear.", "The Team plan costs $49 and is dear.", "numbers"},
		{"The link has 5 Mb.", "The link has 5 Mb to it.", "The link has 5 MB.", "numbers"},
		{"The link has -5 dB.", "The link has -5 dB to it.", "The link has 5 dB.", "numbers"},
		{"It is != 200 for the job.", "The job has != 200.", "The job has = 200.", "numbers"},
		{"They have three dogs.", "They own three dogs at the farm.", "They own two dogs at the farm.", "numbers"},
		{"All the belts stop.", "The belts stop.", "Some of the belts stop.", "numbers"},
		{"It opens on Monday.", "It opens early with the bell.", "It opens early with the bell.", "dates"},
		{"It opens on Monday.", "It opens early with the bell.", "It opens early on Monday with the bell.", ""},
		{"We met Lena in the hall.", "We met them in the hall.", "We met them in the hall.", "names"},
		{"We met Lena in the hall.", "We met them in the hall.", "We met Ruth and Lena and them in the hall.", "names"},
		{"We met Lena in the hall.", "We met in the hall.", "We met that Lena in the hall.", ""},
		{"Tom prefers tea to coffee.", "Tom prefers tea to any coffee.", "Tom prefers coffee to tea.", "order of the words"},
		{"Lena wants to be a pilot.", "Lena works as a pilot on Sundays.", "Lena is a pilot on Sundays.", "words"},
		{"Lena could come with us.", "Lena comes by train with us.", "Lena comes by train with us.", "words"},
		{"The belt does not stop.", "The belt runs.", "The belt runs and does stop.", "negations"},
		{"The belt does not stop.", "The belt runs.", "The belt runs and doesn't stop.", ""},
		{"The belt does not stop.", "The belt runs.", "The belt does not run and does not stop.", "negations"},
		{"Die Ware ist nicht da.", "Die Ware ist für uns.", "Die Ware ist da, für uns.", "negations"},
		{"La caja no está en el sótano.", "La caja está en el sótano con los libros.", "La caja está en el sótano con los libros.", "negations"},
		{"Elle ne boit jamais de café avec nous.", "Elle boit avec nous.", "Elle boit du café avec nous.", "negations"},
		{`The button says "Run".`, "There is a button with the label.", "There is a button with the label Run.", "quotations"},
		{"The belts stop for us.", "The belts do not stop for us.", "The belts do not stop for us.", "negations"},
		{"The gate is green at night.", "The gate is green in the night.", "Das Tor ist in der Nacht grün und zu.", "names"},
		{"Write to ops@acme.example in the morning.", "Write in the morning.", "Write in the morning.", "identifiers"},
		{"Write to ops@acme.example in the morning.", "Write in the morning.", "Write to dev@acme.example in the morning.", "identifiers"},
		{"The tool takes -V for it.", "The tool takes it.", "The tool takes -v for it.", "identifiers"},
		{"The tool reads the .env file.", "The tool reads the file.", "The tool reads the env file.", "identifiers"},
		{"Lena vuole il caffè.", "Lena vuole il caffè con zucchero.", "Lena vuole il suo caffè con zucchero.", "words"},
		{"Lena vuole il caffè.", "Lena vuole il caffè con zucchero.", "Lena vuole il caffè con zucchero", "verbatim"},
		{"Lena wil 2 koekjes.", "Lena wil 3 koekjes.", "Lena wil 3 koekjes.", "numbers"},
		{"会議は22時に開始。", "会議は23時に開始。", "会議は23時に開始。", "numbers"},
		{"Встреча в пять.", "Встреча в пять часов.", "Встреча в шесть часов.", "numbers"},
		{"Lena prefers e-mail.", "Lena prefers mail.", "Lena prefers mail and letters.", "words"},
	} {
		h := newHost(t)
		a, b := h.note(c.a), h.note(c.b)
		engine := proposing(t, Plan{{Retire: []string{a.ID, b.ID}, Reason: "x"}}, says(c.merged))
		r := h.run(engine, "p")
		if c.want == "verbatim" {
			require.Empty(t, r.Refused, c.merged)
			require.Equal(t, []string{b.ID}, h.live(), "it stays as it is")
			continue
		}
		if c.want == "" {
			require.Empty(t, r.Refused, c.merged)
			require.Equal(t, []string{c.merged}, h.texts())
			continue
		}
		require.Len(t, r.Refused, 1, c.merged)
		require.Regexp(t, "^the text (lacks|adds|changes) (the )?"+c.want+"$", r.Refused[0].Reason, c.merged)
		require.Len(t, h.live(), 2)
		require.True(t, h.run(engine, "again").Unchanged, "what was refused is not tried again")
	}
}

// A part that changes the tags of what it is given, to compare them say, changes its own copy:
// what is checked and written are those of memory.
func TestC9_WhatAPartDoesWithTheTagsItIsGivenIsItsOwn(t *testing.T) {
	lower := func(e memory.Entry) {
		for _, labels := range [][]string{e.Tags, e.Subjects} {
			for i := range labels {
				labels[i] = strings.ToLower(labels[i])
			}
		}
	}
	for name, c := range map[string]struct {
		with func(cfg *Config, o *Options)
		tags [2]string
	}{
		"planner": {func(cfg *Config, _ *Options) {
			cfg.Planner = planner{func(_ context.Context, es []memory.Entry) (Plan, error) {
				lower(es[0])
				lower(es[1])
				return Plan{{Keep: es[0].ID, Retire: []string{es[1].ID}}}, nil
			}, "1"}
		}, [2]string{"Red", "red"}},
		"merger": {func(cfg *Config, _ *Options) {
			cfg.Planner = planner{func(_ context.Context, es []memory.Entry) (Plan, error) {
				if len(es) < 2 {
					return Plan{}, nil
				}
				return Plan{{Retire: []string{es[0].ID, es[1].ID}}}, nil
			}, "1"}
			cfg.Merger = merger{func(_ context.Context, es []memory.Entry) (string, error) {
				lower(es[0])
				lower(es[1])
				return "The belt runs, and it runs.", nil
			}, "1"}
		}, [2]string{"Red", "Red"}},
	} {
		h := newHost(t)
		h.note("The belt runs.", c.tags[0])
		h.note("The belt runs.", c.tags[1])
		if c.tags[0] == c.tags[1] {
			h = newHost(t)
			h.note("The belt runs.", c.tags[0])
			h.note("The belt runs, it runs.", c.tags[1])
		}
		var cfg Config
		var o Options
		c.with(&cfg, &o)
		before := h.live()
		r := h.run(newConsolidator(t, cfg), "p-"+name, o)
		if c.tags[0] != c.tags[1] {
			require.Equal(t, before, h.live(), name)
			continue
		}
		require.Equal(t, 1, r.Derived, "%s %v", name, r)
		for e, err := range h.job("look").Scan(ctx, ref) {
			require.NoError(t, err)
			require.Equal(t, []string{"Red"}, e.Tags, name)
		}
	}
}

func TestAHostsPlanIsChecked(t *testing.T) {
	h := newHost(t)
	a, b, c := h.note("The gate is green.").ID, h.note("The gate  is green.").ID, h.note("The gate is closed to Lena.").ID
	d := h.put(memory.Draft{Content: "The gate is green.", ExpiresAt: epoch.Add(time.Hour)}).ID
	e := h.put(memory.Draft{Content: "A gate is green.", ExpiresAt: epoch.Add(time.Hour)}).ID
	old, newer := h.note("One.", "slot:x").ID, h.note("Two.", "slot:x").ID
	lena := h.put(memory.Draft{Content: "The gate is green.", Subjects: []string{"lena"}}).ID
	lenas := h.put(memory.Draft{Content: "Three.", Tags: []string{"slot:x"}, Subjects: []string{"lena"}}).ID
	short := h.put(memory.Draft{Content: "Four.", Tags: []string{"slot:x"}, ExpiresAt: epoch.Add(time.Hour)}).ID
	alien, err := h.job("import").Put(ctx, ref+"/2", memory.Draft{Content: "The gate is green."})
	require.NoError(t, err)
	for i, x := range []struct {
		plan Plan
		want string
		says Merger
	}{
		{Plan{{Keep: a}}, "there is nothing to retire, or nothing that stays", nil},
		{Plan{{Keep: a, Retire: []string{alien.ID}}}, "an entry is not part of the corpus, or must not be changed", nil},
		{Plan{{Keep: alien.ID, Retire: []string{a}}}, "an entry is not part of the corpus, or must not be changed", nil},
		{Plan{{Keep: a, Retire: []string{a}}}, "an entry is named twice", nil},
		{Plan{{Keep: a, Retire: []string{b, b}}}, "an entry is named twice", nil},
		{Plan{{Keep: a, Retire: []string{c}}}, "the text lacks names", nil},
		{Plan{{Keep: d, Retire: []string{a}}}, "the expiries differ", nil},
		{Plan{{Keep: a, Retire: []string{e}}}, "the expiries differ", nil},
		{Plan{{Retire: []string{a, d}}}, "the expiries differ", says("The gate is green.")},
		{Plan{{Retire: []string{a, b}}}, "there is no merger to write the text", nil},
		{Plan{{Retire: []string{a, b}}}, "the merged text is empty", says(" ")},
		{Plan{{Retire: []string{a, b}}}, "the merged text is not text", says("\xff")},
		{Plan{{Retire: []string{a, b}}}, "the merged text breaks a limit", says(strings.Repeat("The gate is green. ", 5000))},
		{Plan{{Keep: old, Retire: []string{newer}, Superseded: true}}, "the newest value of a slot stays", nil},
		{Plan{{Keep: b, Retire: []string{a}, Superseded: true}}, "the slots differ", nil},
		{Plan{{Keep: a, Retire: []string{old}}}, "the tags or the subjects differ", nil},
		{Plan{{Keep: a, Retire: []string{lena}}}, "the tags or the subjects differ", nil},
		{Plan{{Retire: []string{a, lena}}}, "the tags or the subjects differ", says("The gate is green.")},
		{Plan{{Keep: lenas, Retire: []string{newer}, Superseded: true}}, "the subjects differ", nil},
		{Plan{{Keep: short, Retire: []string{newer}, Superseded: true}}, "the older value lives longer", nil},
	} {
		before := h.live()
		r := h.run(proposing(t, x.plan, x.says), fmt.Sprint("p", i))
		require.Len(t, r.Refused, 1, x.want)
		require.Equal(t, x.want, r.Refused[0].Reason)
		require.Equal(t, before, h.live())
	}
	r := h.run(proposing(t, Plan{{Keep: a, Retire: []string{b}}, {Keep: b, Retire: []string{a}}}, nil), "p")
	require.Equal(t, 1, r.Merged)
	require.Len(t, r.Refused, 1, "a group whose entries are gone")
	r = h.run(proposing(t, Plan{{Keep: newer, Retire: []string{old}, Superseded: true}}, nil), "q")
	require.Equal(t, 1, r.Superseded)
}

func TestAFailingHostStopsThePassCleanly(t *testing.T) {
	h := newHost(t)
	var plan Plan
	for i := range 4 {
		a := h.note(fmt.Sprintf("Lena must sign the form %d.", i/2))
		b := h.note(fmt.Sprintf("Lena has to sign the form %d.", i/2))
		plan = append(plan, Group{Retire: []string{a.ID, b.ID}, Reason: "a pair"})
	}
	pairs := planner{func(_ context.Context, es []memory.Entry) (p Plan, _ error) {
		for _, m := range plan {
			if slices.ContainsFunc(es, func(e memory.Entry) bool { return e.ID == m.Retire[0] }) {
				p = append(p, m)
			}
		}
		return p, nil
	}, "1"}
	boom := errors.New("the model said: secret words")
	c := newConsolidator(t, Config{Planner: planner{func(context.Context, []memory.Entry) (Plan, error) { return Plan{}, boom }, ""}})
	_, err := c.Run(ctx, h.job("p1"), ref, Options{})
	require.ErrorIs(t, err, memory.ErrInternal)
	require.ErrorIs(t, err, boom)
	require.Equal(t, memory.CodeInternal, memory.CodeOf(err))
	require.Equal(t, "consolidate: the planner failed", err.Error())
	_, err = c.Plan(ctx, h.job("p1"), ref, Options{})
	require.ErrorIs(t, err, boom)

	calls := 0
	c = newConsolidator(t, Config{Planner: pairs, Merger: merger{func(ctx context.Context, group []memory.Entry) (string, error) {
		if calls++; calls == 2 {
			deadline, ok := ctx.Deadline()
			require.True(t, ok)
			require.Less(t, time.Until(deadline), time.Minute+time.Second)
			return "", boom
		}
		return "And also: " + group[0].Content, nil
	}, ""}})
	r, err := c.Run(ctx, h.job("p1"), ref, Options{})
	require.ErrorIs(t, err, boom)
	require.Equal(t, 1, r.Derived)
	require.Equal(t, r.InputCount-r.Merged+r.Derived, r.OutputCount)
	require.Empty(t, h.passes())
	require.Len(t, h.live(), r.OutputCount)
	r = h.run(c, "p2")
	require.Equal(t, 3, r.Derived)
	require.Len(t, h.passes(), 1)

	// A planner that outlives its deadline is an error, and not one of the caller's context.
	h.note("One more.")
	hang := make(chan struct{})
	defer close(hang)
	c = newConsolidator(t, Config{Timeout: time.Nanosecond, Planner: planner{func(context.Context, []memory.Entry) (Plan, error) {
		<-hang
		return Plan{}, nil
	}, ""}})
	_, err = c.Run(ctx, h.job("p3"), ref, Options{})
	require.EqualError(t, err, "consolidate: the planner did not answer in time")
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

func TestSelectionNarrowsTheCorpus(t *testing.T) {
	h := newHost(t)
	for range 2 {
		h.note("Same.", "long-term")
		h.note("Same.", "scratch")
	}
	h.note("Else.", "long-term")
	c := newConsolidator(t, Config{})
	r := h.run(c, "p1", Options{Tag: "long-term"})
	require.Equal(t, [2]int{3, 2}, [2]int{r.InputCount, r.OutputCount})
	r = h.run(c, "p2", Options{Tag: "scratch"})
	require.Equal(t, [2]int{2, 1}, [2]int{r.InputCount, r.OutputCount})
	require.True(t, h.run(c, "p3", Options{Tag: "long-term"}).Unchanged)
}

func TestThePlanIsAValue(t *testing.T) {
	h := newHost(t)
	a, b := h.note("Orders must be signed by Tomas."), h.note("Orders must be  signed by Tomas")
	o, n := h.note("Starter.", "slot:plan"), h.note("Team.", "slot:plan")
	c := newConsolidator(t, Config{})
	p, err := c.Plan(ctx, h.job("p"), ref, Options{})
	require.NoError(t, err)
	require.Equal(t, Plan{
		{Keep: a.ID, Retire: []string{b.ID}, Reason: "equal but for spaces, quotation marks or a last full stop"},
		{Keep: n.ID, Retire: []string{o.ID}, Superseded: true, Reason: "a newer value of the same slot"},
	}, p)
	require.Len(t, h.live(), 4, "a plan writes nothing")
}

func TestNewAndRunRefuseWhatMakesNoSense(t *testing.T) {
	for _, cfg := range []Config{{Trigger: "nightly"}, {Timeout: -1}} {
		_, err := New(cfg)
		require.ErrorIs(t, err, memory.ErrValidation)
	}
	c := newConsolidator(t, Config{})
	require.Equal(t, events.ConsolidationHostManaged, c.Trigger())
	h := newHost(t)
	_, err := c.Run(ctx, nil, ref, Options{})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = c.Plan(ctx, nil, ref, Options{})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = c.Undo(ctx, nil, ref, "p")
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = c.Run(ctx, h.job("p"), ref, Options{Trigger: "both"})
	require.ErrorIs(t, err, memory.ErrValidation)
	_, err = c.Run(ctx, h.job("p"), "../x", Options{})
	require.ErrorIs(t, err, memory.ErrValidation)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.Run(done, h.job("p"), ref, Options{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.Plan(done, h.job("p"), ref, Options{})
	require.ErrorIs(t, err, context.Canceled)
	// Without transactions there is no consolidation.
	bank, err := memory.New(justAdapter{h.store}, memory.Config{})
	require.NoError(t, err)
	job, err := bank.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: open{}})
	require.NoError(t, err)
	_, err = c.Run(ctx, job, ref, Options{})
	require.ErrorIs(t, err, memory.ErrNotProvided)
}

type justAdapter struct{ driver.Adapter }

// A stray value in the lease is not taken for one.
func TestAStrayLeaseIsReplaced(t *testing.T) {
	h := newHost(t)
	_, err := h.Engines().Swap(ctx, "acme", driver.DocumentSwap{Document: driver.Document{
		Scope: memory.Scope{Ref: ref}, Kind: memory.RemoveWhenDue, Key: leaseKey, Value: []byte("not JSON"),
	}})
	require.NoError(t, err)
	c := newConsolidator(t, Config{})
	require.Equal(t, "p1", h.run(c, "p1").Pass)
	doc, err := h.job("look").Document(ctx, ref, memory.RemoveWhenDue, leaseKey)
	require.NoError(t, err)
	var s state
	require.NoError(t, decode(doc, &s))
	require.Equal(t, state{Pass: "p1"}, s)
	require.True(t, h.run(c, "p2").Unchanged)
	require.Len(t, h.passes(), 2)
}

// Journals and the leases of dead passes are kept for their time and not for ever; what
// was undone stays.
func TestMaintainRemovesWhatIsOver(t *testing.T) {
	h := newHost(t)
	c := newConsolidator(t, Config{})
	h.note("Lena prefers e-mail.")
	h.note("Lena prefers e-mail.")
	require.Equal(t, 1, h.run(c, "p1").Merged)
	kept := func() (keys []string) { // what of the engine is there until it is due
		for d, err := range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{Ref: ref, Kind: memory.RemoveWhenDue}) {
			require.NoError(t, err)
			keys = append(keys, strings.TrimRight(d.Key, "0123456789abcdef"))
		}
		slices.Sort(keys)
		return slices.Compact(slices.DeleteFunc(keys, func(k string) bool { return k == "" }))
	}
	h.advance(Retention - time.Minute)
	_, err := h.Maintain(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{journalKey, leaseKey}, kept())
	restored, err := c.Undo(ctx, h.job("u1"), ref, "p1")
	require.NoError(t, err)
	require.Equal(t, 1, restored)
	h.advance(time.Minute)
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{leaseKey}, kept(), "it was renewed")
	require.Zero(t, h.run(c, "p2").Merged, "what was undone is not merged again")
	h.advance(Retention)
	_, err = h.Maintain(ctx)
	require.NoError(t, err)
	kinds := map[string]int{}
	for d, err := range h.Engines().Documents(ctx, "acme", driver.DocumentQuery{EveryRef: true}) {
		require.NoError(t, err)
		kinds[d.Kind]++
	}
	require.Equal(t, map[string]int{digestKind: 1, undoneKind: 1, "memory/purge": 1}, kinds)
}

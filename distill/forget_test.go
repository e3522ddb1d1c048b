package distill_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// everything is what the store holds of the tenant, as text.
func (h *host) everything() string {
	h.t.Helper()
	var b strings.Builder
	for rec, err := range h.raw.History(ctx, tenant, driver.HistoryQuery{}) {
		require.NoError(h.t, err)
		fmt.Fprintf(&b, "%v %v %v %v\n", rec.Entry.Content, rec.Entry.Tags, rec.Entry.Subjects, rec.Entry.Sources)
	}
	for _, d := range h.documents("") {
		fmt.Fprintf(&b, "%s %s %s %s %s %v %v\n", d.Ref, d.Kind, d.Key, d.Group, d.Value, d.Of, d.Subjects)
	}
	for rec, err := range h.raw.Undelivered(ctx, "", "") {
		require.NoError(h.t, err)
		payload, err := json.Marshal(rec.Payload)
		require.NoError(h.t, err)
		fmt.Fprintf(&b, "%s %s\n", rec.RunID, payload)
	}
	return b.String()
}

// Forget alone takes everything of the subject: archives, their archives, lines of the
// index, and what a pass under way had read, wherever it was killed.
func TestM10_D3_ForgetAloneTakesArchivesAndIndex(t *testing.T) {
	for _, after := range []bool{false, true} {
		for calls := 0; ; calls++ {
			if !forgetAfterCrash(t, calls, after) {
				require.Equal(t, 7, calls, "calls of the store")
				break
			}
		}
	}
}

func forgetAfterCrash(t *testing.T, calls int, after bool) bool {
	at := fmt.Sprintf("call %d, after %t", calls, after)
	f := &fuse{off: true}
	raw := inmem.New()
	h := newHostOn(t, raw, crashStore{raw, f})
	j := h.job()
	var hers []string
	for i, text := range []string{"Lena prefers tea.", "The hall is booked.", "The band is paid.", "Lena called twice."} {
		d := memory.Draft{Content: text, Tags: []string{fmt.Sprint("half-", i%2)}}
		if strings.Contains(text, "Lena") {
			d.Subjects = []string{"lena"}
		}
		e, err := j.Put(ctx, ref, d)
		require.NoError(t, err)
		if d.Subjects != nil {
			hers = append(hers, e.ID)
		}
	}
	_, err := j.Put(ctx, "mem://acme/other", memory.Draft{Content: "The bus was late."})
	require.NoError(t, err)
	r := h.runner()
	first := h.distill(r, distill.Options{Tag: "half-0", Sources: distill.ExpireSources})
	second := h.distill(r, distill.Options{Tag: "half-0", Recursive: true})
	require.Equal(t, []string{first.Archive}, func() (p []string) {
		a, err := distill.Decode(h.bytesOf(second.Archive))
		require.NoError(t, err)
		p = append(p, a.Parents...)
		return p
	}())
	theirs, err := r.Distill(ctx, j, "mem://acme/other", distill.Options{})
	require.NoError(t, err)

	// Another pass over her notes is killed.
	j = h.job()
	f.off, f.left, f.after = false, calls, after
	_, err = r.Distill(ctx, j, ref, distill.Options{Tag: "half-1"})
	f.off = true
	if f.left >= 0 {
		require.NoError(t, err)
		return false
	}
	h.reopen(raw)
	require.Contains(t, h.everything(), "Lena")
	_, err = h.bank.Forget(ctx, tenant, "lena")
	require.NoError(t, err)

	left := h.everything()
	require.NotContains(t, left, "Lena", at)
	require.NotContains(t, left, "lena", at)
	for _, d := range h.documents("") {
		if d.Kind == "memory/erasure" {
			continue // the ledger of what was erased: ids and nothing else
		}
		for _, id := range append(hers, first.Output.ID, second.Output.ID) {
			require.NotContains(t, string(d.Value), id, at)
			require.NotContains(t, d.Of, id, at)
		}
	}
	require.Equal(t, []string{theirs.Archive}, h.archives(), at)
	var live []string
	for _, e := range h.live() {
		live = append(live, e.Content)
	}
	require.ElementsMatch(t, []string{"The hall is booked.", "The band is paid."}, live, at)
	before := h.version()
	x := h.index()
	require.Equal(t, before+1, h.version(), at)
	require.Len(t, x.Refs, 1, at)
	require.Equal(t, theirs.Output.ID, x.Refs["mem://acme/other"][0].MemoryID)
	return true
}

// What is forgotten while the model thinks is in nothing that the pass commits.
func TestM10_ForgettingUnderAPass(t *testing.T) {
	h := newHost(t)
	_, err := h.job().Put(ctx, ref, memory.Draft{Content: "Lena prefers tea.", Subjects: []string{"lena"}})
	require.NoError(t, err)
	h.put("The hall is booked.")
	m := &model{name: "slow/1", say: func(call int64, req distill.Request) ([]distill.Item, error) {
		var items []distill.Item
		for _, s := range req.Sources {
			items = append(items, distill.Item{Text: s.Text})
		}
		if call == 1 {
			_, err := h.bank.Forget(ctx, tenant, "lena")
			require.NoError(t, err)
		}
		return items, nil
	}}
	res := h.distill(h.runner(func(c *distill.Config) { c.Summarizer = m }), distill.Options{})
	require.Equal(t, "The hall is booked.", res.Output.Content)
	require.NotContains(t, h.everything(), "Lena")
	require.EqualValues(t, 2, m.calls.Load())
}

// Scrub alone takes what is a secret now out of archives and index.
func TestM10_ScrubAloneTakesArchives(t *testing.T) {
	h := newHost(t)
	h.put("The hall is booked.", "The code is zebra-crossing-41.")
	r := h.runner()
	res := h.distill(r, distill.Options{})
	h.secrets["door"] = "zebra-crossing-41"
	_, err := r.Open(ctx, h.job(), ref, res.Output.ID)
	require.ErrorIs(t, err, memory.ErrSecretLeakage)
	_, err = h.bank.Scrub(ctx, tenant, vault{"zebra-crossing-41"})
	require.NoError(t, err)
	require.Empty(t, h.archives())
	require.Empty(t, h.index().Refs)
	require.NotContains(t, h.everything(), "zebra")
	again := h.distill(r, distill.Options{})
	require.NotContains(t, string(h.bytesOf(again.Archive)), "zebra")
}

package forgetting

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/redact"
)

// Home is where a [Host] is told about subjects.
var Home = driver.Scope{Tenant: "acme", Ref: "support"}

// model is a merger and a summarizer.
type model struct{}

func (model) Version() string { return "endings/1" }

// say has words of the text only, up to their endings: others would be refused (C8).
func (model) say(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.ReplaceAll(text, word, Inflected(word))
}

func (m model) Merge(_ context.Context, group []memory.Entry) (string, error) {
	return m.say(group[0].Content), nil
}

func (m model) Summarize(_ context.Context, req distill.Request) (items []distill.Item, err error) {
	for _, s := range req.Sources {
		items = append(items, distill.Item{Text: m.say(s.Text), Sources: []string{s.ID}})
	}
	return items, nil
}

// Gate is a sink that refuses all events while it is shut.
type Gate struct {
	events.Log
	Shut atomic.Bool
}

// Emit keeps the events unless the gate is shut.
func (g *Gate) Emit(ctx context.Context, recs ...events.Record) error {
	if g.Shut.Load() {
		return errors.New("shut")
	}
	return g.Log.Emit(ctx, recs...)
}

// Host puts what it is told about subjects into a store.
type Host struct {
	Bank         *memory.Bank
	consolidator *consolidate.Consolidator
	distiller    *distill.Runner
}

// New returns a host over a store.
func New(st driver.Adapter, sink events.Sink) (*Host, error) {
	h := &Host{}
	var errs [3]error
	h.Bank, errs[0] = memory.New(st, memory.Config{Sink: sink, WriteEvents: true})
	h.consolidator, errs[1] = consolidate.New(consolidate.Config{Merger: model{}})
	h.distiller, errs[2] = distill.New(distill.Config{Summarizer: model{}})
	return h, errors.Join(errs[:]...)
}

func (h *Host) job(t *testing.T) *memory.Job {
	j, err := h.Bank.Background(jobConfig())
	require.NoError(t, err)
	return j
}

func jobConfig() memory.JobConfig {
	return memory.JobConfig{ID: rand.Text(), Tenant: Home.Tenant, Redactor: redact.New(redact.Config{})}
}

// Tell has the store hold everything that it can about a subject. The commitment that is armed
// names its entry and holds no word of it.
func (h *Host) Tell(t *testing.T, w Words) {
	ctx := t.Context()
	put := func(ref, role, text string, tags ...string) string {
		d := memory.Draft{Content: w[role] + " " + text, Tags: append(tags, w["tag"]), Subjects: []string{w["label"]}}
		e, err := h.job(t).Put(ctx, ref, d)
		require.NoError(t, err)
		return e.ID
	}
	consolidated := func(derived, superseded int) string {
		j := h.job(t)
		done, err := h.consolidator.Run(ctx, j, Home.Ref, consolidate.Options{Tag: w["tag"]})
		require.NoError(t, err)
		require.True(t, done.Derived == derived && done.Superseded == superseded, "the pass came to %+v", done)
		return j.ID()
	}
	put(Home.Ref, "restored", "says that the night shift of Kestrel starts at 22:00.")
	put(Home.Ref, "restored", "says that Kestrel's night shift starts at 22:00.")
	restored, err := h.consolidator.Undo(ctx, h.job(t), Home.Ref, consolidated(1, 0))
	require.NoError(t, err)
	require.True(t, restored == 2, "%d were restored", restored)

	put(Home.Ref, "merged", "says that the cargo shift of Kestrel starts at 21:00.")
	put(Home.Ref, "merged", "says that Kestrel's cargo shift starts at 21:00.")
	put(Home.Ref, "superseded", "is on the Starter plan.", "slot:"+w["tag"])
	put(Home.Ref, "superseded", "is on the Team plan.", "slot:"+w["tag"])
	deleted, err := h.job(t).Delete(ctx, Home.Ref, put(Home.Ref, "deleted", "was a mistake."))
	require.NoError(t, err)
	require.True(t, deleted, "nothing was deleted")
	consolidated(1, 1)

	o := distill.Options{Tag: w["tag"], Sources: distill.ExpireSources, Recursive: true, Select: func(e memory.Entry) bool {
		return slices.Contains(e.Tags, "log") || e.Compacted()
	}}
	for i := range 2 { // the second one takes the archive of the first one in
		put(Home.Ref, "distilled", fmt.Sprintf("called about invoice %d.", i), "log")
		done, err := h.distiller.Distill(ctx, h.job(t), Home.Ref, o)
		require.NoError(t, err)
		require.True(t, !done.Fallback && done.Sources == 1+i, "the distillation came to %+v", done)
	}

	plain := put(Home.Ref, "plain", "wants to be called every day at 09:00.", "every:24h")
	engine, err := commitment.New(h.Bank, commitment.Config{Redactor: func(context.Context, string) (memory.Redactor, error) {
		return redact.New(redact.Config{}), nil
	}})
	require.NoError(t, err)
	armed, err := engine.Infer(ctx, h.job(t), Home.Ref)
	require.NoError(t, err)
	require.True(t, len(armed.Armed) == 1, "%d were armed", len(armed.Armed))
	for ref, d := range map[string]driver.Document{
		Home.Ref: {Class: driver.Content, Kind: "vector", Key: plain, Of: []string{plain}, Value: []byte(vectorOf(w["plain"]))},
		"":       {Class: driver.HostText, Kind: "file", Key: plain, Subjects: []string{w["label"]}, Value: []byte(w["file"])},
	} {
		d.Ref = ref
		_, err = h.job(t).Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: d}}
		}})
		require.NoError(t, err)
	}

	// A fact that is known from elsewhere too becomes one with what was told of it here. A
	// pass does not do that, since the two are of different subjects.
	shared := w["shared"] + " says that the lunch break of Kestrel starts at 12:00."
	j := h.job(t)
	told, err := j.Put(ctx, w.SharedRef(), memory.Draft{Content: shared, Subjects: []string{w["label"]}})
	require.NoError(t, err)
	known, err := j.Put(ctx, w.SharedRef(), memory.Draft{Content: w["shared"] + " says that Kestrel's lunch break starts at 12:00."})
	require.NoError(t, err)
	ids := []string{told.ID, known.ID}
	_, err = j.Rewrite(ctx, w.SharedRef(), memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: model{}.say(shared)}, Sources: ids, Merges: ids,
	}}})
	require.NoError(t, err)
}

// TellLate puts two entries about each subject into a ref of its own, for a pass that will be
// killed. Each begins with the word for it, so many times.
func (h *Host) TellLate(t *testing.T, ref string, times int, all ...Words) {
	j := h.job(t)
	for _, w := range all {
		for _, text := range []string{"says that the late shift of Kestrel starts at 14:00.", "says that Kestrel's late shift starts at 14:00."} {
			_, err := j.Put(t.Context(), ref, memory.Draft{Content: strings.Repeat(w["killed"]+" ", times) + text,
				Tags: []string{w["tag"]}, Subjects: []string{w["label"]}})
			require.NoError(t, err)
		}
	}
}

// Pass consolidates and distills a ref.
func (h *Host) Pass(ctx context.Context, ref string) error {
	j, err := h.Bank.Background(jobConfig())
	if err == nil {
		_, err = h.consolidator.Run(ctx, j, ref, consolidate.Options{})
	}
	if err == nil {
		_, err = h.distiller.Distill(ctx, j, ref, distill.Options{Sources: distill.ExpireSources})
	}
	return err
}

// Forget forgets what goes, with a sink that refuses events, and checks what the store then says of
// all that it holds: nothing of what goes, and all of what stays.
func (h *Host) Forget(t *testing.T, goes, stays Words, all func() string) {
	_, err := h.Bank.Maintain(t.Context())
	require.True(t, errors.Is(err, memory.ErrInternal), "the sink does not refuse: %v", err)
	before := all()
	for _, word := range slices.Concat(goes.Stored(), stays.Stored()) {
		require.True(t, strings.Contains(before, word), "%q is not stored", word)
	}
	done, err := h.Bank.Forget(t.Context(), Home.Tenant, goes["label"])
	require.NoError(t, err)
	require.True(t, done.Documents == 1, "%d documents went", done.Documents)
	left := all()
	for _, word := range goes.Forgotten() {
		require.True(t, !strings.Contains(left, word), "%q is left", word)
	}
	for _, word := range append(stays.Stored(), goes["shared"]) {
		require.True(t, strings.Contains(left, word), "%q went, too", word)
	}
	live, err := h.Bank.Reader(Home.Tenant).List(t.Context(), goes.SharedRef(), memory.ListOptions{})
	require.NoError(t, err)
	require.True(t, len(live) == 1, "%d entries of what is known from elsewhere are live", len(live))
}

// Deliver opens the sink and checks that no event that waited has a word of what was forgotten.
func (h *Host) Deliver(t *testing.T, sink *Gate, gone Words) {
	sink.Shut.Store(false)
	relayed, err := h.Bank.Maintain(t.Context())
	require.NoError(t, err)
	require.True(t, relayed.Waiting == 0, "%d events wait", relayed.Waiting)
	log, err := json.Marshal(sink.All())
	require.NoError(t, err)
	require.True(t, strings.Contains(string(log), Home.Ref), "no event came") // events have no tags
	for _, word := range gone.Forgotten() {
		require.True(t, !strings.Contains(string(log), word), "%q is in an event", word)
	}
}

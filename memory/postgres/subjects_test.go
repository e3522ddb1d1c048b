package postgres

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

// told is what is told about a subject, in words that occur nowhere else: its label, a tag,
// and the first word of each text about it.
type told map[string]string

var roles = []string{"label", "tag", "file", "plain", "deleted", "superseded", "merged", "restored", "distilled", "killed", "shared"}

func newTold() told {
	w := told{}
	for _, role := range roles {
		letters := make([]byte, 24)
		for i := range letters {
			letters[i] = 'a' + byte(rand.IntN(26))
		}
		w[role] = string(letters)
	}
	return w
}

// mirrored is what a model makes of a word, so that a derived text has words of its own.
func mirrored(word string) string {
	b := []byte(word)
	slices.Reverse(b)
	return string(b)
}

// ending is what a merge makes of a word.
func ending(word string) string { return word + "s" }

func vectorOf(word string) string {
	return base64.StdEncoding.EncodeToString([]byte("vector of " + word))
}

// stored are the words that a store has once all of it is told.
func (w told) stored() (words []string) {
	for _, role := range roles {
		words = append(words, w[role])
	}
	return append(words, ending(w["merged"]), ending(w["restored"]), mirrored(w["distilled"]), mirrored(w["shared"]), vectorOf(w["plain"]))
}

// forgotten are the words that it has no more once the subject is forgotten, whatever the
// passes have made of what was told.
func (w told) forgotten() (words []string) {
	for _, role := range roles {
		if role != "shared" {
			words = append(words, w[role])
		}
		words = append(words, ending(w[role]), mirrored(w[role]), vectorOf(w[role]))
	}
	return words
}

// sharedRef is the ref of what is known from elsewhere too. It is no word that is told.
func sharedRef(w told) string { return "shared-" + w["plain"][:4] }

// model is a merger and a summarizer.
type model struct{}

func (model) Version() string { return "mirror/1" }

func (model) say(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.ReplaceAll(text, word, mirrored(word))
}

// Merge has words of the sources only, up to their endings: others would be refused (C8).
func (m model) Merge(_ context.Context, group []memory.Entry) (string, error) {
	word, rest, _ := strings.Cut(group[0].Content, " ")
	return ending(word) + " " + rest, nil
}

func (m model) Summarize(_ context.Context, req distill.Request) (items []distill.Item, err error) {
	for _, s := range req.Sources {
		items = append(items, distill.Item{Text: m.say(s.Text), Sources: []string{s.ID}})
	}
	return items, nil
}

// gate is a sink that refuses all while it is shut.
type gate struct {
	events.Log
	shut atomic.Bool
}

func (g *gate) Emit(ctx context.Context, recs ...events.Record) error {
	if g.shut.Load() {
		return errors.New("shut")
	}
	return g.Log.Emit(ctx, recs...)
}

// teller is a host that tells the store about subjects.
type teller struct {
	bank         *memory.Bank
	consolidator *consolidate.Consolidator
	distiller    *distill.Runner
	name         string // of its passes
	passes       int
}

func newTeller(name string, st driver.Adapter, sink events.Sink) (*teller, error) {
	h := &teller{name: name}
	var errs [3]error
	h.bank, errs[0] = memory.New(st, memory.Config{Sink: sink, WriteEvents: true})
	h.consolidator, errs[1] = consolidate.New(consolidate.Config{Merger: model{}})
	h.distiller, errs[2] = distill.New(distill.Config{Summarizer: model{}})
	return h, errors.Join(errs[:]...)
}

func noSecrets(context.Context, string) (memory.Redactor, error) {
	return redact.New(redact.Config{}), nil
}

func (h *teller) job() (*memory.Job, error) {
	h.passes++
	secrets, _ := noSecrets(context.Background(), "")
	return h.bank.Background(memory.JobConfig{ID: fmt.Sprintf("%s-%d", h.name, h.passes), Tenant: home.Tenant, Redactor: secrets})
}

// tell has all that a store can hold said about a subject. The commitment that is armed
// names its entry and holds no word of it.
func (h *teller) tell(t *testing.T, w told) {
	ctx := t.Context()
	job := func() *memory.Job {
		j, err := h.job()
		require.NoError(t, err)
		return j
	}
	put := func(ref, role, text string, tags ...string) string {
		d := memory.Draft{Content: w[role] + " " + text, Tags: append(tags, w["tag"]), Subjects: []string{w["label"]}}
		e, err := job().Put(ctx, ref, d)
		require.NoError(t, err)
		return e.ID
	}
	consolidated := func(derived, superseded int) string {
		j := job()
		done, err := h.consolidator.Run(ctx, j, home.Ref, consolidate.Options{Tag: w["tag"]})
		require.NoError(t, err)
		require.Equal(t, []int{derived, superseded}, []int{done.Derived, done.Superseded})
		return j.ID()
	}
	put(home.Ref, "restored", "says that the night shift of Kestrel starts at 22:00.")
	put(home.Ref, "restored", "says that Kestrel's night shift starts at 22:00.")
	restored, err := h.consolidator.Undo(ctx, job(), home.Ref, consolidated(1, 0))
	require.NoError(t, err)
	require.Equal(t, 2, restored)

	put(home.Ref, "merged", "says that the cargo shift of Kestrel starts at 21:00.")
	put(home.Ref, "merged", "says that Kestrel's cargo shift starts at 21:00.")
	put(home.Ref, "superseded", "is on the Starter plan.", "slot:"+w["tag"])
	put(home.Ref, "superseded", "is on the Team plan.", "slot:"+w["tag"])
	deleted, err := job().Delete(ctx, home.Ref, put(home.Ref, "deleted", "was a mistake."))
	require.NoError(t, err)
	require.True(t, deleted)
	consolidated(1, 1)

	o := distill.Options{Tag: w["tag"], Sources: distill.ExpireSources, Recursive: true, Select: func(e memory.Entry) bool {
		return slices.Contains(e.Tags, "log") || e.Compacted()
	}}
	for i := range 2 { // the second one takes the archive of the first one in
		put(home.Ref, "distilled", fmt.Sprintf("called about invoice %d.", i), "log")
		done, err := h.distiller.Distill(ctx, job(), home.Ref, o)
		require.NoError(t, err)
		require.False(t, done.Fallback)
		require.Equal(t, 1+i, done.Sources)
	}

	plain := put(home.Ref, "plain", "wants to be called every day at 09:00.", "every:24h")
	engine, err := commitment.New(h.bank, commitment.Config{Redactor: noSecrets})
	require.NoError(t, err)
	armed, err := engine.Infer(ctx, job(), home.Ref)
	require.NoError(t, err)
	require.Len(t, armed.Armed, 1)
	for ref, d := range map[string]driver.Document{
		home.Ref: {Class: driver.Content, Kind: "vector", Key: plain, Of: []string{plain}, Value: []byte(vectorOf(w["plain"]))},
		"":       {Class: driver.HostText, Kind: "file", Key: plain, Subjects: []string{w["label"]}, Value: []byte(w["file"])},
	} {
		d.Ref = ref
		_, err = job().Rewrite(ctx, ref, memory.Rewrite{Documents: func([]memory.Entry) []driver.DocumentSwap {
			return []driver.DocumentSwap{{Document: d}}
		}})
		require.NoError(t, err)
	}

	// A fact that is known from elsewhere too becomes one with what was told of it here. A
	// pass does not do that, since the two are of different subjects.
	shared := w["shared"] + " says that the lunch break of Kestrel starts at 12:00."
	j := job()
	told, err := j.Put(ctx, sharedRef(w), memory.Draft{Content: shared, Subjects: []string{w["label"]}})
	require.NoError(t, err)
	known, err := j.Put(ctx, sharedRef(w), memory.Draft{Content: w["shared"] + " says that Kestrel's lunch break starts at 12:00."})
	require.NoError(t, err)
	ids := []string{told.ID, known.ID}
	_, err = j.Rewrite(ctx, sharedRef(w), memory.Rewrite{Derive: []memory.Derived{{
		Draft: memory.Draft{Content: model{}.say(shared)}, Sources: ids, Merges: ids,
	}}})
	require.NoError(t, err)
}

// tellLate says something of each subject in a ref of its own, for a pass that will be
// killed. Before it comes the word that tells what is said, many times over.
func (h *teller) tellLate(t *testing.T, ref string, times int, all ...told) {
	j, err := h.job()
	require.NoError(t, err)
	for _, w := range all {
		for _, text := range []string{"says that the late shift of Kestrel starts at 14:00.", "says that Kestrel's late shift starts at 14:00."} {
			_, err := j.Put(t.Context(), ref, memory.Draft{Content: strings.Repeat(w["killed"]+" ", times) + text,
				Tags: []string{w["tag"]}, Subjects: []string{w["label"]}})
			require.NoError(t, err)
		}
	}
}

// pass consolidates and distills a ref.
func (h *teller) pass(ctx context.Context, ref string) error {
	j, err := h.job()
	if err == nil {
		_, err = h.consolidator.Run(ctx, j, ref, consolidate.Options{})
	}
	if err == nil {
		_, err = h.distiller.Distill(ctx, j, ref, distill.Options{Sources: distill.ExpireSources})
	}
	return err
}

// delivered opens the gate and returns what comes through, as text.
func (h *teller) delivered(t *testing.T, sink *gate) string {
	sink.shut.Store(false)
	relayed, err := h.bank.Maintain(t.Context())
	require.NoError(t, err)
	require.Zero(t, relayed.Waiting)
	log, err := json.Marshal(sink.All())
	require.NoError(t, err)
	return string(log)
}

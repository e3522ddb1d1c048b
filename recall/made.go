package recall

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openwop/agentmemory/internal/hostcall"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// What errors call the parts of the host.
const (
	theEmbedder = "the embedder"
	theExpander = "the expander"
	theSource   = "the source of redactors"
)

// Expander is a model that says in other words what a text says, so that questions in those words find
// it; module bridges/models makes one of a language model. It is the host's, and safe for concurrent use.
// A call that takes longer than [memory.PluginTimeout] counts as failed. It has at most 16 texts, and a
// round of memory.Bank.Maintain asks about at most 64.
type Expander interface {
	// Expand returns for each text, in their order, other words for what it says: sentences, questions
	// that it answers, or single words. An empty one is none. One of more than
	// [memory.DefaultMaxEntryBytes], or that is not UTF-8 or has U+0000, fails the call.
	Expand(ctx context.Context, texts []string) ([]string, error)
	// Model names the model with its version. Words of different names are never mixed. It
	// is called once, in place.
	Model() string
}

// maker makes a document of each entry by a model of the host: its vector, or its other words.
type maker struct {
	kind, version string // of the documents
	batch         int    // entries of one call of the model, and of one mutation
	round         int    // entries of one round of upkeep
	// make returns what the documents of some texts hold, in their order.
	make func(ctx context.Context, texts []string, h *head) ([]string, error)
	// load takes in what the document of an entry holds.
	load func(x *index, id string, since int64, value string, h head)
}

// The documents of a ref that a model has made. One is content of its entry, under the entry's id, and
// named by the number of the batch in which it was made as its group. The head of its kind counts the
// batches, so that a process reads only those that it does not have.
const (
	headKind   = "recall.made"
	vectorKind = "recall.vector." // and the model's mark
	wordsKind  = "recall.words."  // likewise
)

// mark is a short name of a model.
func mark(model string) string {
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:8])
}

// head is what a head document says: how many batches there are, and of how many dimensions the vectors are.
type head struct{ batches, dimensions int }

// headAt reads the head document of a kind. Without documents it is not there yet, and zero.
func headAt(ctx context.Context, v *memory.View, kind string) (d driver.Document, h head, err error) {
	for d, err := range v.Documents(ctx, driver.DocumentQuery{Kind: headKind, Key: kind}) {
		if err == nil {
			_, err = fmt.Sscan(string(d.Value), &h.batches, &h.dimensions)
		}
		if err != nil || h.dimensions < 0 || h.dimensions > maxDimensions {
			err = internal("the head of the vectors cannot be read, is damaged or of a later release", err)
		}
		return d, h, err
	}
	return driver.Document{Scope: v.Scope(), Kind: headKind, Key: kind}, head{}, nil
}

// plug plugs a model in, and asks it for its name.
func (r *Ranker) plug(part, field string, name func() string, by func(model string) maker) error {
	if r.cfg.Redactor == nil {
		return invalid(field + " needs Config.Redactor, since the model sees redacted text only")
	}
	model, err := hostcall.Inline(part, func() (string, error) { return name(), nil })
	if err != nil {
		return hostcall.Failed(context.Background(), part, err, internal)
	}
	if model == "" {
		return invalid(field + " names no model, or has none")
	}
	r.makers = append(r.makers, by(model))
	return nil
}

// askAll asks a model for one answer to each text.
func askAll[T any](ctx context.Context, part string, texts []string, model func(context.Context, []string) ([]T, error)) ([]T, error) {
	answers, err := hostcall.Call(ctx, part, memory.PluginTimeout, func(ctx context.Context) ([]T, error) { return model(ctx, texts) })
	if err != nil {
		return nil, hostcall.Failed(ctx, part, err, internal)
	}
	if len(answers) != len(texts) {
		return nil, internal(part+" gave another number of answers than texts", nil)
	}
	return answers, nil
}

// words returns the maker of the other words of a model.
func (r *Ranker) words(model string) maker {
	return maker{
		kind: wordsKind + mark(model), version: "words/1 " + model,
		batch: 16, round: roundWords,
		make: func(ctx context.Context, texts []string, _ *head) ([]string, error) {
			said, err := askAll(ctx, theExpander, texts, r.cfg.Expander.Expand)
			for _, s := range said {
				if len(s) > memory.DefaultMaxEntryBytes || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
					return nil, internal("the expander gave a text that is too long, is not UTF-8 or has U+0000", nil)
				}
			}
			return said, err
		},
		load: func(x *index, id string, since int64, value string, _ head) { x.addWords(id, words{since, value}) },
	}
}

// load reads what was made since the index read it last: batch by batch, or all at once if it has
// nothing yet.
func (x *index) load(ctx context.Context, v *memory.View, makers []maker) error {
	for _, m := range makers {
		_, h, err := headAt(ctx, v, m.kind)
		if err != nil {
			return err
		}
		q := driver.DocumentQuery{Kind: m.kind}
		for x.batches[m.kind] < h.batches {
			next := h.batches
			if have := x.batches[m.kind]; have > 0 {
				next = have + 1
				q.Group = strconv.Itoa(next)
			}
			for d, err := range v.Documents(ctx, q) {
				if err != nil {
					return err
				}
				raw, err := symbols.DecodeString(string(d.Value[:min(stampBytes, len(d.Value))]))
				if err == nil && len(raw) == 9 && raw[0] == madeFormat {
					m.load(x, d.Key, int64(binary.BigEndian.Uint64(raw[1:])), string(d.Value[stampBytes:]), h)
				}
			}
			x.batches[m.kind] = next
		}
	}
	return nil
}

// settling is how long after it was made a document begins to count in the views of runs. Until
// then its mutation has committed or failed, so that a run and its replay see the same
// documents. The clocks of processes that share a store must agree within half of it.
const settling = time.Minute

// knows reports whether a view was opened after an instant. Live memory knows all.
func (s *snapshot) knows(since int64) bool { return s.opened == 0 || since <= s.opened }

// A document begins with a stamp: its format, and the instant since which it counts in views.
const (
	madeFormat = 1
	stampBytes = 12 // in symbols
)

func stamp(since int64) string {
	return symbols.EncodeToString(binary.BigEndian.AppendUint64([]byte{madeFormat}, uint64(since)))
}

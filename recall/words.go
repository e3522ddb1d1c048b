package recall

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openwop/agentmemory/memory"
)

// Expander is a model that says in other words what a text says, so that questions in those words find
// it. It is the host's, and safe for concurrent use. A call that takes longer than
// [memory.PluginTimeout] counts as failed.
type Expander interface {
	// Expand returns for each text, in their order, other words for what it says: sentences, questions
	// that it answers, or single words. An empty one is none. One of more than
	// [memory.DefaultMaxEntryBytes], or that is not UTF-8 or has U+0000, fails the call.
	Expand(ctx context.Context, texts []string) ([]string, error)
	// Model names the model with its version. Words of different names are never mixed. It
	// is called once, in place.
	Model() string
}

// otherPrefix stands before a word among the other words for an entry.
const otherPrefix = "\x05"

// words are other words for an entry that the index does not have.
type words struct {
	since int64
	text  string
}

// words returns the maker of the other words of a model.
func (r *Ranker) words(model string) maker {
	return maker{
		kind: wordsKind + mark(model), version: "words/1 " + model,
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

// addWords takes in other words for an entry, once, or keeps them until the index has the entry.
func (x *index) addWords(id string, w words) {
	n, known := x.numberOf(id)
	if !known {
		x.waiting[id] = w
	} else if x.docs[n].otherwise == 0 {
		count := map[string]float32{}
		countTerms(count, otherPrefix, w.text, 1)
		x.docs[n].otherwise = w.since
		x.post(n, count)
	}
}

// otherwise returns which entries have a word among their other words that the view knows.
func (s *snapshot) otherwise(term string) []posting {
	list := s.postings(otherPrefix + term)
	if s.opened == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(p posting) bool { return !s.knows(s.docs[p.doc].otherwise) })
}

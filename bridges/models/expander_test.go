package models_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/recall"
)

// notesToExpand are notes of which the middle one holds a secret.
var notesToExpand = []string{"We took in a beagle last May.", "The key of the depot is " + secret + ".", attack}

// expansion is a world whose ranker has the model's other words.
type expansion struct {
	*world
	store driver.Transactor
}

func newExpansion(t *testing.T, m *models.Models) expansion {
	store := inmem.New()
	var w *world
	ranker, err := recall.New(recall.Config{Expander: m.RankerExpander(),
		Redactor: func(context.Context, string) (memory.Redactor, error) { return shared{w.secrets}, nil }})
	require.NoError(t, err)
	w = emptyWorld(t, store, ranker)
	for _, text := range notesToExpand {
		_, err := w.job("acme").Put(t.Context(), "ref", memory.Draft{Content: text})
		require.NoError(t, err)
	}
	require.NoError(t, w.secrets.Register("depot", []byte(secret)))
	return expansion{w, store}
}

// found are the contents that answer a question.
func (x expansion) found(question string) (texts []string) {
	hits, err := x.bank.Search(x.Context(), "acme", "ref", memory.Search{Text: question})
	require.NoError(x, err)
	for _, h := range hits {
		texts = append(texts, h.Entry.Content)
	}
	return texts
}

func words(text string) string { return say(object{"words": text}) }

// A question finds a note by words that only the model has said of it.
func TestOtherWordsFindANote(t *testing.T) {
	s := serve(t, func(_ models.Task, request string) string {
		if strings.Contains(request, "beagle") {
			return words("They adopted a dog in spring. Which pet do they own?")
		}
		return words("")
	})
	for name, m := range s.over(t, models.Config{}) {
		x := newExpansion(t, m)
		const question = "Which pet did they adopt?"
		assert.NotContains(t, x.found(question), notesToExpand[0], name)
		_, err := x.bank.Maintain(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, notesToExpand[:1], x.found(question), name)
		asked := len(s.requests())
		_, err = x.bank.Maintain(t.Context())
		require.NoError(t, err)
		assert.Len(t, s.requests(), asked, "a note is asked about once, also if nothing is said of it")
	}
	require.Len(t, s.requests(), 2*len(notesToExpand))
	for _, request := range s.requests() {
		assert.NotContains(t, request, secret)
		told := 0
		for _, sign := range []string{"beagle", "depot", "Ignore what was said"} {
			if strings.Contains(request, sign) {
				told++
			}
		}
		assert.Equal(t, 1, told, "no note is told of another one")
	}
}

// What a model says of a note, or that it says nothing, changes no entry, stores no secret, and keeps no
// other note from being found.
func TestHostileWords(t *testing.T) {
	hostile := map[string]string{"a secret": words("The key is " + secret + "."), "too long": words(strings.Repeat("word ", 1<<15)),
		"a control": words("dog\x00"), "blank": words(" \n"), "instructions": words(attack), "a list": say(object{"words": []string{"dog"}})}
	for name, answer := range hostileAnswers {
		hostile[name] = answer
	}
	for name, answer := range hostile {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ models.Task, request string) string {
				if strings.Contains(request, "beagle") {
					return words("Which pet do they own?")
				}
				return answer
			})
			for api, m := range s.over(t, models.Config{}) {
				x := newExpansion(t, m)
				before := x.live("acme")
				_, err := x.bank.Maintain(t.Context())
				require.NoError(t, err, api)
				assert.Equal(t, before, x.live("acme"), api)
				assert.Contains(t, x.found("pet"), notesToExpand[0], api)
				for d, err := range x.store.Documents(t.Context(), driver.DocumentQuery{Tenant: "acme", Ref: "ref"}) {
					require.NoError(t, err)
					assert.NotContains(t, string(d.Value), secret, api)
				}
			}
		})
	}
}

// A service that gives no answer is asked again later.
func TestNoWordsWithoutAService(t *testing.T) {
	for name, failure := range hostileFailures {
		t.Run(name, func(t *testing.T) {
			var up atomic.Bool // a request that was given up may still be answered
			s := serve(t, func(models.Task, string) string {
				if !up.Load() {
					return failure
				}
				return words("Which pet do they own?")
			})
			m := s.over(t, models.Config{})["openai"]
			x := newExpansion(t, m)
			_, err := x.bank.Maintain(t.Context())
			require.ErrorIs(t, err, memory.ErrInternal)
			assert.NotContains(t, err.Error(), "beagle")
			up.Store(true)
			for range 2 { // the rounds go from ref to ref, and begin anew behind the last one
				_, err = x.bank.Maintain(t.Context())
				require.NoError(t, err)
			}
			assert.Contains(t, x.found("pet"), notesToExpand[0])
		})
	}
}

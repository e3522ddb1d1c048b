package main

import (
	"context"
	"errors"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

func (s *story) questions(ctx context.Context) error {
	if _, err := s.host.bank.Maintain(ctx); err != nil { // it asks the model about new notes
		return err
	}
	ask := func(question, by string) ([]memory.Hit, error) {
		return s.host.bank.Search(ctx, acme, ref, memory.Search{Text: question, Rank: by, Limit: 2})
	}

	const first, second = "When does Daniel get his refund?", "Who is angry with us?"
	hits, err := ask(first, "lexical")
	if err != nil {
		return err
	}
	s.row("a colleague asks", first)
	for _, hit := range hits {
		s.row("found by words", "%s", quote(hit.Entry.Content))
		s.row("", "because both have: %s", strings.Join(hit.Terms, ", "))
	}
	byWords, err := ask(second, "lexical")
	if err != nil {
		return err
	}
	byMeaning, err := ask(second, "semantic")
	if err != nil {
		return err
	}
	if len(hits) == 0 || len(byMeaning) < 2 {
		return errors.New("a question found nothing")
	}
	s.say("")
	s.row("another asks", second)
	s.row("found by words", "%d notes", len(byWords))
	s.row("found by meaning", "%s", quote(byMeaning[0].Entry.Content))
	s.row("", "the nearest: similarity %.2f, where 1 is the same; the next note has %.2f", byMeaning[0].Similarity, byMeaning[1].Similarity)
	s.row("the model", `is a toy of %d words: model.go says that "angry" and "livid" are alike.`, toy{}.known())
	s.row("", "Put your embedding model in its place: it needs the methods Model and Embed.")
	return nil
}

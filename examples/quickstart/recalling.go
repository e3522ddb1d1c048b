package main

import (
	"context"
	"slices"
	"strings"

	"github.com/openwop/agentmemory/memory"
)

// recalling asks memory a question: as it is now, as an open run sees it, and after what
// answered it was forgotten. It asks by words alone, whose reasons are easy to see.
func (h *host) recalling(ctx context.Context) error {
	h.title("Recall")
	question, err := h.question(ctx)
	if err != nil || question == "" {
		return err
	}
	run, err := start(ctx, h.bank, acme, "asks-later", "")
	if err != nil {
		return err
	}
	job, err := h.background(acme, "guest")
	if err != nil {
		return err
	}
	const guest = "guest:ida"
	if _, err := job.Put(ctx, acmeRef, memory.Draft{Content: "Ida asked: " + question, Subjects: []string{guest}}); err != nil {
		return err
	}
	live := func() ([]memory.Hit, error) {
		return h.bank.Search(ctx, acme, acmeRef, memory.Search{Text: question, Rank: "lexical", Limit: 3})
	}
	h.say("%q, with what Ida has just asked:", question)
	if err := h.sayHits(live()); err != nil {
		return err
	}
	h.say("In a run that began before:")
	if err := h.sayHits(run.Search(ctx, acmeRef, memory.Search{Text: question, Rank: "lexical", Limit: 3})); err != nil {
		return err
	}
	if _, err := h.bank.Forget(ctx, acme, guest); err != nil {
		return err
	}
	h.say("After Ida was forgotten:")
	if err := h.sayHits(live()); err != nil {
		return err
	}
	other, err := h.bank.Search(ctx, globex, globexRef, memory.Search{Text: question})
	if err != nil {
		return err
	}
	h.say("The other tenant: %d hits, all its own.", len(other))
	if err := job.End(ctx); err != nil {
		return err
	}
	return run.End(ctx)
}

// question is one that the notes answer: the first words of a note that is about a person,
// in another order.
func (h *host) question(ctx context.Context) (string, error) {
	notes, err := h.all(ctx, acme, acmeRef)
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(notes) {
		if words := strings.Fields(e.Content); len(e.Subjects) > 0 && len(words) >= 5 {
			words = words[:5]
			slices.Reverse(words)
			return strings.Join(words, " "), nil
		}
	}
	return "", nil
}

// sayHits shows hits with the words that they matched.
func (h *host) sayHits(hits []memory.Hit, err error) error {
	if err != nil {
		return err
	}
	for _, hit := range hits {
		h.say("  %5.2f  %s  (%s)", hit.Score, short(hit.Entry.Content), strings.Join(hit.Terms, ", "))
	}
	return nil
}

package main

import (
	"context"
	"errors"

	"github.com/openwop/agentmemory/memory"
)

func (s *story) tenants(ctx context.Context) error {
	bank := s.host.bank
	theirs, err := bank.Reader(acme).List(ctx, ref, all)
	if err != nil {
		return err
	}
	s.row("acme lists", "%d notes in %q", len(theirs), ref)

	// From here on the host serves globex, which has got hold of an id and a token of acme.
	err = s.host.pass(ctx, globex, func(job *memory.Job) error {
		_, err := job.Put(ctx, ref, memory.Draft{Content: "Globex renews in July."})
		return err
	})
	if err != nil {
		return err
	}
	own, err := bank.Reader(globex).List(ctx, ref, all)
	if err != nil {
		return err
	}
	hits, err := bank.Search(ctx, globex, ref, memory.Search{Text: "When does Daniel get his refund?", Rank: "lexical"})
	if err != nil {
		return err
	}
	_, foreign := bank.Reader(globex).Get(ctx, ref, theirs[0].ID)
	_, unknown := bank.Reader(globex).Get(ctx, ref, "an-id-that-never-was")
	_, stolen := bank.AsOf(ctx, globex, s.triage)
	_, madeUp := bank.AsOf(ctx, globex, "a-token-that-never-was")
	if len(own) != 1 || len(hits) != 0 || foreign == nil || foreign.Error() != unknown.Error() || stolen == nil || memory.CodeOf(stolen) != memory.CodeOf(madeUp) {
		return errors.New("globex can tell what acme has")
	}
	s.row("globex lists", "%d note in %q: %q", len(own), ref, own[0].Content)
	s.row("globex asks", "When does Daniel get his refund? %d notes", len(hits))
	s.row("by an id", "of a note of acme: %s", memory.CodeOf(foreign))
	s.row("", "of a note that never existed: %s", memory.CodeOf(unknown))
	s.row("by a token", "of acme's run of screen 4: %s", memory.CodeOf(stolen))
	s.row("", "that never existed: %s", memory.CodeOf(madeUp))
	return nil
}

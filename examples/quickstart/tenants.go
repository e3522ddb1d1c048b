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
	if len(own) != 1 || len(hits) != 0 || foreign == nil || foreign.Error() != unknown.Error() || stolen == nil {
		return errors.New("globex can tell that acme is there")
	}
	s.row("globex lists", "%d note in %q: %q", len(own), ref, own[0].Content)
	s.row("it asks of Daniel", "%d notes answer", len(hits))
	s.row("it gets", "a note of acme by its id: %s", memory.CodeOf(foreign))
	s.row("", "a note that never was: %s", memory.CodeOf(unknown))
	s.row("", "memory as of a token of acme: refused, %s", memory.CodeOf(stolen))
	return nil
}

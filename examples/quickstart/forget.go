package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

func (s *story) forget(ctx context.Context) error {
	const lena = "customer:lena"
	hers, derived := []string{lena, "Brandvold"}, 0
	for found, err := range s.host.bank.Export(ctx, acme, lena) {
		switch {
		case err != nil:
			return err
		case found.Record == nil: // a document, such as a vector
		case len(found.Record.Entry.Sources) > 0:
			derived++
		default:
			hers = append(hers, found.Record.Entry.Content)
		}
	}
	before, err := s.location.onDisk(hers...)
	if err != nil {
		return err
	}
	s.row("acme has", "%d notes of Lena, and %d derived from hers and others', the summary", len(hers)-2, derived)
	live, err := s.host.bank.Reader(acme).List(ctx, ref, all)
	if err != nil {
		return err
	}

	done, err := s.host.bank.Forget(ctx, acme, lena)
	if err != nil {
		return err
	}
	left, err := s.host.bank.Reader(acme).List(ctx, ref, all)
	if err != nil {
		return err
	}
	if len(left) != len(live)-len(done.Erased) {
		return fmt.Errorf("%d notes were erased, and of %d there are %d", len(done.Erased), len(live), len(left))
	}
	s.row("Forget", "erases these %d, now and in every past; the other %d are as before", len(done.Erased), len(left))
	hits, err := s.host.bank.Search(ctx, acme, ref, memory.Search{Text: "When does Lena's print shop move?", Rank: "lexical"})
	if err != nil {
		return err
	}
	s.row("a question", "When does Lena's print shop move? %d notes", len(hits))
	past, err := s.host.bank.AsOf(ctx, acme, s.triage)
	if err == nil {
		_, err = past.List(ctx, ref, memory.ListOptions{})
	}
	if !errors.Is(err, memory.ErrSnapshotUnavailable) {
		return errors.New("what the run of screen 4 saw can still be read")
	}
	s.row("a past", "by the token of the run of screen 4, which saw her notes: refused,")
	s.row("", "%s", memory.CodeOf(err))

	after, err := s.location.onDisk(hers...)
	if err != nil {
		return err
	}
	if len(after) > 0 || len(before) == 0 && s.location.files != nil {
		return fmt.Errorf("of %d texts in the file %d are left", len(before), len(after))
	}
	s.row("the bytes on disk", "%s", s.location.bytes)
	if s.location.files != nil {
		s.row("", "her notes, her name and her label: %d texts were there before, and %d are now", len(before), len(after))
	}
	return nil
}

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
	before, err := s.place.onDisk(hers...)
	if err != nil {
		return err
	}
	s.row("memory of Lena", "%d notes, and %d that was made of hers and others", len(hers)-2, derived)

	done, err := s.host.bank.Forget(ctx, acme, lena)
	if err != nil {
		return err
	}
	s.row("forgotten", "%d notes, in every version of memory", len(done.Erased))
	hits, err := s.host.bank.Search(ctx, acme, ref, memory.Search{Text: "When does Lena's print shop move?", Rank: "lexical"})
	if err != nil {
		return err
	}
	s.row("a question of her", "%d notes answer", len(hits))
	past, err := s.host.bank.AsOf(ctx, acme, s.triage)
	if err == nil {
		_, err = past.List(ctx, ref, memory.ListOptions{})
	}
	if !errors.Is(err, memory.ErrSnapshotUnavailable) {
		return errors.New("what the run of screen 4 saw can still be read")
	}
	s.row("her past", "what the run of screen 4 saw: refused, %s", memory.CodeOf(err))

	after, err := s.place.onDisk(hers...)
	if err != nil {
		return err
	}
	if len(after) > 0 || len(before) == 0 && s.place.files != nil {
		return fmt.Errorf("of %d texts in the file %d are left", len(before), len(after))
	}
	s.row("the bytes on disk", "%s", s.place.bytes)
	if s.place.files != nil {
		s.row("", "her notes, her name and her label: %d texts were there before, and %d are now", len(before), len(after))
	}
	return nil
}

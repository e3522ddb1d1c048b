package main

import (
	"context"
	"errors"
	"reflect"

	"github.com/openwop/agentmemory/memory"
)

func (s *story) restart(ctx context.Context) error {
	id := fresh("triage")
	run, err := s.host.start(ctx, memory.RunConfig{ID: id})
	if err != nil {
		return err
	}
	begin, err := run.Token(ctx)
	if err != nil {
		return err
	}
	before, after, err := triage(ctx, run)
	if err != nil {
		return err
	}
	s.row("a run begins", "and lists %d notes; it writes one, and lists %d", len(before), len(after))
	if err := s.others(ctx, before[1].ID); err != nil {
		return err
	}

	// The run waits for a person. Its tokens are all that the host keeps of it.
	token, err := run.Token(ctx)
	if err != nil {
		return err
	}
	if err := run.Abort(ctx); err != nil { // without a terminal event: it is not over
		return err
	}
	s.row("it is suspended", "the host keeps %d bytes, a token by which the run can go on", len(token))
	if err := s.host.close(); err != nil {
		return err
	}
	next, err := s.boot(ctx) // another process, which has nothing but the store
	if err != nil {
		return err
	}
	s.host = next
	s.say("\n   ---- a restart: the store is closed, and opened again as a new process does ----\n")
	err = s.host.during(ctx, memory.RunConfig{ID: id, Resume: token}, func(run *memory.Run) error {
		resumed, err := run.Memory().List(ctx, ref, all)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(resumed, after) {
			return errors.New("the resumed run sees other notes")
		}
		s.row("it is resumed", "and lists the same %d notes", len(resumed))
		s.triage, err = run.Token(ctx)
		return err
	})
	if err != nil {
		return err
	}

	// The next day a person asks why the run did what it did.
	s.now = s.now.AddDate(0, 0, 1)
	recorded, err := s.host.bank.Log().Read(ctx, acme, id, 0, 100) // a longer log has more pages
	if err != nil {
		return err
	}
	return s.replay(ctx, &memory.Replay{Events: recorded, From: begin, To: s.triage}, before, after)
}

var all = memory.ListOptions{Limit: memory.MaxListLimit}

// triage is what the run does: it lists memory, writes, and lists again. A replay does the same.
func triage(ctx context.Context, run *memory.Run) (before, after []memory.Entry, err error) {
	before, err = run.Memory().List(ctx, ref, all)
	if err == nil {
		_, err = run.Put(ctx, ref, memory.Draft{Content: "Triage: Tomás first, he waits since Tuesday."})
	}
	if err == nil {
		after, err = run.Memory().List(ctx, ref, all)
	}
	return before, after, err
}

// others do what a run that is under way does not see: they write, and delete.
func (s *story) others(ctx context.Context, deleted string) error {
	s.row("others meanwhile", "write 2 notes, and delete 1 that the run has seen")
	return s.host.pass(ctx, acme, func(job *memory.Job) error {
		for _, text := range []string{"Tomás got his pallets, and a voucher.", "The voucher is valid for a year."} {
			if _, err := job.Put(ctx, ref, memory.Draft{Content: text}); err != nil {
				return err
			}
		}
		_, err := job.Delete(ctx, ref, deleted)
		return err
	})
}

// replay does again what the run did, from its events and from tokens of its begin and its end.
func (s *story) replay(ctx context.Context, recorded *memory.Replay, before, after []memory.Entry) error {
	live, err := s.host.bank.Reader(acme).List(ctx, ref, all)
	if err != nil {
		return err
	}
	var first, then, still []memory.Entry
	err = s.host.during(ctx, memory.RunConfig{ID: fresh("replay"), Replay: recorded}, func(run *memory.Run) (err error) {
		first, then, err = triage(ctx, run)
		return err
	})
	if err == nil {
		still, err = s.host.bank.Reader(acme).List(ctx, ref, all)
	}
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(first, before) || !reflect.DeepEqual(then, after) || !reflect.DeepEqual(still, live) {
		return errors.New("the replay is not what the run was")
	}
	s.row("a day later", "it is replayed from the log of its writes: it lists the same %d notes,", len(first))
	s.row("", "repeats its write without storing it, and lists the same %d", len(then))
	s.row("memory", "has %d notes before the replay, and the same %d after it (all is compared)", len(live), len(still))
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/openwop/agentmemory/capability"
)

// document is what the host says of itself beside its memory: that it can replay runs, say. Derive
// adds what memory can do, and refuses a claim that the code does not bear.
const document = `{
	"protocolVersion": "1.1", "supportedEnvelopes": [], "schemaVersions": {},
	"limits": {"clarificationRounds": 3, "schemaRounds": 3, "envelopesPerTurn": 8},
	"multiAgent": {"executionModel": {"supported": true, "version": 2}}
}`

// shown tells on which screen an ability was seen.
var shown = map[capability.Dimension]int{
	capability.Read: 5, capability.Write: 4, capability.Search: 2, capability.LongTerm: 4,
	capability.Compaction: 3, capability.Attribution: 4, capability.Replay: 4, capability.Retention: 7,
}

func (s *story) abilities(context.Context) error {
	host := capability.Inputs{
		Bank:         s.host.bank,
		Consolidator: s.consolidator,
		Distiller:    s.distiller,
		Commitments:  s.host.commitments,
		Declare:      []byte(document),
	}
	model, err := capability.Derive(host)
	if err != nil {
		return err
	}
	s.say("   %-22s %-5s %-32s %s", "ability", "", "by", "see screen")
	for _, d := range capability.Dimensions() {
		status := model.Status(d)
		if !status.Satisfied {
			return fmt.Errorf("the host has no %s: %s", d, status.Why)
		}
		s.say("   %-22s %-5s %-32s %d", d, "yes", status.Why, shown[d])
	}

	host.Consolidator, host.Distiller = nil, nil
	less, err := capability.Derive(host)
	if err != nil {
		return err
	}
	lost := less.Status(capability.Compaction)
	_, err = capability.Derive(capability.Inputs{Bank: s.host.bank, Declare: []byte(`{"memory": {"maxEntrySizeBytes": 10000000}}`)})
	var refused *capability.ClaimError
	if lost.Satisfied || !errors.As(err, &refused) {
		return errors.New("the host could claim what it has not")
	}
	s.say("")
	s.row("without screen 3", "(its Consolidator and Runner): %s no, %s", lost.Name, lost.Why)
	s.row("a claim", "of notes of 10 MB is an error: %s", refused.Missing)
	return nil
}

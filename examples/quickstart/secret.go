package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/openwop/agentmemory/memory"
)

// apiKey is one that the host has in its vault, see secretsOf. It is made up.
const apiKey = "bw-live-7Qm2vT9xLr4K"

// unknownKey is in no vault. It is made up too, and in two parts so that no scanner takes this file
// for a leak.
const unknownKey = "ghp_" + "4kW9sQ2xLm7VtR1zYb8NcE5aJh3UfD6gPo0i"

func (s *story) secret(ctx context.Context) error {
	const told = "The nightly export of Brightwater failed."
	s.row("the host registers", "the key of Brightwater, as %q", "brightwater")
	err := s.host.during(ctx, memory.RunConfig{ID: fresh("run")}, func(run *memory.Run) error {
		for _, text := range []string{
			told + " Its key: " + apiKey + ".",
			"Jonas pasted " + unknownKey + " into the chat.",
		} {
			stored, err := run.Put(ctx, ref, memory.Draft{Content: text})
			if err != nil {
				return err
			}
			s.row("the agent writes", "%q", text)
			s.row("memory has", "%q", stored.Content)
		}
		s.row("", "(the second key was not registered: it was recognised as a GitHub token)")
		return nil
	})
	if err != nil {
		return err
	}

	s.row("the bytes on disk", "%s", s.location.bytes)
	if s.location.files == nil {
		return nil
	}
	texts := []string{told}
	for _, key := range []string{apiKey, unknownKey} {
		texts = append(texts, key, base64.StdEncoding.EncodeToString([]byte(key)), hex.EncodeToString([]byte(key)))
	}
	found, err := s.location.onDisk(texts...)
	if err != nil {
		return err
	}
	if len(found) != 1 || found[0] != told {
		return fmt.Errorf("the files should have the note and no key, and have %d of the texts", len(found))
	}
	s.row("", "%q is there", told)
	s.row("", "both keys, plain or in base64 or hex: not there")
	return nil
}

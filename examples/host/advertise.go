package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/inventory"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// advertise derives what the host may claim, and what its agents get of it.
func (h *host) advertise(store driver.Adapter) error {
	document, err := json.Marshal(map[string]any{
		"protocolVersion": wire.V1.String(), "supportedEnvelopes": []string{}, "schemaVersions": map[string]any{},
		"limits":   map[string]any{"clarificationRounds": 0, "schemaRounds": 0, "envelopesPerTurn": 0},
		"fixtures": slices.Sorted(maps.Keys(workflows)),
		"multiAgent": map[string]any{"executionModel": map[string]any{
			"supported": true, "version": 4, "replayDeterminism": map[string]any{"supported": true},
		}},
		"replay":     map[string]any{"supported": true, "modes": []string{"replay", "branch"}},
		"agents":     map[string]any{"manifestRuntime": map[string]any{"supported": true}},
		"scheduling": map[string]any{"supported": true, "delayed": true, "cron": true},
		"workspace":  h.files.Limits(),
		"secrets": map[string]any{
			"supported": true, "scopes": []string{"run"}, "resolution": "host-managed", "runSecrets": map[string]any{"maxEntries": wire.MaxRunSecrets},
		},
	})
	if err != nil {
		return err
	}
	h.model, err = capability.Derive(capability.Inputs{
		Bank: h.bank, Consolidator: h.reconciler, Commitments: h.commitments, Distiller: h.distiller, Workspace: h.files, Proposals: h.proposals,
		Declare: document,
	})
	if err != nil {
		return err
	}
	archive, err := memory.New(store, memory.Config{ReadOnly: true})
	if err != nil {
		return err
	}
	ofArchive, err := capability.Derive(capability.Inputs{Bank: archive})
	if err != nil {
		return err
	}
	agent := func(id, persona string, shape capability.Shape, model *capability.Model) inventory.Agent {
		return inventory.Agent{ID: id, Persona: persona, ModelClass: "chat", PackName: "host.sample", PackVersion: "1.0.0", MemoryShape: &shape, Memory: model}
	}
	h.agents = []inventory.Agent{
		agent("host.sample.assistant", "Assistant", capability.Shape{LongTerm: true, Conversation: true}, nil),
		agent("host.sample.router", "Router", capability.Shape{Scratchpad: true}, nil),
		agent("host.sample.read-only", "Auditor", capability.Shape{LongTerm: true}, ofArchive),
	}
	return nil
}

// getDiscovery answers with what the host may claim, and which versions it speaks.
func (a *api) getDiscovery(w http.ResponseWriter, r *http.Request) error {
	root, err := a.Discovery(a.model)
	if err != nil {
		return err
	}
	root["protocolVersions"] = []string{wire.V1.String(), wire.V2.String()}
	root["preferredVersion"] = cmp.Or(wire.Version(a.major), wire.V2).String()
	if a.Version == wire.V2 {
		root["replay"].(map[string]any)["effectSeamsManifest"] = "/host/effect-seams"
		if a.seams {
			root["conformance"] = map[string]any{"seamsProfile": "openwop-conformance-seams-v2"}
		}
	}
	return wire.ReplyTagged(w, r, root)
}

// getEffectSeams lists by what a run reaches the outside: by its memory, which a replay does not write.
func (a *api) getEffectSeams(w http.ResponseWriter, _ *http.Request, _ string) error {
	build := map[string]any{"kind": "commit", "id": "unknown"} // a real host says which it was built from
	put := map[string]any{"seam": "memory.put", "kind": "storage", "guarded": true, "guardedBy": "memory.Replay"}
	return wire.Reply(w, http.StatusOK, map[string]any{
		"manifestVersion": "1", "host": map[string]any{"name": "agentmemory-example", "build": build}, "seams": []any{put},
	})
}

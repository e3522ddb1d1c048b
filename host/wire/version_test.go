package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/events/eventschema"
	"github.com/openwop/agentmemory/host/wire"
)

func TestPaths(t *testing.T) {
	assert.Equal(t, "/v1/runs", wire.Encoder{Version: wire.V1}.Path("/runs"))
	assert.Equal(t, "/runs", wire.Encoder{Version: wire.V2}.Path("/runs"))
	assert.Equal(t, "/v1/host/sample/memory/distill", wire.Encoder{Version: wire.V1}.Seam("/memory/distill"))
	assert.Equal(t, "/conformance/seams/sample/memory/distill", wire.Encoder{Version: wire.V2}.Seam("/memory/distill"))
}

var payloads = []events.Payload{
	events.MemoryWritten{MemoryRef: "notes", MemoryID: "e1"},
	events.MemoryCompacted{MemoryRef: "notes", OutputID: "e2", SourceIDs: []string{"e1"}, SourceCount: 1, Trigger: events.CompactionHostManaged, ByteSize: 3},
	events.MemoryConsolidated{MemoryRef: "notes", InputCount: 2, OutputCount: 1},
	events.CommitmentFired{CommitmentID: "c1", MemoryRef: "notes", Condition: events.ConditionTime, EnqueuedRunID: "run-2"},
	events.WorkspaceUpdated{Path: "MEMORY-INDEX.json", Version: 1},
	events.ProposalCreated{ProposalID: "p1", Kind: events.KindAgentPack, SourceRunIDs: []string{"run-1", "acme/run-2"}},
	events.ProposalActivated{ProposalID: "p1", Kind: events.KindAgentPack, InstalledArtifactRef: "pack@1"},
}

func TestRunEventsInBothVersions(t *testing.T) {
	for i, p := range payloads {
		ev := events.RunEvent{Sequence: int64(i), Record: events.Record{
			ID: "ev-1", Tenant: "acme", RunID: "run-1", EngineVersion: "7", Time: time.UnixMilli(1_700_000_000_000).UTC(), Payload: p,
		}}
		v1, err := wire.Encoder{Version: wire.V1}.RunEvent(ev)
		require.NoError(t, err)
		require.NoError(t, eventschema.ValidateEvent(v1))
		v2, err := wire.Encoder{Version: wire.V2}.RunEvent(ev)
		require.NoError(t, err)

		var a, b map[string]any
		require.NoError(t, json.Unmarshal(v1, &a))
		require.NoError(t, json.Unmarshal(v2, &b))
		assert.Equal(t, string(p.EventType()), a["type"])
		if p.EventType() == events.TypeMemoryConsolidated {
			assert.Equal(t, "agent.memory-consolidated", b["type"])
			b["type"] = a["type"]
		}
		assert.Equal(t, 1.0, b["schemaVersion"], "required in version 2")
		assert.Equal(t, "acme/run-1", b["runId"], "bound to its tenant")
		assert.NotContains(t, b, "engineVersion", "a text in version 1, a number in version 2")
		switch p := p.(type) {
		case events.CommitmentFired:
			assert.Equal(t, "acme/"+p.EnqueuedRunID, b["payload"].(map[string]any)["enqueuedRunId"])
			b["payload"].(map[string]any)["enqueuedRunId"] = p.EnqueuedRunID
		case events.ProposalCreated:
			assert.Equal(t, []any{"acme/run-1", "acme/run-2"}, b["payload"].(map[string]any)["sourceRunIds"])
			b["payload"].(map[string]any)["sourceRunIds"] = []any{"run-1", "acme/run-2"}
		}
		delete(b, "schemaVersion")
		delete(a, "engineVersion")
		b["runId"] = a["runId"]
		assert.Equal(t, a, b)
	}
	_, err := wire.Encoder{Version: wire.V1}.RunEvent(events.RunEvent{})
	assert.ErrorIs(t, err, events.ErrInvalid)
}

// A payload of the host's own stays as it is, but for run.started, which says whose the run is.
func TestHostPayloadsInVersion2(t *testing.T) {
	v2 := wire.Encoder{Version: wire.V2}
	for typ, doc := range map[events.Type][2]string{
		"run.failed":  {`{"b":1,"a":12345678901234567890}`, `{"b":1,"a":12345678901234567890}`},
		"host.noted":  {`[7]`, `[7]`},
		"run.started": {`{"workflowId":"w"}`, `{"workflowId":"w","owner":{"tenant":"acme","subject":{"issuer":"urn:agentmemory:api-key","subjectId":"acme","tenant":"acme","lane":"api-key","kind":"workload"}}}`},
	} {
		raw, err := v2.Payload("acme", events.HostPayload{Type: typ, JSON: json.RawMessage(doc[0])})
		require.NoError(t, err)
		assert.JSONEq(t, doc[1], string(raw))
	}
}

const discovery = `{"protocolVersion":"1.1","memory":{"supported":true,"writable":true,"maxEntrySizeBytes":65536,
	"search":{"supported":true,"modes":["filter"]},"compaction":{"supported":false},"retention":{"ttl":true,"forget":true},
	"attribution":{"supported":true,"emitsWriteEvents":true}},
	"agents":{"memoryBackends":["long-term"],"memoryConsolidation":{"supported":true,"schedule":"scheduled"},"commitments":{"supported":false}},
	"workspace":{"supported":false},"x-host-acme":{"supported":false}}`

func discovered(v wire.Version, document []byte) ([]byte, error) {
	root, err := wire.Encoder{Version: v}.Discovery(json.RawMessage(document))
	if err != nil {
		return nil, err
	}
	return json.Marshal(root)
}

func TestA1_DiscoveryInVersion2ClaimsByPresence(t *testing.T) {
	raw, err := discovered(wire.V2, []byte(discovery))
	require.NoError(t, err)
	assert.JSONEq(t, `{"protocolVersion":"2.0","eventLogSchemaVersion":3,"memory":{"status":"stable","since":"2.0","witness":"witnessable-gated","writable":true,"maxEntrySizeBytes":65536,
		"search":{"modes":["filter"]},"retention":{"ttl":true,"forget":true},"attribution":{"emitsWriteEvents":true}},
		"agents":{"status":"stable","since":"2.0","witness":"witnessable-gated","memoryBackends":["long-term"],"memoryConsolidation":{"schedule":"scheduled"}},
		"x-host-acme":{"supported":false}}`, string(raw))

	// Older hosts wrap their families; version 2 forbids it.
	raw, err = discovered(wire.V2, []byte(`{"capabilities":{"memory":{"supported":true},"agents":{}},"agents":{"commitments":{"supported":true}}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"memory":{"status":"stable","since":"2.0","witness":"witnessable-gated"},"agents":{"status":"stable","since":"2.0","witness":"witnessable-gated","commitments":{}}}`, string(raw))

	// A list of kinds has a name there.
	raw, err = discovered(wire.V2, []byte(`{"supportedEnvelopes":["acme.note"],"multiAgent":{"executionModel":{"supported":false}}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"supportedEnvelopes":{"status":"stable","since":"2.0","witness":"witnessable-gated","kinds":["acme.note"]},"multiAgent":{"status":"stable","since":"2.0","witness":"claims-check"}}`, string(raw))

	same, err := discovered(wire.V1, []byte(discovery))
	require.NoError(t, err)
	assert.JSONEq(t, discovery, string(same))
	for _, malformed := range []string{`["hunter2"]`, `null`, `{} "hunter2"`, ``} {
		for _, version := range []wire.Version{wire.V1, wire.V2} {
			_, err = discovered(version, []byte(malformed))
			assert.EqualError(t, err, "wire: the discovery document is not a JSON object", malformed)
		}
	}

	// A list of blocks has those that are supported.
	raw, err = discovered(wire.V2, []byte(`{"memory":{"supported":true,"list":[1,{"supported":false},{"supported":true,"a":{"supported":"yes"}}]}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"memory":{"status":"stable","since":"2.0","witness":"witnessable-gated","list":[1,{}]}}`, string(raw))
}

// What a model of a host without memory says goes out in version 2 without any claim.
func TestA1_NothingIsClaimedWithoutMemory(t *testing.T) {
	m, err := capability.Derive(capability.Inputs{})
	require.NoError(t, err)
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	raw, err = discovered(wire.V2, raw)
	require.NoError(t, err)
	assert.False(t, strings.Contains(string(raw), "memory"), "%s", raw)
}

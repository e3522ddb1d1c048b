package events

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// allTypes are the payload types but the host's, one zero value each.
var allTypes = []Payload{
	MemoryWritten{}, MemoryCompacted{}, MemoryConsolidated{}, CommitmentFired{},
	WorkspaceUpdated{}, ProposalCreated{}, ProposalActivated{},
}

var updated = true

// full are valid payloads with every field set, minimal with the required ones.
var full = []Payload{
	MemoryWritten{MemoryRef: "ref", MemoryID: "m1", NodeID: "n", AgentID: "a"},
	MemoryCompacted{
		MemoryRef: "ref", OutputID: "o", SourceIDs: []string{"a", "b"}, SourceCount: 2,
		Trigger: CompactionBoth, ByteSize: MaxInteger,
		Distillation: &Distillation{TokenBudget: 9, TokensUsed: 9, IndexUpdated: &updated},
	},
	MemoryConsolidated{MemoryRef: "ref", InputCount: 3, OutputCount: 2, MergedIDs: []string{"a"}, Trigger: ConsolidationOnDemand},
	CommitmentFired{CommitmentID: "c", MemoryRef: "ref", MemoryID: "m", Condition: ConditionPredicate, EnqueuedRunID: "r2"},
	WorkspaceUpdated{Path: "MEMORY-INDEX.json", Version: 1},
	ProposalCreated{ProposalID: "p", Kind: KindAutomation, SourceRunIDs: []string{"r"}, DuplicateOf: "p0"},
	ProposalActivated{ProposalID: "p", Kind: KindAgentPack, ApprovalID: "ap", InstalledArtifactRef: "ref"},
	HostPayload{Type: "run.started", JSON: []byte(`{"input":["a",1.5,null]}`)},
}

var minimal = []Payload{
	MemoryWritten{MemoryRef: "ref", MemoryID: "m1"},
	MemoryCompacted{MemoryRef: "ref", OutputID: "o", SourceCount: 101, Trigger: CompactionHostManaged},
	MemoryConsolidated{MemoryRef: "ref"},
	CommitmentFired{CommitmentID: "c", MemoryRef: "ref", Condition: ConditionTime},
	WorkspaceUpdated{Path: "p", Version: MaxInteger},
	ProposalCreated{ProposalID: "p", Kind: KindPromptTemplate},
	ProposalActivated{ProposalID: "p", Kind: KindWorkflowChainPack, InstalledArtifactRef: "ref"},
	HostPayload{Type: "acme.x", JSON: []byte("null")},
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 123e6, time.UTC)

func record(id, tenant, run string, p Payload) Record {
	return Record{ID: id, Tenant: tenant, RunID: run, NodeID: "node", Time: noon, Payload: p}
}

// wantInvalid fails unless err is an InvalidError at that path whose text holds
// none of the secrets.
func wantInvalid(t *testing.T, err error, path string, secrets ...string) {
	t.Helper()
	var inv *InvalidError
	if !errors.As(err, &inv) || !errors.Is(err, ErrInvalid) {
		t.Fatalf("got %v, want an InvalidError at %q", err, path)
	}
	if inv.Path != path || inv.Rule == "" {
		t.Fatalf("got %v, want the path %q", err, path)
	}
	for _, s := range secrets {
		if strings.Contains(err.Error(), s) {
			t.Fatalf("the error %q holds the value %q", err, s)
		}
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

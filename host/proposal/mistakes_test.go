package proposal_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/redact"
)

// What a host's author does wrong is named, with what to do.
func TestM2_MistakesAreNamed(t *testing.T) {
	h, bg := newHost(t), context.Background()
	fine := func(json.RawMessage) error { return nil }
	kinds := map[events.ArtifactKind]proposal.Validator{events.KindAutomation: fine}
	open := func(cfg proposal.Config) error { _, err := proposal.New(cfg); return err }
	store, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:apply"})
	require.NoError(t, err)
	job, err := h.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	require.NoError(t, err)
	create := func(job *memory.Job, d proposal.Draft) error { _, err := store.Create(bg, job, d); return err }
	_, unread := store.Get(bg, nil, "prop_x")
	_, unknown := store.Get(bg, job, "prop_x")
	_, moved := store.Reject(bg, nil, "prop_x", proposal.Caller{}, "")
	const noJob = "proposal: the job is nil: open one by Bank.Background or Bank.Pass"
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"nothing activates": {open(proposal.Config{Kinds: kinds}), memory.ErrValidation,
			"proposal: Config has both or neither of Gate and Scope: set the one that activates"},
		"no kinds": {open(proposal.Config{Scope: "s"}), memory.ErrValidation,
			"proposal: Config.Kinds is empty: name the kinds of artifacts that are taken, each with a Validator"},
		"an unknown kind": {open(proposal.Config{Scope: "s", Kinds: map[events.ArtifactKind]proposal.Validator{"essay": fine}}), memory.ErrValidation,
			"proposal: Config.Kinds has a kind that the protocol does not have"},
		"no validator": {open(proposal.Config{Scope: "s", Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: nil}}), memory.ErrValidation,
			"proposal: Config.Kinds has a kind whose Validator is nil"},
		"a limit below zero": {open(proposal.Config{Scope: "s", Kinds: kinds, MaxProposals: -1}), memory.ErrValidation,
			"proposal: Config.MaxProposals is below 0: 0 means the default"},
		"an override of nothing": {open(proposal.Config{Scope: "s", Kinds: kinds, MayOverride: func(context.Context, string, proposal.Caller) (bool, error) { return true, nil }}), memory.ErrValidation,
			"proposal: Config.MayOverride is set without Config.Gate, which it overrides"},
		"no job to create": {create(nil, proposal.Draft{Kind: events.KindAutomation, Artifact: json.RawMessage(`{}`), SourceRunIDs: []string{"r"}}), memory.ErrValidation, noJob},
		"no job to read":   {unread, memory.ErrValidation, noJob},
		"no job to reject": {moved, memory.ErrValidation, noJob},
		"no source": {create(job, proposal.Draft{Kind: events.KindAutomation, Artifact: json.RawMessage(`{}`)}), memory.ErrValidation,
			"proposal: Draft.SourceRunIDs are not 1 to 100 run ids of 1 to 128 bytes"},
		"an unknown proposal": {unknown, memory.ErrNotFound,
			"proposal: the tenant has no such proposal"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
	require.EqualError(t, create(job, proposal.Draft{Kind: events.KindAgentPack, SourceRunIDs: []string{"r"}}),
		"proposal: the artifact is not valid: its kind is not one of Config.Kinds")
}

package proposal_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/memory"
)

func validated(t *testing.T, check proposal.Validator) *proposal.Store {
	s, err := proposal.New(proposal.Config{
		Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: check}, Scope: "proposals:activate",
	})
	require.NoError(t, err)
	return s
}

// A validator that writes into what it is shown does not change what is stored or installed.
func TestProposalNoResynthesis_ValidatorGetsACopy(t *testing.T) {
	h := newHost(t)
	s := validated(t, func(raw json.RawMessage) error {
		copy(raw, `{"steps":["evil"`)
		return nil
	})
	p, err := s.Create(t.Context(), h.job("acme"), draft(1))
	require.NoError(t, err)
	p, err = s.Apply(t.Context(), h.job("acme"), p.ID, reviewer, "")
	require.NoError(t, err)
	installed, err := s.Artifact(t.Context(), h.job("acme"), p.Activation.InstalledArtifactRef)
	require.NoError(t, err)
	assert.Equal(t, string(artifact(1)), string(installed))
}

func TestM2_ValidatorsErrorStaysInside(t *testing.T) {
	h := newHost(t)
	_, err := validated(t, func(raw json.RawMessage) error { return fmt.Errorf("it was %s", raw) }).
		Create(t.Context(), h.job("acme"), draft(1))
	assert.EqualError(t, err, "proposal: the validator failed")
	assert.Equal(t, memory.CodeInternal, memory.CodeOf(err))
}

// Go reads two names that differ only in case as one, and what runs an artifact may not.
func TestArtifactNamesAreUniqueInAnyCase(t *testing.T) {
	h := newHost(t)
	s := validated(t, steps)
	for raw, want := range map[string]string{
		`{"steps":["a"],"STEPS":["b"]}`:                 "two names in an object differ only in case",
		`{"steps":["a"],"\u017fteps":["b"]}`:            "two names in an object differ only in case",
		`{"steps":["a"],"in":[{"k":1,"\u212a":2}]}`:     "two names in an object differ only in case",
		`{"steps":["a"],"steps":["b"]}`:                 "it has a field twice",
		`{"steps":["a"],"n":12345678901234567890}`:      "it has an integer beyond 2^53-1",
		`{"steps":["a"],"in":[{"k":1},{"K":2}],"k":[]}`: "",
	} {
		d := draft(1)
		d.Artifact = json.RawMessage(raw)
		_, err := s.Create(t.Context(), h.job("acme"), d)
		if want == "" {
			assert.NoError(t, err, raw)
			continue
		}
		wrong := (*proposal.ArtifactError)(nil)
		require.ErrorAs(t, err, &wrong, raw)
		assert.Equal(t, want, wrong.Rule, raw)
	}
}

func TestRevisedArtifactIsNoDuplicate(t *testing.T) {
	h := newHost(t)
	s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate", FindDuplicates: true})
	require.NoError(t, err)
	first, err := s.Create(t.Context(), h.job("acme"), draft(1))
	require.NoError(t, err)
	twin, err := s.Create(t.Context(), h.job("acme"), draft(1))
	require.NoError(t, err)
	title := "the same"
	twin, err = s.Revise(t.Context(), h.job("acme"), twin.ID, proposal.Revision{Title: &title, Artifact: artifact(1)})
	require.NoError(t, err)
	assert.Equal(t, first.ID, twin.DuplicateOf)
	twin, err = s.Revise(t.Context(), h.job("acme"), twin.ID, proposal.Revision{Artifact: artifact(2)})
	require.NoError(t, err)
	assert.Empty(t, twin.DuplicateOf)
}

// A body whose length is not told may be absent as well.
func TestHandler_AbsentBodyOfUnknownLength(t *testing.T) {
	h := newHost(t)
	s := validated(t, steps)
	p, err := s.Create(t.Context(), h.job("acme"), draft(1))
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, root+"/"+p.ID+"/apply", strings.NewReader(""))
	r.ContentLength = -1
	r.Header.Set("Authorization", "Bearer a")
	w := httptest.NewRecorder()
	h.handler(s).ServeHTTP(w, r)
	assert.Equal(t, http.StatusOK, w.Code, w.Body)
}

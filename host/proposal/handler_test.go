package proposal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/capability"
	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/host/proposal"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

const root = "/v1/host/sample/proposals"

func (h *host) handler(s *proposal.Store) *proposal.Handler {
	tenant := wire.Bearer(map[string]string{"a": "acme", "reader": "acme", "g": "globex"})
	return &proposal.Handler{Store: s, Wire: wire.Encoder{Version: wire.V1}, Job: func(r *http.Request) (*memory.Job, proposal.Caller, error) {
		t, err := tenant(r)
		if err != nil {
			return nil, proposal.Caller{}, err
		}
		if strings.HasSuffix(r.Header.Get("Authorization"), "reader") {
			return h.job(t), proposal.Caller{Principal: "reader"}, nil
		}
		return h.job(t), reviewer, nil
	}}
}

func do(h http.Handler, token, method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// inShape checks a proposal against the protocol's schema, which is closed.
func inShape(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var p map[string]any
	require.NoError(t, json.Unmarshal(raw, &p), "%s", raw)
	required := []string{"id", "kind", "state", "artifact", "provenance", "owner", "createdAt"}
	known := map[string]bool{"title": true, "rationale": true, "duplicateOf": true, "activation": true, "updatedAt": true}
	for _, name := range required {
		require.Contains(t, p, name, "%s", raw)
		known[name] = true
	}
	for name := range p {
		require.True(t, known[name], name)
	}
	require.Contains(t, []any{"draft", "revised", "applied", "rejected", "archived"}, p["state"])
	require.IsType(t, map[string]any{}, p["artifact"])
	require.NotEmpty(t, p["owner"].(map[string]any)["tenant"])
	require.IsType(t, []any{}, p["provenance"].(map[string]any)["sourceRunIds"])
	return p
}

func TestHandler(t *testing.T) {
	h := newHost(t)
	s, err := proposal.New(proposal.Config{Kinds: kinds, Scope: "proposals:activate"})
	require.NoError(t, err)
	serve := h.handler(s)
	p, err := s.Create(t.Context(), h.job("acme"), draft(1))
	require.NoError(t, err)
	other, err := s.Create(t.Context(), h.job("acme"), draft(2))
	require.NoError(t, err)
	at := root + "/" + p.ID

	var list struct{ Proposals []json.RawMessage }
	require.NoError(t, json.Unmarshal(do(serve, "a", "GET", root+"?state=draft&kind=automation", "").Body.Bytes(), &list))
	require.Len(t, list.Proposals, 2)
	inShape(t, list.Proposals[0])
	assert.JSONEq(t, `{"proposals":[]}`, do(serve, "a", "GET", root+"?state=applied", "").Body.String())
	assert.JSONEq(t, `{"proposals":[]}`, do(serve, "a", "GET", root+"?kind=agent-pack", "").Body.String())

	denied := do(serve, "reader", "POST", at+"/apply", "{}")
	assert.Equal(t, 403, denied.Code)
	assert.Equal(t, "draft", inShape(t, do(serve, "a", "GET", at, "").Body.Bytes())["state"])
	assert.Equal(t, "revised", inShape(t, do(serve, "a", "PATCH", at, `{"title":"Better","artifact":{"steps":["<x>"]}}`).Body.Bytes())["state"])
	assert.Equal(t, 422, do(serve, "a", "PATCH", at, `{"artifact":{"steps":[]}}`).Code)
	applied := do(serve, "a", "POST", at+"/apply", "")
	require.Equal(t, 200, applied.Code, applied.Body)
	assert.Equal(t, "applied", inShape(t, applied.Body.Bytes())["state"])
	assert.Contains(t, applied.Body.String(), `{"steps":["<x>"]}`, "byte for byte")
	again := do(serve, "a", "POST", at+"/apply", "")
	assert.Equal(t, 409, again.Code)
	assert.JSONEq(t, `{"error":"version_conflict","message":"proposal: it is applied","details":{"state":"applied"}}`, again.Body.String())
	assert.Equal(t, "rejected", inShape(t, do(serve, "a", "POST", root+"/"+other.ID+"/reject", `{"reason":"no"}`).Body.Bytes())["state"])
	assert.Equal(t, "archived", inShape(t, do(serve, "a", "DELETE", at, "").Body.Bytes())["state"])

	// CTI-1: another tenant's proposal is one that is not there.
	for _, call := range [][3]string{{"GET", "", ""}, {"PATCH", "", `{"title":"x"}`}, {"POST", "/apply", ""}, {"POST", "/reject", ""}, {"DELETE", "", ""}} {
		foreign := do(serve, "g", call[0], at+call[1], call[2])
		absent := do(serve, "g", call[0], root+"/prop_none"+call[1], call[2])
		assert.Equal(t, 404, foreign.Code, call)
		assert.Equal(t, absent.Body.String(), foreign.Body.String())
	}
	for _, c := range []struct {
		method, target, body string
		status               int
	}{
		{"POST", root, "{}", 405}, {"PUT", at, "{}", 405}, {"GET", at + "/apply", "", 405},
		{"GET", root + "/", "", 404}, {"POST", at + "/install", "", 404}, {"POST", at + "/apply/x", "", 404}, {"GET", root + "x", "", 404},
		{"POST", at + "/apply", `{"force":true}`, 400}, {"PATCH", at, `{"state":"applied"}`, 400}, {"PATCH", at, `{`, 400},
		{"GET", root + "/%00", "", 404}, {"GET", root + "/" + strings.Repeat("x", 2000), "", 404},
	} {
		assert.Equal(t, c.status, do(serve, "a", c.method, c.target, c.body).Code, "%s %s", c.method, c.target)
	}
	assert.Equal(t, 401, do(serve, "x", "GET", root, "").Code)
	serve = h.handler(s)
	serve.Wire.Version = wire.V2
	assert.Equal(t, 200, do(serve, "a", "GET", "/conformance/seams/sample/proposals/"+p.ID, "").Code)
}

// A1: what is advertised is derived from the store, and without one nothing is.
func TestA1_CapabilityOfProposals(t *testing.T) {
	s, err := proposal.New(proposal.Config{Kinds: kinds, Gate: (&granted{}).gate})
	require.NoError(t, err)
	h := newHost(t)
	m, err := capability.Derive(capability.Inputs{Bank: h.Bank, Proposals: s})
	require.NoError(t, err)
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	var doc struct {
		Agents struct{ Proposals json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	assert.JSONEq(t, `{"artifactKinds":["prompt-template","automation"],"activation":"approval-gate","duplicationDetection":false}`, string(doc.Agents.Proposals))
	for _, claim := range []string{
		`{"artifactKinds":["agent-pack"],"activation":"approval-gate"}`,
		`{"artifactKinds":["automation"],"activation":"direct-rbac"}`,
		`{"artifactKinds":["automation"],"activation":"approval-gate","duplicationDetection":true}`,
	} {
		declare := []byte(`{"agents":{"proposals":` + claim + `}}`)
		_, err := capability.Derive(capability.Inputs{Bank: h.Bank, Proposals: s, Declare: declare})
		assert.ErrorIs(t, err, capability.ErrClaim, claim)
		_, err = capability.Derive(capability.Inputs{Bank: h.Bank, Declare: declare})
		assert.ErrorIs(t, err, capability.ErrClaim, claim)
	}
	_, err = capability.Derive(capability.Inputs{Bank: h.Bank, Proposals: s, Declare: []byte(`{"agents":{"proposals":{"artifactKinds":["automation"],"activation":"approval-gate"}}}`)})
	assert.NoError(t, err, "less may be claimed")
}

func ExampleStore() {
	context := context.Background()
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	proposals, err := proposal.New(proposal.Config{
		Kinds: map[events.ArtifactKind]proposal.Validator{events.KindAutomation: steps},
		Scope: "proposals:activate",
	})
	if err != nil {
		log.Fatal(err)
	}
	job, err := bank.Background(memory.JobConfig{ID: "learning", Tenant: "acme", Redactor: redact.New(redact.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	defer job.End(context)
	p, err := proposals.Create(context, job, proposal.Draft{
		Kind: events.KindAutomation, Artifact: json.RawMessage(`{"steps": ["greet", "file the ticket"]}`),
		Title: "File tickets at once", SourceRunIDs: []string{"run-1", "run-2"},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = proposals.Apply(context, job, p.ID, proposal.Caller{Principal: "bob"}, "")
	fmt.Println(p.State, err)
	p, err = proposals.Apply(context, job, p.ID, proposal.Caller{Principal: "ann", Scopes: []string{"proposals:activate"}}, "")
	if err != nil {
		log.Fatal(err)
	}
	artifact, err := proposals.Artifact(context, job, p.Activation.InstalledArtifactRef)
	fmt.Println(p.State, string(artifact), err)
	// Output:
	// draft proposal: the caller may not activate
	// applied {"steps":["greet","file the ticket"]} <nil>
}

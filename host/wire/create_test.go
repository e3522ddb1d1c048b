package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
)

// A request for a run is read by the rules of its version, and what breaks one is refused by the
// protocol's code.
func TestReadRun(t *testing.T) {
	secrets := func(n int, ref, value string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"ref":%q,"value":%q}`, strings.ReplaceAll(ref, "#", fmt.Sprint(i)), value))
		}
		return `{"workflowId":"w","runSecrets":[` + strings.Join(all, ",") + `]}`
	}
	tags := func(n, length int) string {
		return `{"workflowId":"w","tags":["` + strings.Join(makeTexts(n, length), `","`) + `"]}`
	}
	key := strings.Repeat("k", 22)
	const v1, v2 = wire.V1, wire.V2
	for _, c := range []struct {
		name, body, key string
		version         wire.Version
		refused         memory.Code
		field           string
	}{
		{"least", `{"workflowId":"w"}`, "", v2, "", ""},
		{"a field that the body does not have", `{"workflow":"w"}`, "", v2, memory.CodeValidation, ""},
		{"tags", tags(100, 256), "", v2, "", ""},
		{"a tag too many", tags(101, 1), "", v2, memory.CodeValidation, "tags"},
		{"a long tag", tags(1, 257), "", v1, memory.CodeValidation, "tags"},
		{"configurable of version 1", `{"configurable":{"a":1}}`, "", v1, "", ""},
		{"configurable without its version", `{"configurable":{"a":1}}`, "", v2, memory.CodeValidation, "configurable"},
		{"configurable", `{"configurable":{"version":1}}`, "", v2, "", ""},
		{"secrets (RFC 0229)", secrets(16, "run:a.b_C-#", strings.Repeat("s", 16)), "", v2, "", ""},
		{"a secret too many", secrets(17, "run:#", strings.Repeat("s", 16)), "", v2, memory.CodeValidation, "runSecrets"},
		{"a secret twice", secrets(2, "run:a", strings.Repeat("s", 16)), "", v2, memory.CodeValidation, "runSecrets"},
		{"another scope's secret", secrets(1, "tenant:a", strings.Repeat("s", 16)), "", v2, memory.CodeValidation, "runSecrets"},
		{"a long name of a secret", secrets(1, "run:"+strings.Repeat("n", 65), strings.Repeat("s", 16)), "", v2, memory.CodeValidation, "runSecrets"},
		{"a short secret", secrets(1, "run:a", strings.Repeat("s", 15)), "", v2, memory.CodeValidation, "runSecrets"},
		{"the longest secret", secrets(1, "run:a", strings.Repeat("é", 4096)), "", v2, "", ""},
		{"a long secret", secrets(1, "run:a", strings.Repeat("é", 4097)), "", v2, memory.CodeValidation, "runSecrets"},
		{"key", `{}`, key, v2, "", ""},
		{"a short key", `{}`, key[1:], v2, wire.CodeKeyInvalid, ""},
		{"a short key in version 1", `{}`, key[1:], v1, "", ""},
		{"a key of other characters", `{}`, key + "/", v2, wire.CodeKeyInvalid, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/runs", strings.NewReader(c.body))
			r.Header.Set("Idempotency-Key", c.key)
			enc := wire.Encoder{Version: c.version}
			body, err := enc.ReadRun(r)
			if c.refused == "" {
				require.NoError(t, err)
				assert.Equal(t, c.key, body.Key)
				return
			}
			assertRefused(t, err, c.refused, c.field)
			assert.NotContains(t, err.Error(), "ssss")
		})
	}
}

// RFC 0229: no digest of a secret is kept. Requests that differ in their secrets alone are the same
// to an Idempotency-Key, and others are not.
func TestReadRun_TheDigestIsOfTheBodyWithoutItsSecrets(t *testing.T) {
	digest := func(body string) string {
		run, err := wire.Encoder{Version: wire.V2}.ReadRun(httptest.NewRequest("POST", "/runs", strings.NewReader(body)))
		require.NoError(t, err)
		return run.Digest
	}
	const with = `{"workflowId":"w","inputs":{"a":1,"b":2},"runSecrets":[{"ref":"run:a","value":"%s"}]}`
	first := digest(fmt.Sprintf(with, "sixteen characters"))
	assert.Equal(t, first, digest(fmt.Sprintf(with, "another sixteen of them")))
	assert.Equal(t, first, digest(`{"inputs":{"b":2,"a":1},"workflowId":"w"}`))
	assert.NotEqual(t, first, digest(`{"inputs":{"b":3,"a":1},"workflowId":"w"}`))
	assert.NotEqual(t, first, digest(`{"inputs":{"b":2,"a":1},"workflowId":"w","tags":["t"]}`))
}

// A fork is a replay of the whole run, or a branch that version 2 wants the beginning of.
func TestReadFork(t *testing.T) {
	const v1, v2 = wire.V1, wire.V2
	for _, c := range []struct {
		body    string
		version wire.Version
		from    int64
		field   string // the one that is refused
	}{
		{`{"mode":"replay"}`, v2, 0, ""},
		{`{"mode":"replay","fromSeq":3}`, v2, 3, ""},
		{`{"mode":"replay","runOptionsOverlay":{}}`, v2, 0, ""},
		{`{"mode":"replay","runOptionsOverlay":{"tags":["t"]}}`, v2, 0, "runOptionsOverlay"},
		{`{"mode":"branch","fromSeq":0,"runOptionsOverlay":{"tags":["t"]}}`, v2, 0, ""},
		{`{"mode":"branch"}`, v1, 0, ""},
		{`{"mode":"branch"}`, v2, 0, "fromSeq"},
		{`{"mode":"branch","fromSeq":-1}`, v1, 0, "fromSeq"},
		{`{"mode":"again","fromSeq":0}`, v2, 0, "mode"},
		{`{"fromSeq":0}`, v2, 0, "mode"},
		{`{"mode":"branch","fromSeq":"0"}`, v2, 0, "fromSeq"},
	} {
		fork, err := wire.Encoder{Version: c.version}.ReadFork(httptest.NewRequest("POST", "/", strings.NewReader(c.body)))
		if c.field != "" {
			assertRefused(t, err, memory.CodeValidation, c.field)
			continue
		}
		require.NoError(t, err, c.body)
		assert.Equal(t, c.from, *fork.FromSeq, c.body)
	}
}

// A run's documents name it, whose it is and what it sees as each version does.
func TestRunsInBothVersions(t *testing.T) {
	run := wire.Run{
		RunID: "r1", ParentRunID: "r0", WorkflowID: "w", Status: "failed",
		Error:     wire.FailureOf(memory.ErrSnapshotUnavailable),
		StartedAt: time.UnixMilli(1_700_000_000_000).UTC(),
	}
	files := []string{"MEMORY.md"}
	for version, want := range map[wire.Version]struct{ accepted, snapshot string }{
		wire.V1: {
			accepted: `{"runId":"r1","status":"running","eventsUrl":"/v1/runs/r1/events","statusUrl":"/v1/runs/r1"}`,
			snapshot: `{"runId":"r1","parentRunId":"r0","workflowId":"w","status":"failed","startedAt":"2023-11-14T22:13:20Z",
				"error":{"code":"replay_memory_snapshot_unavailable","message":%q},
				"owner":{"tenant":"acme"},"workspace":["MEMORY.md"]}`,
		},
		wire.V2: {
			accepted: `{"runId":"acme/r1","status":"running","eventsUrl":"/runs/acme~2Fr1/events","statusUrl":"/runs/acme~2Fr1"}`,
			snapshot: `{"runId":"acme/r1","parentRunId":"acme/r0","workflowId":"w","status":"failed","startedAt":"2023-11-14T22:13:20Z",
				"error":{"code":"replay_memory_snapshot_unavailable","message":%q},
				"owner":{"tenant":"acme","subject":{"issuer":"urn:agentmemory:api-key","subjectId":"acme","tenant":"acme","lane":"api-key","kind":"workload"}},
				"eventLogSchemaVersion":3,"extensions":{"example.workspace":{"files":["MEMORY.md"]}}}`,
		},
	} {
		enc := wire.Encoder{Version: version}
		accepted, err := json.Marshal(enc.Accepted("acme", "r1"))
		require.NoError(t, err)
		assert.JSONEq(t, want.accepted, string(accepted))
		snapshot, err := json.Marshal(enc.Snapshot("acme", run, files))
		require.NoError(t, err)
		assert.JSONEq(t, fmt.Sprintf(want.snapshot, run.Error.Message), string(snapshot))
	}
	assert.Equal(t, memory.CodeInternal, wire.FailureOf(errors.New("the disk is gone")).Code)
	assert.NotContains(t, wire.FailureOf(errors.New("the disk is gone")).Message, "disk")
}

func assertRefused(t *testing.T, err error, code memory.Code, field string) {
	t.Helper()
	refused := (*wire.Error)(nil)
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, code, refused.Kind)
	if field != "" {
		assert.Equal(t, field, refused.Details["field"])
	}
}

// makeTexts returns n different texts of a length.
func makeTexts(n, length int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf("%0*d", length, i)
	}
	return texts
}

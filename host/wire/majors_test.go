package wire_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/host/wire"
)

// The expected answers are those of the protocol's table of paths and headers.
func TestMajors(t *testing.T) {
	said := func(version string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(version + " " + r.URL.EscapedPath()))
		})
	}
	for _, c := range []struct {
		path, header string
		standard     wire.Version
		status       int
		version      string
		body         string
	}{
		{"/v1/runs", "", 0, 200, "1.1", "one /v1/runs"},
		{"/v1/runs", "1", 0, 200, "1.1", "one /v1/runs"},
		{"/v1/runs", "1.0", 0, 200, "1.1", "one /v1/runs"},
		{"/v1/runs", "2.0", 0, 400, "1.1", "protocol_version_mismatch"},
		{"/runs", "", 0, 200, "2.0", "two /runs"},
		{"/runs", "", wire.V1, 200, "2.0", "two /runs"},
		{"/runs", "2", 0, 200, "2.0", "two /runs"},
		{"/runs", "2.7", 0, 200, "2.0", "two /runs"},
		{"/runs/a%2Fb", "1", 0, 200, "1.1", "one /v1/runs/a%2Fb"},
		{"/runs", "3", 0, 406, "2.0", `{"error":"protocol_version_unsupported","message":"the host does not speak this version","details":{"protocolVersions":["1.1","2.0"]}}`},
		{"/runs", "x", 0, 406, "2.0", "protocol_version_unsupported"},
		{"/v2/runs", "", 0, 200, "2.0", "two /v2/runs"},
		{"/.well-known/openwop", "", 0, 200, "2.0", "two /.well-known/openwop"},
		{"/.well-known/openwop", "", wire.V1, 200, "1.1", "one /.well-known/openwop"},
		{"/.well-known/openwop", "2", wire.V1, 200, "2.0", "two /.well-known/openwop"},
		{"/.well-known/openwop", "1", 0, 200, "1.1", "one /.well-known/openwop"},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		if c.header != "" {
			r.Header.Set("OpenWOP-Version", c.header)
		}
		w := httptest.NewRecorder()
		wire.Majors{V1: said("one"), V2: said("two"), Default: c.standard}.ServeHTTP(w, r)
		assert.Equal(t, c.status, w.Code, "%+v", c)
		assert.Equal(t, c.version, w.Header().Get("OpenWOP-Version"), "%+v", c)
		assert.Contains(t, w.Body.String(), c.body, "%+v", c)
	}
}

func TestRunIDs(t *testing.T) {
	one, two := wire.Encoder{Version: wire.V1}, wire.Encoder{Version: wire.V2}
	assert.Equal(t, "run-1", one.RunID("acme", "run-1"))
	assert.Equal(t, "acme/run-1", two.RunID("acme", "run-1"))
	assert.Equal(t, "acme/run-1", two.RunID("acme", "acme/run-1"), "bound once")
	assert.Equal(t, "/v1/runs/run-1", one.RunPath("acme", "run-1"))
	assert.Equal(t, "/runs/anon~3Aacme~2Frun-1", two.RunPath("anon:acme", "run-1"))
	for segment, want := range map[string]string{
		"run-1": "run-1", "acme/run-1": "run-1", "acme~2Frun-1": "run-1", "acme~2frun~7E1": "run~1", "": "",
	} {
		id, err := two.ParseRunID("acme", segment)
		require.NoError(t, err, segment)
		assert.Equal(t, want, id, segment)
	}
	for segment, code := range map[string]string{
		"other~2Frun-1": "id_tenant_mismatch", "acm/run-1": "id_tenant_mismatch", "run~": "validation_error", "run~2": "validation_error", "run~zz": "validation_error",
	} {
		_, err := two.ParseRunID("acme", segment)
		require.Error(t, err, segment)
		envelope, _ := two.Envelope(err)
		assert.Equal(t, code, string(envelope.Code), segment)
	}
	id, err := one.ParseRunID("acme", "other~2Frun-1")
	require.NoError(t, err)
	assert.Equal(t, "other~2Frun-1", id, "version 1 has no projection")
}

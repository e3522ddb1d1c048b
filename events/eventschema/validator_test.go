package eventschema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openwop/agentmemory/events"
)

// A schema that refers to anything outside is not compiled, whatever the scheme.
func TestNothingIsLoaded(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1/x.json", "embedded:///schemas/other.json"} {
		_, err := compile(fstest.MapFS{"schemas/a.json": {Data: []byte(`{"$ref": "` + ref + `"}`)}})
		if err == nil || !strings.Contains(err.Error(), "only embedded") {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := compile(fstest.MapFS{"schemas/a.json": {Data: []byte(`{`)}}); err == nil {
		t.Error("a schema that is no JSON was compiled")
	}
	if _, err := compile(fstest.MapFS{"schemas/a.json": {Data: []byte(`{"type": 1}`)}}); err == nil {
		t.Error("a schema that is none was compiled")
	}
}

// The library panics on a number that no big.Rat can hold. Nothing of the kind gets
// through the canonical form; should it, it is a refusal.
func TestPanicIsARefusal(t *testing.T) {
	err := validate("workspace.updated", events.TypeWorkspaceUpdated,
		map[string]any{"path": "p", "version": json.Number("1e3000000000")})
	if !errors.Is(err, events.ErrInvalid) {
		t.Error(err)
	}
	if err := validate("workspace.updated", "", map[string]any{"path": struct{}{}, "version": json.Number("1")}); !errors.Is(err, events.ErrInvalid) {
		t.Error(err)
	}
}

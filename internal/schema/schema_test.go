package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openwop/agentmemory/internal/jsonguard"
)

// A schema that refers to anything outside is not compiled, by any scheme.
func TestNothingIsLoaded(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1/x.json", "embedded:///schemas/other.json"} {
		_, err := compile(fstest.MapFS{"schemas/a.json": {Data: []byte(`{"$ref": "` + ref + `"}`)}})
		if err == nil || !strings.Contains(err.Error(), "only embedded") {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestFaultySchemas(t *testing.T) {
	for _, text := range []string{`{`, `{"type": 1}`} {
		s := New(fstest.MapFS{"schemas/a.json": {Data: []byte(text)}})
		if _, err := s.Validate("a", nil); err == nil || errors.Is(err, ErrUnfit) {
			t.Errorf("%s was compiled: %v", text, err)
		}
	}
}

var sample = New(fstest.MapFS{"schemas/a.json": {Data: []byte(`{
	"type": "object",
	"required": ["name", "list"],
	"properties": {
		"name": {"type": "string", "minLength": 1},
		"list": {"type": "array", "uniqueItems": true, "items": {"enum": ["x", "y"]}},
		"count": {"type": "integer"},
		"sub": {
			"type": "object", "additionalProperties": false,
			"properties": {"on": {"type": "boolean"}, "how": {}},
			"if": {"properties": {"on": {"const": true}}, "required": ["on"]},
			"then": {"required": ["how"]}
		}
	}
}`)}})

func TestViolations(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`{"name":"n","list":[],"sub":{"on":false},"count":1e0,"other":[1]}`, ""},
		{`[]`, " type array"},
		{`null`, " type null"},
		{`{}`, "/list required absent, /name required absent"},
		{`{"name":"","list":["x","z","x",1]}`, "/list uniqueItems array, /list/1 enum string, /list/3 enum number, /name minLength string"},
		{`{"name":null,"list":true,"sub":{"on":true,"secret":1}}`,
			"/list type boolean, /name type null, /sub additionalProperties object, /sub/how required absent"},
		{`{"name":"n","list":[],"count":1.5}`, "/count type number"},
	} {
		doc, err := jsonguard.Decode([]byte(c.doc), 1000)
		if err != nil {
			t.Fatal(err)
		}
		broken, err := sample.Validate("a", doc)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range broken {
			got = append(got, strings.Join([]string{v.Path, v.Rule, v.Kind}, " "))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: got %q, want %q", c.doc, got, c.want)
		}
	}
	if _, err := sample.Validate("b", nil); err == nil {
		t.Error("a schema that is not there was used")
	}
}

// The library panics on a number that no big.Rat can hold. Package jsonguard lets none of the kind
// through; should it, it is a refusal.
func TestPanicIsARefusal(t *testing.T) {
	for _, doc := range []any{
		map[string]any{"count": json.Number("1e3000000000")},
		map[string]any{"name": struct{}{}},
	} {
		if _, err := sample.Validate("a", doc); !errors.Is(err, ErrUnfit) {
			t.Error(err)
		}
	}
}

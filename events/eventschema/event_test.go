package eventschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/events/eventschema"
)

var eventBase = []field{
	{"eventId", `"e"`}, {"runId", `"r"`}, {"nodeId", `"n"`}, {"type", `"memory.written"`},
	{"payload", `{"memoryRef":"r","memoryId":"m"}`}, {"timestamp", `"2026-05-01T12:00:00.123Z"`}, {"sequence", `0`},
	{"schemaVersion", `1`}, {"engineVersion", `""`}, {"causationId", `"c"`}, {"other", `[1e300]`},
}

var eventValues = append([]string{
	`"memory.written"`, `"workspace.updated"`, `"proposal.created"`, `"run.started"`, `"acme.thing_1.x-y"`, `"acme"`, `"Acme.x"`, `"acme."`, `"acme..x"`, `"acme.x\n"`,
	`"vendor.acme.x"`, `"openwop.x"`, `"core.x"`, `"community.x"`, `"private.x"`, `"local.x"`, `"locals.x"`,
	`{"path":"p","version":1}`, `{"path":"p","version":1,"x":0}`, `{"proposalId":"p","kind":"automation","duplicateOf":null}`,
	`"2026-05-01T12:00:00Z"`, `"2026-05-01T14:00:00.123456789+02:00"`, `"2026-05-01t12:00:00z"`, `"2016-12-31T23:59:60Z"`, `"2026-02-30T00:00:00Z"`,
	`"2026-05-01T+1:00:00Z"`, `"2026-05-01T1:00:00Z"`, `"2026-05-01T01:00:00+24:00"`, `"2026-05-01T01:00:00+23:60"`, `"2026-05-01T01:00:00-00:00"`, `"2026-05-01T24:00:00Z"`, `"2026-05-01 12:00:00Z"`, `"2026-05-01T12:00:00"`, `"0000-01-01T00:00:00Z"`, `"0001-01-01T00:00:00Z"`,
	`"2026-05-01T12:00:00,5Z"`, `"2026-05-01T12:00:00.Z"`, `"9999-12-31T23:59:59-01:00"`, `"10000-01-01T00:00:00Z"`,
	`"` + strings.Repeat("é", 128) + `"`, `"` + strings.Repeat("é", 129) + `"`,
}, values...)

// agreeOnEvent fails unless the envelope's schema accepts what a RunEvent reads, and
// a RunEvent reads what the schema accepts but for types that it does not know and
// times that Go does not have.
func agreeOnEvent(t *testing.T, raw []byte) {
	t.Helper()
	schemaErr := eventschema.ValidateEvent(raw)
	var ev events.RunEvent
	// Not by json.Unmarshal, which wants the text to be well-formed first.
	err := ev.UnmarshalJSON(raw)
	var invalid *events.InvalidError
	switch {
	case errors.Is(err, events.ErrUnknownType):
	case (schemaErr == nil) == (err == nil):
	case err != nil && errors.As(err, &invalid) && invalid.Path == "/timestamp":
	default:
		t.Fatalf("%q:\nschema: %v\n  code: %v", raw, schemaErr, err)
	}
	for _, err := range []error{schemaErr, err} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Fatalf("the error %q holds a value", err)
		}
	}
	if err != nil && !reflect.DeepEqual(ev, events.RunEvent{}) {
		t.Fatal("an event that could not be read was changed")
	}
	if err != nil || ev.Validate() != nil {
		return // unreadable, or from a host that is laxer than this one
	}
	again, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	var ev2 events.RunEvent
	if err := json.Unmarshal(again, &ev2); err != nil {
		t.Fatal(err)
	}
	if err := eventschema.ValidateEvent(again); err != nil {
		t.Fatal(err)
	}
	ev.Payload, ev2.Payload = nil, nil // agree has compared payloads
	if !reflect.DeepEqual(ev, ev2) {
		t.Fatalf("%q does not survive a round trip: %q", raw, again)
	}
}

func TestE2_EnvelopeSchemaAgreesWithCode(t *testing.T) {
	for i := range eventBase {
		for _, value := range eventValues {
			fields := append([]field(nil), eventBase...)
			fields[i].value = value
			agreeOnEvent(t, join(fields, false))
		}
		agreeOnEvent(t, join(append(eventBase[:i:i], eventBase[i+1:]...), false))
		agreeOnEvent(t, join(append(eventBase[:i+1:i+1], eventBase[i:]...), false))
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		fields := append([]field(nil), eventBase...)
		for range 1 + rng.IntN(3) {
			fields[rng.IntN(len(fields))].value = eventValues[rng.IntN(len(eventValues))]
		}
		agreeOnEvent(t, join(fields, true))
	}
}

func FuzzEnvelopeSchemaAgreesWithCode(f *testing.F) {
	for i := range eventBase {
		for _, value := range eventValues {
			fields := append([]field(nil), eventBase...)
			fields[i].value = value
			f.Add(join(fields, false))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		agreeOnEvent(t, []byte(strings.ReplaceAll(string(raw), secret, "s")))
	})
}

func TestValidateEvent(t *testing.T) {
	with := func(name, value string) []byte {
		fields := append([]field(nil), eventBase...)
		for i := range fields {
			if fields[i].name == name {
				fields[i].value = value
			}
		}
		return join(fields, false)
	}
	for _, c := range []struct{ name, value, path string }{
		{"other", `0`, "ok"},
		{"type", `"memory.written"`, "ok"},
		{"type", `"acme.thing"`, "ok"},
		{"type", `"vendor.acme"`, "/type"},
		{"type", `"acme"`, "/type"},
		{"type", `"workspace.updated"`, ""},
		{"payload", `{"memoryRef":"r","memoryId":""}`, "/memoryId"},
		{"payload", `"` + secret + `"`, ""},
		{"sequence", `-1`, "/sequence"},
		{"eventId", `"` + strings.Repeat("e", 129) + `"`, "/eventId"},
		{"timestamp", `"2026-05-01"`, "/timestamp"},
	} {
		err := eventschema.ValidateEvent(with(c.name, c.value))
		var invalid *events.InvalidError
		switch {
		case c.path == "ok":
			if err != nil {
				t.Errorf("%s = %s: %v", c.name, c.value, err)
			}
		case !errors.As(err, &invalid) || invalid.Path != c.path || !errors.Is(err, events.ErrInvalid):
			t.Errorf("%s = %s: got %v, want the path %q", c.name, c.value, err, c.path)
		}
	}
	for _, first := range []string{"openwop", "core", "community", "vendor", "private", "local"} {
		if err := eventschema.ValidateEvent(with("type", `"`+first+`.x"`)); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("the type %s.x: %v", first, err)
		}
	}
	if err := eventschema.ValidateEvent([]byte("{")); !errors.Is(err, events.ErrInvalid) {
		t.Error(err)
	}
}

func TestUnknownTypes(t *testing.T) {
	for _, typ := range []events.Type{"", "run-event", "acme.x", "../doc", "memory.written.json", "."} {
		if err := eventschema.Validate(typ, []byte("{}")); !errors.Is(err, events.ErrUnknownType) {
			t.Errorf("%q: %v", typ, err)
		}
		if eventschema.Schema(typ) != nil {
			t.Errorf("%q has a schema", typ)
		}
	}
}

func TestSchemasAreJSON(t *testing.T) {
	envelope, err := os.ReadFile("schemas/run-event.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range append([][]byte{envelope}, schemas()...) {
		var doc struct {
			Schema string `json:"$schema"`
			Title  string
		}
		if err := json.Unmarshal(schema, &doc); err != nil || !strings.Contains(doc.Schema, "2020-12") || doc.Title == "" {
			t.Errorf("%s: %v", schema, err)
		}
		schema[0] = 'x' // the caller's copy
	}
	if eventschema.Schema(types[0])[0] != '{' {
		t.Error("a schema can be changed from outside")
	}
}

func schemas() (all [][]byte) {
	for _, typ := range types {
		all = append(all, eventschema.Schema(typ))
	}
	return all
}

func ExampleValidate() {
	raw := []byte(`{"path": "MEMORY-INDEX.json", "version": 0}`)
	fmt.Println(eventschema.Validate(events.TypeWorkspaceUpdated, raw))
	// Output: events: invalid event: workspace.updated /version breaks the schema's minimum
}

func ExampleValidateEvent() {
	doc, err := json.Marshal(events.RunEvent{
		Record: events.Record{
			ID: "e1", RunID: "run-1", Time: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
			Payload: events.WorkspaceUpdated{Path: "notes.md", Version: 3},
		},
		Sequence: 7,
	})
	fmt.Println(string(doc), err)
	fmt.Println(eventschema.ValidateEvent(doc))
	// Output:
	// {"eventId":"e1","runId":"run-1","type":"workspace.updated","payload":{"path":"notes.md","version":3},"timestamp":"2026-05-01T12:00:00.000Z","sequence":7} <nil>
	// <nil>
}

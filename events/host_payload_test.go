package events

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/internal/jsonguard"
)

// A host's own event goes through a log and comes back as the same value.
func TestHostPayload(t *testing.T) {
	for _, text := range []string{
		`null`, `7`, `-0.5e-3`, `"a<b>&\u2028\u0000"`, `[]`, ` { "b" : [ 1 , {} ] , "a" : "x" } `, `{"":null,"payload":{"payload":1}}`,
		`"` + strings.Repeat("<", MaxPayloadText-2) + `"`,
	} {
		rec := record("e", "t", "r", HostPayload{"run.started", []byte(text)})
		var f Log
		if err := Emit(t.Context(), &f, rec); err != nil {
			t.Fatal(err)
		}
		evs, err := f.Read(t.Context(), "t", "r", 0, 0)
		if err != nil || len(evs) != 1 {
			t.Fatal(evs, err)
		}
		sameJSON(t, evs[0].Payload.(HostPayload).JSON, []byte(text))
		doc, err := json.Marshal(evs[0])
		if err != nil {
			t.Fatal(err)
		}
		var ev RunEvent
		if err := json.Unmarshal(doc, &ev); err != nil {
			t.Fatal(err)
		}
		equal(t, "type", ev.Payload.EventType(), Type("run.started"))
		sameJSON(t, ev.Payload.(HostPayload).JSON, []byte(text))
	}
}

func sameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	a, err := jsonguard.Decode(got, MaxDocBytes)
	b, err2 := jsonguard.Decode(want, MaxDocBytes)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	equal(t, "JSON", a, b)
}

// What is no event of a host's, or no JSON, is in no record, and the error says none of it.
func TestE2_HostPayloadRefused(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		text string
		path string
	}{
		{"run.started", ``, "/payload"},
		{"run.started", `{"secret":1,"secret":2}`, "/payload"},
		{"run.started", `"secret`, "/payload"},
		{"run.started", `"secret" 1`, "/payload"},
		{"run.started", `9007199254740993`, "/payload"},
		{"run.started", `"\ud800"`, "/payload"},
		{"run.started", strings.Repeat("[", 101) + strings.Repeat("]", 101), "/payload"},
		{"run.started", `"` + strings.Repeat("x", MaxPayloadText-1) + `"`, ""},
		{"", `{}`, "/type"}, {"secret", `{}`, "/type"}, {"Secret.x", `{}`, "/type"}, {"secret.", `{}`, "/type"}, {"secret.x\n", `{}`, "/type"},
		{"vendor.secret", `{}`, "/type"}, {"core.secret", `{}`, "/type"}, {Type("secret." + strings.Repeat("x", 122)), `{}`, "/type"},
		{TypeMemoryWritten, `{"memoryRef":"r","memoryId":"m","content":"secret"}`, "/type"},
	} {
		wantInvalid(t, record("e", "t", "r", HostPayload{c.typ, []byte(c.text)}).Validate(), c.path, "secret", "Secret")
	}
	for _, typ := range []Type{"run.started", "run.dead_lettered", "run.restored-from-snapshot", "acme.x.Y_z", "vendors.x", Type("acme." + strings.Repeat("x", 123))} {
		if err := record("e", "t", "r", HostPayload{typ, []byte("{}")}).Validate(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

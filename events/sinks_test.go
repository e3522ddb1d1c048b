package events

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// E4: replayed records differ from the recorded ones in run id and event id only,
// and replaying again changes nothing.
func TestE4_Replay(t *testing.T) {
	var recorded Log
	for i, p := range full {
		if err := Emit(t.Context(), &recorded, record(fmt.Sprint("e", i), "t", "old", p)); err != nil {
			t.Fatal(err)
		}
	}
	var target Log
	old := recorded.Events("t", "old")
	for range 2 {
		for n := range len(old) + 1 { // resumed at every place
			if err := Emit(t.Context(), &target, Reemit(old[:n], "new")...); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := target.Events("t", "new")
	equal(t, "number of events", len(got), len(full))
	for i, ev := range got {
		if ev.ID == old[i].ID || len(ev.ID) > 128 {
			t.Fatalf("event id %q", ev.ID)
		}
		ev.ID, ev.RunID = old[i].ID, old[i].RunID
		equal(t, "replayed event", ev, old[i])
	}
}

// Event ids of replays are distinct where anything that makes them is.
func TestE4_ReplayIDs(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("x", 128)
	for _, run := range []string{"a", "ab", long} {
		for _, old := range []string{"", "b", "bc", "c", long} {
			for _, id := range []string{"", "c", "bc", "b", long} {
				from := fmt.Sprintf("%q %q %q", run, old, id)
				rec := Reemit([]RunEvent{{Record: record(id, "t", old, full[0])}}, run)[0]
				if before, dup := seen[rec.ID]; dup {
					t.Fatalf("%s and %s give the same id", before, from)
				}
				seen[rec.ID] = from
			}
		}
	}
}

func TestRunEventJSON(t *testing.T) {
	for i, p := range append(full, minimal...) {
		ev := RunEvent{record("e", "tenant", "r", p), int64(i)}
		ev.Time = noon.In(time.FixedZone("", 7200))
		ev.CausationID, ev.EngineVersion, ev.SchemaVersion = "cause", "engine <1>", int64(i)
		doc, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(doc), "tenant") {
			t.Fatalf("the tenant is on the wire: %s", doc)
		}
		var got RunEvent
		if err := json.Unmarshal(doc, &got); err != nil {
			t.Fatal(err)
		}
		ev.Tenant, ev.Time = "", noon
		equal(t, "event", got, ev)
	}
}

func TestRunEventJSONRefuses(t *testing.T) {
	valid := RunEvent{record("e", "t", "r", full[0]), 0}
	for path, change := range map[string]func(*RunEvent){
		"/payload":  func(ev *RunEvent) { ev.Payload = nil },
		"/eventId":  func(ev *RunEvent) { ev.ID = "" },
		"/sequence": func(ev *RunEvent) { ev.Sequence = -1 },
	} {
		ev := valid
		change(&ev)
		_, err := json.Marshal(ev)
		wantInvalid(t, err, path)
	}
	const rest = `"runId":"r","timestamp":"2026-05-01T12:00:00Z","sequence":0}`
	for doc, path := range map[string]string{
		`null`: "",
		`[]`:   "",
		`{"eventId":"e","eventId":"e","type":"workspace.updated","payload":{"path":"p","version":1},` + rest: "",
		`{"eventId":"","type":"workspace.updated","payload":{"path":"p","version":1},` + rest:                "/eventId",
		`{"eventId":"e","type":"workspace.updated","payload":{"path":"p","version":"secret"},` + rest:        "/version",
		`{"eventId":"e","type":"workspace.updated","nodeId":null,"payload":{"path":"p","version":1},` + rest: "/nodeId",
		`{"eventId":"e","type":7,"payload":{"path":"p","version":1},` + rest:                                 "/type",
		`{"eventId":"e","type":"secret.type",` + rest:                                                        "/payload",
	} {
		ev := valid
		err := json.Unmarshal([]byte(doc), &ev)
		if doc == "null" {
			err = ev.UnmarshalJSON([]byte(doc))
		}
		wantInvalid(t, err, path, "secret")
		equal(t, "the event", ev, valid)
	}
	var ev RunEvent
	for _, typ := range []string{"vendor.secret", "secret", "Secret.x", "secret."} {
		err := json.Unmarshal([]byte(`{"eventId":"e","type":"`+typ+`","payload":null,`+rest), &ev)
		wantInvalid(t, err, "/type", "secret", "Secret")
	}
}

// E1: what an open payload holds beside the protocol's fields does not get in.
func TestE1_DecodeDropsForeignFields(t *testing.T) {
	p, err := Decode(TypeMemoryWritten, []byte(`{"memoryRef":"r","memoryId":"m","content":"text","MemoryID":"x","tags":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "payload", p, Payload(MemoryWritten{MemoryRef: "r", MemoryID: "m"}))
	_, err = Decode(TypeWorkspaceUpdated, []byte(`{"path":"p","version":1,"content":"text"}`))
	wantInvalid(t, err, "", "content", "text")
}

// A log checks for itself too.
func TestE2_LogChecks(t *testing.T) {
	wantInvalid(t, new(Log).Emit(context.Background(), record("e", "t", "", full[0])), "/runId")
}

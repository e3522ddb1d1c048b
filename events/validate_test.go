package events

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// E1: every field of every payload is in this list of what is no content. A new
// field has to be put here by hand, which is the point.
func TestE1_FieldWhitelist(t *testing.T) {
	allowed := map[Type]string{
		TypeMemoryWritten:      "memoryRef:string memoryId:string nodeId:string agentId:string",
		TypeMemoryCompacted:    "memoryRef:string outputId:string sourceIds:[]string sourceCount:int64 trigger:events.CompactionTrigger byteSize:int64 distillation:*events.Distillation",
		TypeMemoryConsolidated: "memoryRef:string inputCount:int64 outputCount:int64 mergedIds:[]string trigger:events.ConsolidationTrigger",
		TypeCommitmentFired:    "commitmentId:string memoryRef:string memoryId:string condition:events.Condition enqueuedRunId:string",
		TypeWorkspaceUpdated:   "path:string version:int64",
		TypeProposalCreated:    "proposalId:string kind:events.ArtifactKind sourceRunIds:[]string duplicateOf:string",
		TypeProposalActivated:  "proposalId:string kind:events.ArtifactKind approvalId:string installedArtifactRef:string",
		"distillation":         "tokenBudget:int64 tokensUsed:int64 indexUpdated:*bool",
	}
	fields := func(typ reflect.Type) string {
		var out []string
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, name+":"+f.Type.String())
		}
		return strings.Join(out, " ")
	}
	for _, p := range allTypes {
		equal(t, string(p.EventType()), fields(reflect.TypeOf(p)), allowed[p.EventType()])
	}
	equal(t, "distillation", fields(reflect.TypeFor[Distillation]()), allowed["distillation"])
}

// E1: a type from outside that embeds a payload has all its methods, and may not
// carry anything into a log all the same. Nor may a pointer, which could be nil.
func TestE1_NoForeignPayload(t *testing.T) {
	type smuggler struct {
		MemoryWritten
		Content string
	}
	valid := MemoryWritten{MemoryRef: "ref", MemoryID: "m"}
	for name, p := range map[string]Payload{
		"none":        nil,
		"embedding":   smuggler{valid, "text"},
		"pointer":     &valid,
		"nil pointer": (*MemoryWritten)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, record("e", "t", "r", p).Validate(), "/payload", "text")
		})
	}
}

func TestE2_ValidPayloads(t *testing.T) {
	for _, p := range slices.Concat(full, minimal) {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", p.EventType(), err)
		}
		if err := record("e", "t", "r", p).Validate(); err != nil {
			t.Errorf("%s: %v", p.EventType(), err)
		}
	}
}

// E2: breaking any one field of a full payload is found and named. What breaks a
// field depends on its kind only, so every field is covered by construction.
func TestE2_EveryFieldIsChecked(t *testing.T) {
	const bad = "secret\xff"
	optionalEmpty := []string{"nodeId", "agentId", "memoryId", "trigger", "enqueuedRunId", "duplicateOf", "approvalId"}
	required := map[string][]string{
		"memoryId": {string(TypeMemoryWritten)}, "trigger": {string(TypeMemoryCompacted)},
	}
	emptyItems := []string{"tags", "sourceRunIds"}
	least := map[string]int64{"sourceCount": 1, "tokenBudget": 1, "version": 1}

	breaks := func(typ Type, name string, f reflect.Value) (broken []reflect.Value) {
		switch {
		case f.Kind() == reflect.String:
			s := reflect.New(f.Type()).Elem()
			s.SetString(bad)
			broken = append(broken, s)
			if !slices.Contains(optionalEmpty, name) || slices.Contains(required[name], string(typ)) {
				broken = append(broken, reflect.Zero(f.Type()))
			}
		case f.Kind() == reflect.Int64:
			broken = append(broken, reflect.ValueOf(least[name]-1), reflect.ValueOf(int64(MaxInteger+1)))
		case f.Kind() == reflect.Slice:
			broken = append(broken, reflect.ValueOf([]string{"fine", bad}))
			if !slices.Contains(emptyItems, name) {
				broken = append(broken, reflect.ValueOf([]string{"fine", ""}))
			}
		}
		return broken
	}
	tried := 0
	for _, p := range full[:len(allTypes)] {
		typ := reflect.TypeOf(p)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			for _, v := range breaks(p.EventType(), name, reflect.ValueOf(p).Field(i)) {
				broken := reflect.New(typ).Elem()
				broken.Set(reflect.ValueOf(p))
				broken.Field(i).Set(v)
				path := "/" + name
				if v.Kind() == reflect.Slice {
					path += "/1"
				}
				err := broken.Interface().(Payload).Validate()
				wantInvalid(t, err, path, "secret")
				if !strings.Contains(err.Error(), string(p.EventType())) {
					t.Errorf("%q does not name the type", err)
				}
				tried++
			}
		}
	}
	if tried < 50 {
		t.Fatalf("only %d ways of breaking a payload were tried", tried)
	}
	for path, d := range map[string]Distillation{
		"/distillation/tokenBudget": {TokenBudget: 0},
		"/distillation/tokensUsed":  {TokenBudget: 1, TokensUsed: -1},
	} {
		p := full[1].(MemoryCompacted)
		p.Distillation = &d
		wantInvalid(t, p.Validate(), path)
	}
}

func TestE2_EmitterRules(t *testing.T) {
	ids := func(n int) []string { return slices.Repeat([]string{"id"}, n) }
	compacted := func(listed []string, count int64) Payload {
		return MemoryCompacted{MemoryRef: "r", OutputID: "o", SourceIDs: listed, SourceCount: count, Trigger: CompactionBoth}
	}
	for _, c := range []struct {
		name string
		p    Payload
		path string // "" = valid
	}{
		{"complete", compacted(ids(3), 3), ""},
		{"complete and long", compacted(ids(101), 101), ""},
		{"one too few", compacted(ids(2), 3), "/sourceIds"},
		{"one too many", compacted(ids(4), 3), "/sourceIds"},
		{"absent at 100", compacted(nil, 100), "/sourceIds"},
		{"absent above 100", compacted(nil, 101), ""},
		{"empty above 100", compacted([]string{}, 101), ""},
		{"partial above 100", compacted(ids(100), 101), "/sourceIds"},
		{"grown", MemoryConsolidated{MemoryRef: "r", InputCount: 1, OutputCount: 2}, "/outputCount"},
		{"over budget", MemoryCompacted{
			MemoryRef: "r", OutputID: "o", SourceIDs: ids(1), SourceCount: 1, Trigger: CompactionBoth,
			Distillation: &Distillation{TokenBudget: 5, TokensUsed: 6},
		}, "/distillation/tokensUsed"},
		{"most text", WorkspaceUpdated{Path: strings.Repeat("p", MaxPayloadText-3), Version: 1}, ""},
		{"too much text", WorkspaceUpdated{Path: strings.Repeat("p", MaxPayloadText+1), Version: 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.p.Validate(); err != nil {
				t.Fatalf("the payload's own schema: %v", err)
			}
			err := record("e", "t", "r", c.p).Validate()
			switch {
			case c.name == "too much text":
				wantInvalid(t, err, "")
			case c.path == "" && err != nil:
				t.Fatal(err)
			case c.path != "":
				wantInvalid(t, err, c.path)
			}
		})
	}
	for _, p := range full {
		f := fields{}
		if f.known(p); f.size == 0 {
			t.Errorf("the text of %s is not counted", p.EventType())
		}
	}
}

func TestE2_Envelope(t *testing.T) {
	long := strings.Repeat("secret-", 19)
	for _, c := range []struct {
		path   string
		change func(*Record)
	}{
		{"/eventId", func(r *Record) { r.ID = "" }},
		{"/eventId", func(r *Record) { r.ID = long }},
		{"/eventId", func(r *Record) { r.ID = "secret\xff" }},
		{"/runId", func(r *Record) { r.RunID = long }},
		{"/runId", func(r *Record) { r.RunID = "secret\xff" }},
		{"/nodeId", func(r *Record) { r.NodeID = long }},
		{"/nodeId", func(r *Record) { r.NodeID = "secret\xff" }},
		{"tenant", func(r *Record) { r.Tenant = long + long }},
		{"tenant", func(r *Record) { r.Tenant = "secret\xff" }},
		{"/timestamp", func(r *Record) { r.Time = time.Time{} }},
		{"/timestamp", func(r *Record) { r.Time = noon.Add(time.Microsecond) }},
		{"/timestamp", func(r *Record) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
		{"/timestamp", func(r *Record) { r.Time = time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC) }},
		// The year counts in UTC.
		{"/timestamp", func(r *Record) { r.Time = time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600)) }},
		{"/memoryId", func(r *Record) { r.Payload = MemoryWritten{MemoryRef: "secret"} }},
	} {
		rec := record("e", "t", "r", full[0])
		c.change(&rec)
		wantInvalid(t, rec.Validate(), c.path, "secret")
	}
	rec := record(strings.Repeat("é", 64), "", strings.Repeat("r", 128), full[0])
	rec.NodeID = ""
	rec.Time = noon.In(time.FixedZone("", 3600))
	if err := rec.Validate(); err != nil {
		t.Fatal(err)
	}
}

// E5: a background pass has a run id of its own; an event without one is refused.
func TestE5_RunIDRequired(t *testing.T) {
	wantInvalid(t, record("e", "t", "", full[2]).Validate(), "/runId")
}
